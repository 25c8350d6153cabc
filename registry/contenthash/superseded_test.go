// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package contenthash

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/test/property"
)

// TestGateOfAnyHistory: a pod that names a content passes the gate by that content and by later ones, never by
// earlier ones. That holds for any history of a ConfigMap, also if contents return.
func TestGateOfAnyHistory(t *testing.T) {
	property.Check(t, func(t *rapid.T) {
		config := &corev1.ConfigMap{Data: map[string]string{"ca-bundle.crt": "first"}}
		history := []*corev1.ConfigMap{config}
		for _, anchors := range rapid.SliceOfN(rapid.SampledFrom([]string{"first", "second", "both"}), 0, 2*MaxSuperseded).Draw(t, "anchors") {
			next := config.DeepCopy()
			next.Data["ca-bundle.crt"] = anchors
			SupersedeConfigMap(next, config)
			if anchors != config.Data["ca-bundle.crt"] {
				history = append(history, next)
			} else if diff := cmp.Diff(config, next); diff != "" {
				t.Fatalf("nothing was replaced (-former +next):\n%s", diff)
			}
			config = next
		}
		index := rapid.IntRange(0, len(history)-1)
		named, shown := index.Draw(t, "named"), index.Draw(t, "shown")
		data := map[string][]byte{}
		for key, value := range history[shown].Data {
			data[key] = []byte(value)
		}
		content, err := OfDirectory(mounted(data))
		if err != nil {
			t.Fatal(err)
		}
		if content.Hash != OfConfigMap(history[shown]) || !slices.Equal(content.Superseded, ContentOfConfigMap(history[shown]).Superseded) {
			t.Fatalf("the directory has %+v, the ConfigMap %v", content, history[shown].Data)
		}
		passes, want := content.Reaches(OfConfigMap(history[named])), named <= shown && shown-named <= MaxSuperseded
		if passes != want {
			t.Fatalf("named %d, shown %d: it passes: %t, want %t", named, shown, passes, want)
		}
	})
}

func TestSupersedeConfigMap(t *testing.T) {
	hash := strings.Repeat("0", 64)
	for name, tt := range map[string]struct {
		former, config *corev1.ConfigMap
		want           int
	}{
		"made anew": {&corev1.ConfigMap{}, &corev1.ConfigMap{Data: map[string]string{"a": "1"}}, 0},
		"edited":    {&corev1.ConfigMap{Data: map[string]string{"a": "1"}}, &corev1.ConfigMap{Data: map[string]string{"a": "2"}}, 1},
		"as it was": {&corev1.ConfigMap{Data: map[string]string{"a": "1"}}, &corev1.ConfigMap{Data: map[string]string{"a": "1"}}, 0},
		"of bytes":  {&corev1.ConfigMap{BinaryData: map[string][]byte{"a": {1}}}, &corev1.ConfigMap{BinaryData: map[string][]byte{"a": {2}}}, 1},
		"once more": {
			&corev1.ConfigMap{Data: map[string]string{"a": "1", SupersededKey: hash + "\n"}},
			&corev1.ConfigMap{Data: map[string]string{"a": "2", SupersededKey: hash + "\n"}}, 2,
		},
		"after something that is no list": {
			&corev1.ConfigMap{Data: map[string]string{"a": "1", SupersededKey: "what?"}}, &corev1.ConfigMap{Data: map[string]string{"a": "2", SupersededKey: "what?"}}, 1,
		},
		"after a list of bytes": {
			&corev1.ConfigMap{BinaryData: map[string][]byte{"a": {1}, SupersededKey: []byte(hash + "\n")}}, &corev1.ConfigMap{BinaryData: map[string][]byte{"a": {2}}}, 2,
		},
		"after bytes that are no list": {
			&corev1.ConfigMap{BinaryData: map[string][]byte{"a": {1}, SupersededKey: {1}}}, &corev1.ConfigMap{BinaryData: map[string][]byte{"a": {2}, SupersededKey: {1}}}, 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			SupersedeConfigMap(tt.config, tt.former)
			got := ContentOfConfigMap(tt.config).Superseded
			if len(got) != tt.want || tt.want > 0 && got[0] != OfConfigMap(tt.former) {
				t.Errorf("%v, want %d, first %s", got, tt.want, OfConfigMap(tt.former))
			}
			if _, twice := tt.config.BinaryData[SupersededKey]; twice {
				t.Error("the key is in binaryData")
			}
		})
	}
}

// TestSupersedeSecret: a content supersedes the former ones of the same certificate, not those of another
// certificate.
func TestSupersedeSecret(t *testing.T) {
	secret := func(certificate, anchors string) *corev1.Secret {
		return &corev1.Secret{Data: map[string][]byte{corev1.TLSCertKey: []byte(certificate), corev1.ServiceAccountRootCAKey: []byte(anchors)}}
	}
	write := func(former *corev1.Secret, certificate, anchors string) *corev1.Secret {
		next := former.DeepCopy()
		next.Data[corev1.TLSCertKey], next.Data[corev1.ServiceAccountRootCAKey] = []byte(certificate), []byte(anchors)
		SupersedeSecret(next, former)
		return next
	}
	first := secret("leaf", "old")
	both := write(first, "leaf", "old and new")
	again := write(both, "leaf", "old")
	other := write(again, "other leaf", "old")
	byHand := again.DeepCopy()
	byHand.Data[corev1.TLSCertKey] = []byte("other leaf")
	for name, tt := range map[string]struct {
		of   *corev1.Secret
		want []string
	}{
		"made anew":                       {first, nil},
		"other anchors":                   {both, []string{OfSecret(first)}},
		"the former anchors once more":    {again, []string{OfSecret(both), OfSecret(first)}},
		"nothing changed":                 {write(again, "leaf", "old"), []string{OfSecret(both), OfSecret(first)}},
		"another certificate":             {other, nil},
		"a certificate that others wrote": {byHand, nil},
	} {
		t.Run(name, func(t *testing.T) {
			shown, err := OfDirectory(mounted(tt.of.Data))
			if got := ContentOfSecret(tt.of); !slices.Equal(got.Superseded, tt.want) || err != nil || !cmp.Equal(got, shown) {
				t.Errorf("%+v, and its directory %+v (%v), want %v", got, shown, err, tt.want)
			}
		})
	}
}

func TestParseSuperseded(t *testing.T) {
	hash := strings.Repeat("0", 64)
	line := hash + "\n"
	for name, tt := range map[string]struct {
		value string
		want  int
	}{
		"nothing":             {"", 0},
		"one":                 {line, 1},
		"two":                 {line + line, 2},
		"as many as there be": {strings.Repeat(line, MaxSuperseded), MaxSuperseded},
		"more than there be":  {strings.Repeat(line, MaxSuperseded+1), MaxSuperseded},
		"cut":                 {line + hash, 0},
		"an empty line":       {line + "\n" + line, 0},
		"of another system":   {hash + "\r\n", 0},
		"something else":      {line + "PEM\n", 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := parseSuperseded([]byte(tt.value)); len(got) != tt.want {
				t.Errorf("%v, want %d", got, tt.want)
			}
		})
	}
}

func FuzzParseSuperseded(f *testing.F) {
	f.Add([]byte(strings.Repeat("0", 64) + "\n"))
	f.Add([]byte("\n"))
	f.Fuzz(func(t *testing.T, value []byte) {
		got := parseSuperseded(value)
		if len(got) > MaxSuperseded {
			t.Errorf("%d hashes", len(got))
		}
		for _, hash := range got {
			if !Valid(hash) {
				t.Errorf("%q is no hash", hash)
			}
		}
		if text := strings.Join(got, "\n"); !strings.HasPrefix(string(value), text) {
			t.Errorf("%q is not what begins %q", text, value)
		}
	})
}
