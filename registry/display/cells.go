// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package display

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"certrotation.dev/apis/certrotation"
	"certrotation.dev/registry/trust"
)

// Stage returns the column of the stage.
func Stage() metav1.TableColumnDefinition {
	return metav1.TableColumnDefinition{Name: "Stage", Type: "string", Description: "Stage of the trust domain's rotation."}
}

// None is the cell of a value that does not exist.
const None = "<none>"

// Until returns the cell for the time until t, or past if t is over.
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

// Age returns the cell for the time since t.
func Age(t metav1.Time, now time.Time) string {
	if t.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(max(now.Sub(t.Time), 0))
}

// unknown is the cell of a value for which there is no current evidence.
const unknown = "?"

// Trust renders a count as TRUSTED/TOTAL. Members without current evidence must not look like members that do not
// trust, so their number follows. If there is no evidence of any, the cell is unknown.
func Trust(count certrotation.TrustCount) string {
	switch {
	case count.Unknown == 0:
		return fmt.Sprintf("%d/%d", count.Trusted, count.Total)
	case count.Unknown >= count.Total:
		return unknown
	}
	return fmt.Sprintf("%d/%d (%d%s)", count.Trusted, count.Total, count.Unknown, unknown)
}

// Ready renders the status of the condition Ready.
func Ready(conditions []metav1.Condition) string {
	condition := meta.FindStatusCondition(conditions, certrotation.ConditionReady)
	if condition == nil {
		return string(metav1.ConditionUnknown)
	}
	return string(condition.Status)
}

// Blocker renders the first blocker with its party, member or object, and the number of the others.
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
