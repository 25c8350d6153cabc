// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package definition_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	crdvalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"certrotation.dev/apis/config/definition"
	"certrotation.dev/apis/config/v1alpha1"
)

func read(t *testing.T, resource string) *definition.Definition {
	t.Helper()
	d, err := definition.Of(resource)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func judge(t *testing.T, d *definition.Definition, object any) field.ErrorList {
	t.Helper()
	data, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	errs, err := d.Validate(data)
	if err != nil {
		t.Fatal(err)
	}
	return errs
}

// TestDefinitionsAreValid checks definitions as an API server does: structural schema, rules that compile, bounded
// cost of rules.
func TestDefinitionsAreValid(t *testing.T) {
	for _, tc := range []struct {
		resource, shortName string
		status              bool
		columns             []string
	}{
		{resource: "rotationconfigurations", shortName: "rotconf", status: true, columns: []string{"Accepted", "Ready", "Reason", "Message", "Credentials", "Age"}},
		{resource: "rotationrecords", shortName: "rotrec", columns: []string{"Domain", "Kind", "Subject", "Age"}},
	} {
		t.Run(tc.resource, func(t *testing.T) {
			crd := read(t, tc.resource).CRD
			if errs := crdvalidation.ValidateCustomResourceDefinition(t.Context(), crd); len(errs) > 0 {
				t.Errorf("definition: %v", errs.ToAggregate())
			}
			names := crd.Spec.Names
			if names.Plural != tc.resource || !slices.Equal(names.ShortNames, []string{tc.shortName}) || crd.Spec.Scope != apiextensions.NamespaceScoped {
				t.Errorf("names %+v, scope %s", names, crd.Spec.Scope)
			}
			if got := crd.Spec.Subresources != nil && crd.Spec.Subresources.Status != nil; got != tc.status {
				t.Errorf("has a status: %t, want %t", got, tc.status)
			}
			var columns []string
			for _, column := range crd.Spec.AdditionalPrinterColumns {
				columns = append(columns, column.Name)
			}
			if diff := cmp.Diff(tc.columns, columns); diff != "" {
				t.Errorf("columns (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDefinitionOfRecords(t *testing.T) {
	d := read(t, "rotationrecords")
	for _, tc := range []struct {
		name string
		spec v1alpha1.RotationRecordSpec
		want string
	}{
		{name: "a roster", spec: v1alpha1.RotationRecordSpec{Kind: v1alpha1.RecordRoster, Roster: &v1alpha1.RecordedRoster{}}},
		{name: "a kind without its field", spec: v1alpha1.RotationRecordSpec{Kind: v1alpha1.RecordWaiver}, want: "exactly the field that kind names"},
		{
			name: "two fields",
			spec: v1alpha1.RotationRecordSpec{Kind: v1alpha1.RecordRoster, Roster: &v1alpha1.RecordedRoster{}, Request: &v1alpha1.RecordedRequest{Kind: v1alpha1.RequestRotate}},
			want: "exactly the field that kind names",
		},
		{name: "a kind that is not known", spec: v1alpha1.RotationRecordSpec{Kind: "Wish"}, want: "supported values"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.spec.TrustDomain = "web"
			record := &v1alpha1.RotationRecord{Spec: tc.spec}
			record.APIVersion, record.Kind = v1alpha1.SchemeGroupVersion.String(), "RotationRecord"
			errs := judge(t, d, record)
			switch {
			case tc.want == "" && len(errs) > 0:
				t.Errorf("refused: %v", errs.ToAggregate())
			case tc.want != "" && (len(errs) == 0 || !strings.Contains(errs.ToAggregate().Error(), tc.want)):
				t.Errorf("want an error with %q, got %v", tc.want, errs.ToAggregate())
			}
		})
	}
}

// TestErrorsAreOrdered: the text of the errors of an object is always the same.
func TestErrorsAreOrdered(t *testing.T) {
	d := read(t, "rotationconfigurations")
	wrong := json.RawMessage(`{"spec": {"preset": {"name": "hosted-etcd", "hostedEtcd": {
		"clientPort": 0, "peerPort": 0, "key": "DSA", "startGate": "Open", "services": ["a", "a"]}}}}`)
	want := judge(t, d, wrong).ToAggregate().Error()
	for range 20 {
		if got := judge(t, d, wrong).ToAggregate().Error(); got != want {
			t.Fatalf("first %s\nthen %s", want, got)
		}
	}
	if strings.Count(want, "hostedEtcd") < 5 {
		t.Errorf("five errors were expected: %s", want)
	}
}
