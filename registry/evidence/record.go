// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"errors"
	"maps"
	"strings"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation"

	"certrotation.dev/registry/trust"
)

// ErrMalformed reports a record that cannot be read.
var ErrMalformed = errors.New("malformed evidence record")

// Keys of a record. Lists have one entry for each line; absent and empty mean the same, except for the names.
const (
	keyDomain          = "trustDomain"
	keyParty           = "party"
	keyMember          = "member"
	keyTrusts          = "trusts"
	keyTrustedSubjects = "trustedSubjects"
	keyPresents        = "presents"
	keyRecoveredUntil  = "recoveredUntil"
	keyObservedAt      = "observedAt"
	keyStartedAt       = "startedAt"
	keyFailure         = "failure"
)

// Encode returns the data and the labels of the record of an observation. The lists are ordered and without duplicates
// in it, and of each only the first MaxFingerprints are recorded, far more than any member has; who accepts reports
// refuses longer ones. A failure that is too long is cut.
func Encode(domain, party, member string, o *trust.Observation) (data, labels map[string]string) {
	data = map[string]string{
		keyDomain:          domain,
		keyParty:           party,
		keyMember:          member,
		keyTrusts:          lines(o.Trusts),
		keyTrustedSubjects: lines(o.TrustedSubjects),
		keyPresents:        lines(o.Presents),
		keyRecoveredUntil:  timeText(o.RecoveredUntil),
		keyObservedAt:      timeText(o.ObservedAt),
		keyStartedAt:       timeText(o.StartedAt),
		keyFailure:         failureText(o.Failure),
	}
	maps.DeleteFunc(data, func(_, value string) bool { return value == "" })
	return data, labelsOf(domain)
}

// labelsOf leaves the domain out where its name is no label value: the record is found by the other label, and says
// itself what it belongs to.
func labelsOf(domain string) map[string]string {
	labels := map[string]string{trust.LabelEvidence: "true"}
	if len(validation.IsValidLabelValue(domain)) == 0 {
		labels[trust.LabelTrustDomain] = domain
	}
	return labels
}

func lines[S ~string](list []S) string {
	var text strings.Builder
	for _, entry := range canonical(list) {
		text.WriteString(string(entry))
		text.WriteByte('\n')
	}
	return text.String()
}

func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// failureText cuts between characters, and drops bytes that are no UTF-8: a ConfigMap could not hold them.
func failureText(failure string) string {
	failure = strings.ToValidUTF8(failure, "")
	if len(failure) <= MaxFailureBytes {
		return failure
	}
	end := MaxFailureBytes
	for !utf8.RuneStart(failure[end]) {
		end--
	}
	return failure[:end]
}
