// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"certrotation.dev/apis/config/v1alpha1"
)

const header = "apiVersion: config.certrotation.dev/v1alpha1\nkind: RotationConfiguration\nmetadata: {name: a, namespace: ns}\n"

// domain is a valid trust domain, which more fields may follow.
const domain = `spec:
  trustDomains:
  - name: a
    signer: {secretName: a-signer}
    bundle: {configMapName: a-bundle}
    relyingParties: [{name: a, evidence: {kind: acknowledgement}}]
`

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
			name:    "a number for a duration",
			data:    header + domain + "    stageDeadline: 60\n",
			want:    []string{"FieldValueTypeInvalid spec.trustDomains[0].stageDeadline"},
			message: "string",
		},
		{name: "a text instead of a list", data: header + "spec: {trustDomains: a}\n", want: []string{"FieldValueTypeInvalid spec.trustDomains"}},
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

// TestDecodeNamesDurations: the definition refuses what does not decode, by its path. Clients decode lists as a whole: one
// stored object that they cannot decode hides all others.
func TestDecodeNamesDurations(t *testing.T) {
	for _, text := range []string{"5y", "1d", "", " ", "1 h", "1h 30m", "h", "99999999999h", "9223372036854775808ns", "1e3h", "∞", "+"} {
		t.Run(text, func(t *testing.T) {
			_, err := Decode([]byte(header + domain + "    stageDeadline: '" + text + "'\n"))
			if err == nil {
				t.Fatal("decoded")
			}
			if diff := cmp.Diff([]string{"FieldValueInvalid spec.trustDomains[0].stageDeadline"}, fieldErrors(t, err)); diff != "" {
				t.Errorf("errors (-want +got):\n%s\n%v", diff, err)
			}
		})
	}
}

func TestDecodeReadsYAMLAndJSON(t *testing.T) {
	want := &v1alpha1.RotationConfiguration{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: v1alpha1.Kind},
		ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "ns"},
		Spec:       v1alpha1.RotationConfigurationSpec{TrustDomains: []v1alpha1.TrustDomain{{Name: "a"}}},
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
