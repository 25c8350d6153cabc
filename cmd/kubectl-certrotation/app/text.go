// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"certrotation.dev/apis/certrotation/v1alpha1"
	"certrotation.dev/registry/trust"
)

// shortFingerprint is how many hexadecimal digits of a fingerprint or hash are shown.
const shortFingerprint = 12

// clean makes control and formatting characters visible, so that text from a certificate cannot move the cursor or
// reorder a line. It keeps newlines.
func clean(text string) string {
	unsafe := func(r rune) bool {
		return r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r))
	}
	if !strings.ContainsFunc(text, unsafe) {
		return text
	}
	var out strings.Builder
	for _, r := range text {
		if unsafe(r) {
			fmt.Fprintf(&out, "\\u%04x", r)
			continue
		}
		out.WriteRune(r)
	}
	return out.String()
}

// oneLine is clean for places where a line break would break the layout.
func oneLine(text string) string {
	return strings.Join(strings.Fields(clean(text)), " ")
}

func short(fingerprint string) string {
	return fingerprint[:min(len(fingerprint), shortFingerprint)]
}

// elapsed renders a duration in whole seconds, never negative.
func elapsed(d time.Duration) string {
	return max(d, 0).Round(time.Second).String()
}

// expiry tells when a certificate expires or expired, and whether it is over.
func expiry(now time.Time, end metav1.Time) (text string, over bool) {
	if left := end.Sub(now); left > 0 {
		return "expires in " + duration.HumanDuration(left), false
	}
	return "expired " + duration.HumanDuration(now.Sub(end.Time)) + " ago", true
}

// renewal tells when a certificate is due for rotation, "" if that is unknown.
func renewal(now time.Time, due *metav1.Time) string {
	switch {
	case due == nil:
		return ""
	case due.After(now):
		return "rotates in " + duration.HumanDuration(due.Sub(now))
	}
	return "rotation is due"
}

// deadline tells how long a stage may still last, and whether that time is over.
func deadline(now time.Time, at *metav1.Time) (text string, over bool) {
	switch {
	case at == nil:
		return "", false
	case at.After(now):
		return "deadline in " + duration.HumanDuration(at.Sub(now)), false
	}
	return "overdue by " + duration.HumanDuration(now.Sub(at.Time)), true
}

func blockerName(b *v1alpha1.Blocker) string {
	return oneLine(trust.Subject(b.Party, b.Member, b.Object, b.Reason))
}

func blockerText(b *v1alpha1.Blocker) string {
	return oneLine(trust.About(trust.Subject(b.Party, b.Member, b.Object, b.Reason), b.Message))
}

// age is how long a blocker has existed, "" if that is unknown.
func age(b *v1alpha1.Blocker, now time.Time) string {
	if b.Since == nil {
		return ""
	}
	return " (for " + duration.HumanDuration(now.Sub(b.Since.Time)) + ")"
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
