// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package certificaterotation

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
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
		"get": is[rest.Getter](storage), "list": is[rest.Lister](storage), "watch": is[rest.Watcher](storage),
	} {
		if !offered {
			t.Errorf("%s is not offered", name)
		}
	}
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

// TestSelectableFields: GetAttrs returns the fields that v1alpha1 registers as field selectors.
func TestSelectableFields(t *testing.T) {
	_, fields, err := GetAttrs(&certrotation.CertificateRotation{})
	if err != nil {
		t.Fatal(err)
	}
	scheme := install.NewScheme()
	for field := range fields {
		if _, _, err := scheme.ConvertFieldLabel(v1alpha1.SchemeGroupVersion.WithKind("CertificateRotation"), field, ""); err != nil {
			t.Errorf("nobody can select by %s: %v", field, err)
		}
	}
	if len(fields) != 6 {
		t.Errorf("%d fields, want 6: %v", len(fields), fields)
	}
	if _, _, err := GetAttrs(&certrotation.BundleStatus{}); err == nil {
		t.Error("an object of another kind has attributes")
	}
}

func lapsed(rotation *certrotation.CertificateRotation, count certrotation.TrustCount) *certrotation.CertificateRotation {
	out := rotation.DeepCopy()
	out.Status.Trust = count
	return out
}

func TestTable(t *testing.T) {
	now := time.Date(2030, time.January, 2, 3, 4, 5, 0, time.UTC)
	at := func(d time.Duration) metav1.Time { return metav1.NewTime(now.Add(d)) }
	rotates := at(10 * 24 * time.Hour)
	due := at(-time.Hour)
	full := certrotation.CertificateRotation{
		ObjectMeta: metav1.ObjectMeta{Name: "signer", ResourceVersion: "5", CreationTimestamp: at(-3 * time.Hour)},
		Spec:       certrotation.CertificateRotationSpec{Role: certrotation.RoleSigner, Signer: "signer"},
		Status: certrotation.CertificateRotationStatus{
			Stage:       certrotation.StageDraining,
			Certificate: &certrotation.Certificate{SerialNumber: "0a", KeyAlgorithm: "RSA-2048", NotAfter: at(400 * 24 * time.Hour)},
			RotatesAt:   &rotates,
			Trust:       certrotation.TrustCount{Trusted: 2, Total: 3},
			Blockers:    []certrotation.Blocker{{Party: "etcd", Member: "east", Reason: "AnchorNotLoaded"}, {Reason: "GracePeriod"}},
			Conditions:  []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue}},
		},
	}
	expired := *full.DeepCopy()
	expired.Status.Certificate.NotAfter, expired.Status.RotatesAt, expired.Status.Blockers = at(-time.Second), &due, nil
	tests := map[string]struct {
		object runtime.Object
		want   [][]any
	}{
		"one": {&full, [][]any{{"signer", "Signer", "signer", "Draining", "2/3", "400d", "10d", "True", "3h", "0a", "RSA-2048", "etcd/east: AnchorNotLoaded (+1)"}}},
		"expired and missing": {
			&certrotation.CertificateRotationList{Items: []certrotation.CertificateRotation{expired, {ObjectMeta: metav1.ObjectMeta{Name: "leaf"}}}},
			[][]any{
				{"signer", "Signer", "signer", "Draining", "2/3", "expired", "due", "True", "3h", "0a", "RSA-2048", "<none>"},
				{"leaf", "", "", "", "0/0", "<none>", "<none>", "Unknown", "<unknown>", "<none>", "<none>", "<none>"},
			},
		},
		"some are unknown": {lapsed(&full, certrotation.TrustCount{Trusted: 1, Total: 3, Unknown: 2}),
			[][]any{{"signer", "Signer", "signer", "Draining", "1/3 (2?)", "400d", "10d", "True", "3h", "0a", "RSA-2048", "etcd/east: AnchorNotLoaded (+1)"}}},
		"all are unknown": {lapsed(&full, certrotation.TrustCount{Total: 3, Unknown: 3}),
			[][]any{{"signer", "Signer", "signer", "Draining", "?", "400d", "10d", "True", "3h", "0a", "RSA-2048", "etcd/east: AnchorNotLoaded (+1)"}}},
		"none": {&certrotation.CertificateRotationList{}, nil},
	}
	convertor := NewTable(clocktesting.NewFakePassiveClock(now))
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			table, err := convertor.ConvertToTable(t.Context(), tt.object, nil)
			if err != nil {
				t.Fatal(err)
			}
			var got [][]any
			for _, row := range table.Rows {
				got = append(got, row.Cells)
				if len(row.Cells) != len(table.ColumnDefinitions) || row.Object.Object == nil {
					t.Errorf("%d cells and object %v for %d columns", len(row.Cells), row.Object.Object, len(table.ColumnDefinitions))
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
		})
	}
	if table, err := convertor.ConvertToTable(t.Context(), &full, &metav1.TableOptions{NoHeaders: true}); err != nil || table.ColumnDefinitions != nil || table.ResourceVersion != "5" {
		t.Errorf("without headers: %+v, %v", table, err)
	}
	if _, err := convertor.ConvertToTable(t.Context(), &certrotation.BundleStatus{}, nil); err == nil {
		t.Error("an object of another kind becomes a row")
	}
}
