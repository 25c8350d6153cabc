// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const header = "apiVersion: config.certrotation.dev/v1alpha1\nkind: RotationConfiguration\nmetadata: {name: a, namespace: ns}\n"

// fieldErrors returns type and path of the field errors of an aggregate.
func fieldErrors(t *testing.T, err error) []string {
	t.Helper()
	var aggregate utilerrors.Aggregate
	if !errors.As(err, &aggregate) {
		t.Fatalf("%v is no aggregate", err)
	}
	var out []string
	for _, err := range aggregate.Errors() {
		if fieldErr, ok := errors.AsType[*field.Error](err); ok {
			out = append(out, string(fieldErr.Type)+" "+fieldErr.Field)
		}
	}
	return out
}

func TestDecodeRefuses(t *testing.T) {
	for _, tc := range []struct {
		name, data string
		want       []string
		message    string
	}{
		{name: "nothing", data: " \n", message: "the document is empty"},
		{name: "only a comment", data: "# nothing\n", message: "the document is empty"},
		{name: "a list", data: "- a\n", message: "decode RotationConfiguration"},
		{name: "no YAML", data: "a: [", message: "decode RotationConfiguration"},
		{name: "two documents", data: header + "---\n" + header, message: "only one document"},
		{name: "too large", data: header + strings.Repeat("#", maxSize), message: "more than the limit of 524288"},
		{name: "neither kind nor version", data: "{}", want: []string{"FieldValueRequired apiVersion", "FieldValueRequired kind"}},
		{
			name:    "another version",
			data:    strings.Replace(header, "v1alpha1", "v2", 1),
			want:    []string{"FieldValueNotSupported apiVersion"},
			message: `supported values: "config.certrotation.dev/v1alpha1"`,
		},
		{
			name:    "another kind, whatever its fields",
			data:    "apiVersion: config.certrotation.dev/v1alpha1\nkind: Pod\nspec: {}\n",
			want:    []string{"FieldValueNotSupported kind"},
			message: `supported values: "RotationConfiguration"`,
		},
		{
			name: "unknown fields",
			data: header + "spec:\n  trustDomains:\n  - name: a\n    signr: {}\nextra: 1\n",
			want: []string{"FieldValueForbidden extra", "FieldValueForbidden spec.trustDomains[0].signr"},
		},
		{
			name: "field in another case",
			data: header + "spec:\n  TrustDomains: []\n",
			want: []string{"FieldValueForbidden spec.TrustDomains"},
		},
		{
			name:    "duplicate fields in YAML",
			data:    header + "spec:\n  trustDomains:\n  - name: a\n    name: b\n",
			want:    []string{"FieldValueForbidden spec.trustDomains[0].name"},
			message: "duplicate field in line 7, first in line 6",
		},
		{
			name: "duplicate fields in JSON",
			data: `{"apiVersion":"config.certrotation.dev/v1alpha1","kind":"RotationConfiguration","spec":{"trustDomains":[{"name":"a","name":"b"}]}}`,
			want: []string{"FieldValueForbidden spec.trustDomains[0].name"},
		},
		{
			name: "durations",
			data: header + "spec:\n  trustDomains:\n  - stageDeadline: 60\n    signer:\n      policy: {validity: 5y, backdate: 5m}\n",
			want: []string{
				"FieldValueInvalid spec.trustDomains[0].signer.policy.validity",
				"FieldValueTypeInvalid spec.trustDomains[0].stageDeadline",
			},
			message: "the longest unit is the hour",
		},
		{name: "a text instead of a list", data: header + "spec: {trustDomains: a}\n", message: "trustDomains"},
		{name: "a kind that is no text", data: "kind: []\n", message: "decode RotationConfiguration"},
		{
			name:    "an alias",
			data:    header + "spec:\n  trustDomains:\n  - &a {name: a}\n  - *a\n",
			want:    []string{"FieldValueForbidden spec.trustDomains[0]", "FieldValueForbidden spec.trustDomains[1]"},
			message: "write out",
		},
		{name: "an anchor of the whole", data: "&a {kind: b}\n", want: []string{"FieldValueForbidden document"}},
		{name: "a key with an anchor", data: header + "spec:\n  &a preset: {}\n", want: []string{"FieldValueForbidden spec.preset"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cfg, err := Decode([]byte(tc.data))
			if err == nil {
				t.Fatalf("decoded %+v", cfg)
			}
			if diff := cmp.Diff(tc.want, fieldErrors(t, err)); diff != "" {
				t.Errorf("errors (-want +got):\n%s\n%v", diff, err)
			}
			if !strings.Contains(err.Error(), tc.message) {
				t.Errorf("message %q does not contain %q", err, tc.message)
			}
		})
	}
}

// TestDecodeKnowsEveryDuration: checkDurations must know all names of durations, and no other field may have one.
func TestDecodeKnowsEveryDuration(t *testing.T) {
	durations, others := sets.New[string](), sets.New[string]()
	fieldNames(reflect.TypeFor[RotationConfigurationSpec](), durations, others)
	fieldNames(reflect.TypeFor[RotationRecordSpec](), durations, others)
	if diff := cmp.Diff(sets.List(durations), slices.Sorted(maps.Keys(durationBounds))); diff != "" {
		t.Errorf("names of durations (-types +durationBounds):\n%s", diff)
	}
	if both := durations.Intersection(others); len(both) > 0 {
		t.Errorf("names of durations and of other fields: %v", sets.List(both))
	}
}

// fieldNames collects the JSON names of the fields that are durations, and of all others.
func fieldNames(of reflect.Type, durations, others sets.Set[string]) {
	switch of.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		fieldNames(of.Elem(), durations, others)
	case reflect.Struct:
		for f := range of.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			isDuration := strings.HasSuffix(f.Type.String(), "v1.Duration")
			switch {
			case isDuration:
				durations.Insert(name)
			default:
				others.Insert(name)
				fieldNames(f.Type, durations, others)
			}
		}
	}
}

func TestDecodeReadsYAMLAndJSON(t *testing.T) {
	want := &RotationConfiguration{
		TypeMeta:   metav1.TypeMeta{APIVersion: SchemeGroupVersion.String(), Kind: Kind},
		ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "ns"},
		Spec:       RotationConfigurationSpec{TrustDomains: []TrustDomain{{Name: "a"}}},
	}
	for name, data := range map[string]string{
		"YAML":           header + "spec:\n  trustDomains:\n  - name: a\n",
		"YAML with dots": "---\n" + header + "spec:\n  trustDomains:\n  - name: a\n...\n",
		"JSON": `{"apiVersion":"config.certrotation.dev/v1alpha1","kind":"RotationConfiguration",` +
			`"metadata":{"name":"a","namespace":"ns"},"spec":{"trustDomains":[{"name":"a"}]}}`,
		"with null": header + "spec:\n  trustDomains:\n  - name: a\n    stageDeadline: null\n",
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Decode([]byte(data))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("configuration (-want +got):\n%s", diff)
			}
		})
	}
}
