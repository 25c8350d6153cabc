// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package columns

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"certrotation.dev/apis/certrotation"
	"certrotation.dev/registry/trust"
)

// None is the cell of a value that does not exist.
const None = "<none>"

// Until says how long it is until t; past is the cell once t lies behind.
func Until(t *metav1.Time, now time.Time, past string) string {
	if t.IsZero() {
		return None
	}
	left := t.Sub(now)
	if left <= 0 {
		return past
	}
	return duration.HumanDuration(left)
}

// Age says how long ago t was.
func Age(t metav1.Time, now time.Time) string {
	if t.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(max(now.Sub(t.Time), 0))
}

// Unknown is the cell of what nobody knows, and nobody asks for.
const Unknown = "?"

// Trust renders a count as TRUSTED/TOTAL. Members of whom nothing is known are no members that do not trust: with them the
// cell says how many they are, and is Unknown where they are all.
func Trust(count certrotation.TrustCount) string {
	switch {
	case count.Unknown == 0:
		return fmt.Sprintf("%d/%d", count.Trusted, count.Total)
	case count.Unknown >= count.Total:
		return Unknown
	}
	return fmt.Sprintf("%d/%d (%d%s)", count.Trusted, count.Total, count.Unknown, Unknown)
}

// Ready renders the condition Ready as its status.
func Ready(conditions []metav1.Condition) string {
	condition := meta.FindStatusCondition(conditions, certrotation.ConditionReady)
	if condition == nil {
		return string(metav1.ConditionUnknown)
	}
	return string(condition.Status)
}

// Blocker renders the first blocker with who holds the rotation up, and how many more there are.
func Blocker(blockers []certrotation.Blocker) string {
	if len(blockers) == 0 {
		return None
	}
	first := &blockers[0]
	cell := trust.About(trust.Subject(first.Party, first.Member, first.Object, first.Reason), first.Reason)
	if more := len(blockers) - 1; more > 0 {
		cell += fmt.Sprintf(" (+%d)", more)
	}
	return cell
}
