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

// MaxLease is the longest lease of an acknowledgement.
const MaxLease = 720 * time.Hour

// between holds the minimum and the maximum of a duration.
type between struct{ least, greatest time.Duration }

// durationBounds are the bounds of every duration field, by the name of the field. Fields with the same name have
// the same bounds. The markers of the types declare the same bounds to the API server, and a test compares the
// two.
var durationBounds = map[string]between{
	// A certificate is renewed after a part of its validity: below a minute it would be renewed continuously, and a
	// verifier whose clock is off by seconds would never accept it.
	"validity":       {time.Minute, century},
	"signerValidity": {time.Minute, century},
	"leafValidity":   {time.Minute, century},
	"renewBefore":    {time.Second, century},
	"backdate":       {0, 24 * time.Hour},
	// Assumptions that replace an observation. The times that they are compared with have a resolution of a second.
	"gracePeriod":  {time.Second, year},
	"minimumDelay": {time.Second, year},
	"drain":        {time.Second, year},
	// In a record. Zero is for evidence of a kind without such a period.
	"grace": {0, year},
	// A lease must be longer than the interval between reports. A process that no longer runs must not count for
	// long.
	"lease": {time.Minute, MaxLease},
	// Below a second members would be probed continuously; above an hour a rotation in flight would seem to hang.
	"interval": {time.Second, time.Hour},
	// A worker of the controller waits that long, so one silent server may not cost more than a minute.
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

// shortly formats a duration as people write it: 1h rather than 1h0m0s.
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
