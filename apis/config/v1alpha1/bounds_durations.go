// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	century = 100 * 365 * 24 * time.Hour
	year    = 365 * 24 * time.Hour
)

// between are the least and the greatest value of a duration.
type between struct{ least, greatest time.Duration }

// durationBounds are those of every field that is a duration, by its name; no other field has one of the names. The
// markers of the types say the same to the API server, and a test holds one against the other.
var durationBounds = map[string]between{
	// A certificate is renewed at a part of its validity: below a minute that would be without a pause, and a verifier whose
	// clock is off by seconds would not see it at all.
	"validity":       {time.Minute, century},
	"signerValidity": {time.Minute, century},
	"leafValidity":   {time.Minute, century},
	"renewBefore":    {time.Second, century},
	"backdate":       {0, 24 * time.Hour},
	// What an operator assumes instead of observing it: a second is the resolution of the times that it is measured by.
	"gracePeriod":  {time.Second, year},
	"minimumDelay": {time.Second, year},
	"drain":        {time.Second, year},
	// A member that is in a record; zero is for a kind without one.
	"grace": {0, year},
	// A lease that is over before its holder can report again proves nothing, and an endless one is none.
	"lease": {time.Minute, 720 * time.Hour},
	// Below a second members would be probed without a pause; above an hour a rotation in flight would look dead.
	"interval": {time.Second, time.Hour},
	// A worker of the controller waits as long: a minute is all that one silent server may cost.
	"timeout":          {100 * time.Millisecond, time.Minute},
	"stageDeadline":    {time.Minute, year},
	"coalesce":         {time.Second, 10 * time.Minute},
	"installerTimeout": {10 * time.Second, time.Hour},
	"staticPodTimeout": {10 * time.Second, 24 * time.Hour},
}

// validateDuration accepts a missing duration, and one within the bounds of its field.
func validateDuration(duration *metav1.Duration, path *field.Path, name string) field.ErrorList {
	bounds := durationBounds[name]
	if duration == nil || (duration.Duration >= bounds.least && duration.Duration <= bounds.greatest) {
		return nil
	}
	return field.ErrorList{field.Invalid(path.Child(name), duration.Duration.String(),
		fmt.Sprintf("must be between %s and %s", shortly(bounds.least), shortly(bounds.greatest)))}
}

// shortly is a duration as people write it: 1h rather than 1h0m0s.
func shortly(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
