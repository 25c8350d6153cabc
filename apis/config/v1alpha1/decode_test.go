// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const header = "apiVersion: config.certrotation.dev/v1alpha1\nkind: RotationConfiguration\n"

// fieldErrors are type and path of the field errors of an aggregate.
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
		{name: "too large", data: header + strings.Repeat("#", MaxSize), message: "more than the limit of 524288"},
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
			data: header + "trustDomains:\n- name: a\n  signr: {}\nextra: 1\n",
			want: []string{"FieldValueForbidden extra", "FieldValueForbidden trustDomains[0].signr"},
		},
		{
			name: "field in another case",
			data: header + "TrustDomains: []\n",
			want: []string{"FieldValueForbidden TrustDomains"},
		},
		{
			name:    "duplicate fields in YAML",
			data:    header + "trustDomains:\n- name: a\n  name: b\n",
			want:    []string{"FieldValueForbidden trustDomains[0].name"},
			message: "duplicate field in line 5, first in line 4",
		},
		{
			name: "duplicate fields in JSON",
			data: `{"apiVersion":"config.certrotation.dev/v1alpha1","kind":"RotationConfiguration","trustDomains":[{"name":"a","name":"b"}]}`,
			want: []string{"FieldValueForbidden trustDomains[0].name"},
		},
		{
			name: "durations",
			data: header + "trustDomains:\n- stageDeadline: 60\n  signer:\n    policy: {validity: 5y, backdate: 5m}\n",
			want: []string{
				"FieldValueInvalid trustDomains[0].signer.policy.validity",
				"FieldValueTypeInvalid trustDomains[0].stageDeadline",
			},
			message: "the longest unit is the hour",
		},
		{name: "a text instead of a list", data: header + "trustDomains: a\n", message: "trustDomains"},
		{name: "a kind that is no text", data: "kind: []\n", message: "decode RotationConfiguration"},
		{name: "an alias bomb", data: header + aliases(), message: "with its aliases expanded"},
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

// aliases is small as YAML and several times MaxSize with the aliases written out, yet below what the parser refuses.
func aliases() string {
	return "extra:\n- &a " + strings.Repeat("x", 1<<16) + strings.Repeat("\n- *a", 64) + "\n"
}

// TestDecodeKnowsEveryDuration keeps the names that checkDurations looks for complete.
func TestDecodeKnowsEveryDuration(t *testing.T) {
	for _, field := range []string{
		"trustDomains[0].stageDeadline",
		"trustDomains[0].unlistedLeaves.drain",
		"trustDomains[0].signer.policy.validity",
		"trustDomains[0].signer.policy.backdate",
		"trustDomains[0].relyingParties[0].evidence.gracePeriod",
		"trustDomains[0].relyingParties[0].evidence.tlsProbe.interval",
		"trustDomains[0].relyingParties[0].evidence.tlsProbe.timeout",
	} {
		t.Run(field, func(t *testing.T) {
			value := `"1d"`
			parts := strings.Split(field, ".")
			slices.Reverse(parts)
			for _, part := range parts {
				if name, isList := strings.CutSuffix(part, "[0]"); isList {
					value = `{"` + name + `": [` + value + `]}`
				} else {
					value = `{"` + part + `": ` + value + `}`
				}
			}
			data := `{"apiVersion": "config.certrotation.dev/v1alpha1", "kind": "RotationConfiguration", ` + value[1:]
			_, err := Decode([]byte(data))
			if err == nil {
				t.Fatal("decoded")
			}
			if diff := cmp.Diff([]string{"FieldValueInvalid " + field}, fieldErrors(t, err)); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLoadRefusesWhatDecodeDoes(t *testing.T) {
	if cfg, err := Load(nil, "ns"); err == nil {
		t.Errorf("loaded %+v", cfg)
	}
}

func TestDecodeReadsYAMLAndJSON(t *testing.T) {
	want := &RotationConfiguration{TrustDomains: []TrustDomain{{Name: "a"}}}
	want.APIVersion, want.Kind = SchemeGroupVersion.String(), Kind
	for name, data := range map[string]string{
		"YAML":           header + "trustDomains:\n- name: a\n",
		"YAML with dots": "---\n" + header + "trustDomains:\n- name: a\n...\n",
		"JSON":           `{"apiVersion":"config.certrotation.dev/v1alpha1","kind":"RotationConfiguration","trustDomains":[{"name":"a"}]}`,
		"YAML aliases":   header + "trustDomains:\n- name: &n a\n  stageDeadline: null\n",
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
