// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package bundlestatus

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/registry/rest"
	clocktesting "k8s.io/utils/clock/testing"

	"certrotation.dev/apis/certrotation"
	"certrotation.dev/apis/certrotation/install"
	"certrotation.dev/apis/certrotation/v1alpha1"
)

// TestVerbs: discovery advertises get, list and watch only (see the package documentation).
func TestVerbs(t *testing.T) {
	var storage any = &REST{}
	for name, offered := range map[string]bool{
		"create": is[rest.Creater](storage), "named create": is[rest.NamedCreater](storage),
		"update": is[rest.Updater](storage),
		"patch":  is[rest.Patcher](storage), "delete": is[rest.GracefulDeleter](storage),
		"deletecollection": is[rest.CollectionDeleter](storage), "connect": is[rest.Connecter](storage),
	} {
		if offered {
			t.Errorf("%s is offered", name)
		}
	}
}

func is[T any](storage any) bool {
	_, ok := storage.(T)
	return ok
}

func TestSelectableFields(t *testing.T) {
	_, fields, err := GetAttrs(&certrotation.BundleStatus{})
	if err != nil {
		t.Fatal(err)
	}
	scheme := install.NewScheme()
	for field := range fields {
		if _, _, err := scheme.ConvertFieldLabel(v1alpha1.SchemeGroupVersion.WithKind("BundleStatus"), field, ""); err != nil {
			t.Errorf("nobody can select by %s: %v", field, err)
		}
	}
	if _, _, err := GetAttrs(&certrotation.CertificateRotation{}); err == nil {
		t.Error("an object of another kind has attributes")
	}
}

func TestTable(t *testing.T) {
	now := time.Date(2030, time.January, 2, 3, 4, 5, 0, time.UTC)
	anchor := func(slot string, safe bool) certrotation.Anchor {
		return certrotation.Anchor{Certificate: certrotation.Certificate{Fingerprint: "0123456789abcdef"}, Slot: slot, SafeToRemove: safe}
	}
	bundle := certrotation.BundleStatus{
		ObjectMeta: metav1.ObjectMeta{Name: "bundle", CreationTimestamp: metav1.NewTime(now.Add(-time.Hour))},
		Spec:       certrotation.BundleStatusSpec{Signer: "signer"},
		Status: certrotation.BundleStatusStatus{
			Stage:   certrotation.StageRetiring,
			Anchors: []certrotation.Anchor{anchor("active", false), anchor("previous", true), anchor("foreign", true)},
			Conditions: []metav1.Condition{
				{Type: "Ready", Status: metav1.ConditionFalse},
				{Type: "Blocked", Status: metav1.ConditionTrue, Reason: "NotObserved"},
			},
		},
	}
	list := &certrotation.BundleStatusList{Items: []certrotation.BundleStatus{bundle, {ObjectMeta: metav1.ObjectMeta{Name: "empty"}}}}
	table, err := NewTable(clocktesting.NewFakePassiveClock(now)).ConvertToTable(t.Context(), list, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got [][]any
	for _, row := range table.Rows {
		got = append(got, row.Cells)
	}
	want := [][]any{
		{"bundle", int64(3), "Retiring", "0/0", "previous:0123456789ab,foreign:0123456789ab", "False", "60m", "signer", "NotObserved"},
		{"empty", int64(0), "", "0/0", "<none>", "Unknown", "<unknown>", "", "<none>"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}
