// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package bundlestatus

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/utils/clock"

	"certrotation.dev/apis/certrotation"
	"certrotation.dev/registry/display"
)

// shownDigits of a fingerprint suffice to find the anchor in the object.
const shownDigits = 12

type table struct {
	clock clock.PassiveClock
}

var _ rest.TableConvertor = (*table)(nil)

// NewTable converts BundleStatuses into tables. Ages are relative to the clock.
func NewTable(clk clock.PassiveClock) rest.TableConvertor {
	return &table{clock: clk}
}

func headers() []metav1.TableColumnDefinition {
	return []metav1.TableColumnDefinition{
		{Name: "Name", Type: "string", Format: "name", Description: "Name of the ConfigMap."},
		{Name: "Anchors", Type: "integer", Description: "Trust anchors in the bundle."},
		display.Stage(),
		{Name: "Trusted", Type: "string", Description: "Members that have loaded the newest anchor, of all that must."},
		{Name: "Safe-To-Remove", Type: "string", Description: "Anchors that nothing needs: slot and start of the fingerprint."},
		{Name: "Ready", Type: "string", Description: "Whether the bundle is readable and holds the CA that signs."},
		{Name: "Age", Type: "string", Description: "Time since the ConfigMap was created."},
		{Name: "Signer", Type: "string", Priority: 1, Description: "Secret of the signer."},
		{Name: "Blocked", Type: "string", Priority: 1, Description: "Why the rotation waits."},
	}
}

// ConvertToTable implements rest.TableConvertor.
func (t *table) ConvertToTable(_ context.Context, object, options runtime.Object) (*metav1.Table, error) {
	return display.Table(object, options, headers(), t.row)
}

func (t *table) row(object runtime.Object) ([]any, error) {
	bundle, err := typed(object)
	if err != nil {
		return nil, err
	}
	status := &bundle.Status
	return []any{
		bundle.Name,
		int64(len(status.Anchors)),
		string(status.Stage),
		display.Trust(status.Trust),
		safeToRemove(status.Anchors),
		display.Ready(status.Conditions),
		display.Age(bundle.CreationTimestamp, t.clock.Now()),
		bundle.Spec.Signer,
		blocked(status.Conditions),
	}, nil
}

func safeToRemove(anchors []certrotation.Anchor) string {
	var safe []string
	for i := range anchors {
		anchor := &anchors[i]
		if anchor.SafeToRemove {
			fingerprint := anchor.Fingerprint[:min(len(anchor.Fingerprint), shownDigits)]
			safe = append(safe, anchor.Slot+":"+fingerprint)
		}
	}
	if len(safe) == 0 {
		return display.None
	}
	return strings.Join(safe, ",")
}

func blocked(conditions []metav1.Condition) string {
	condition := meta.FindStatusCondition(conditions, certrotation.ConditionBlocked)
	if condition == nil || condition.Status != metav1.ConditionTrue {
		return display.None
	}
	return condition.Reason
}
