// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package edition

import (
	"bytes"
	"maps"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
)

// pairs returns a CA and a leaf that it signed, as PEM.
func pairs(t testing.TB) (ca, caKey, leaf, leafKey []byte) {
	t.Helper()
	signer, err := pki.NewAuthority(pki.Profile{CommonName: "ca", Key: pki.ECDSAP256, Validity: 100 * time.Hour}, noon)
	if err != nil {
		t.Fatal(err)
	}
	made, err := signer.Issue(pki.Profile{CommonName: "leaf", Usages: []pki.Usage{pki.ServerAuth}, Key: pki.ECDSAP256, Validity: time.Hour}, noon)
	if err != nil {
		t.Fatal(err)
	}
	caKey, err = signer.KeyPEM()
	if err != nil {
		t.Fatal(err)
	}
	if leafKey, err = made.KeyPEM(); err != nil {
		t.Fatal(err)
	}
	return signer.CertPEM(), caKey, pki.EncodeCertificates(made.Certificate), leafKey
}

func TestOf(t *testing.T) {
	t.Parallel()
	ca, caKey, leaf, leafKey := pairs(t)
	for name, test := range map[string]struct {
		data   map[string][]byte
		labels map[string]string
		// until is relative to noon. 0 means unknown.
		until     time.Duration
		authority bool
	}{
		"an authority":                      {data: map[string][]byte{"ca.crt": ca, "ca.key": caKey}, until: 100 * time.Hour, authority: true},
		"an authority with its key outside": {data: map[string][]byte{"ca.crt": ca}, labels: map[string]string{LabelKeyOutside: True}, until: 100 * time.Hour, authority: true},
		"a leaf":                            {data: map[string][]byte{"tls.crt": leaf, "tls.key": leafKey, "ca.crt": ca}, until: time.Hour},
		"a leaf with its chain":             {data: map[string][]byte{"tls.crt": bytes.Join([][]byte{leaf, ca}, nil)}, until: time.Hour},
		"a control plane":                   {data: map[string][]byte{"n.crt": leaf, "ca.crt": ca}, until: time.Hour},
		"what has the CA of others alone":   {data: map[string][]byte{"ca.crt": ca}},
		"a password with an end":            {data: map[string][]byte{"password": []byte("x")}, labels: map[string]string{LabelValidUntilTime: UnixText(noon.Add(2 * time.Hour))}, until: 2 * time.Hour},
		"labels that a certificate denies":  {data: map[string][]byte{"tls.crt": leaf}, labels: map[string]string{LabelValidUntilTime: "1"}, until: time.Hour},
		"a certificate that is none":        {data: map[string][]byte{"tls.crt": []byte("x")}},
		"a label that is no time":           {labels: map[string]string{LabelValidUntilTime: "+1", LabelIssuedAtTime: "1e3"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			labels := map[string]string{LabelName: "n"}
			maps.Copy(labels, test.labels)
			e := Of(&corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Name: "n-1", Labels: labels, Annotations: map[string]string{trust.AnnotationConfiguration: "etcd"}},
				Data:       test.data,
			})
			want := time.Time{}
			if test.until != 0 {
				want = noon.Add(test.until)
			}
			if !e.Until.Equal(want) || e.Authority != test.authority || e.Configuration != "etcd" || e.Checksum != DataChecksum(test.data) {
				t.Errorf("%+v", e)
			}
		})
	}
}

func TestIssuedAt(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Time{"": noon, "x": noon, "01": noon, "1": time.Unix(1, 0)} {
		if got := IssuedAt(map[string]string{LabelIssuedAtTime: text}, noon); !got.Equal(want) {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// FuzzOf: parsing, ordering and renewal handle any Secret that others made.
func FuzzOf(f *testing.F) {
	ca, caKey, leaf, _ := pairs(f)
	f.Add("tls.crt", leaf, "ca.crt", ca, LabelGeneration, "1", "1772366400")
	f.Add("ca.crt", ca, "ca.key", caKey, LabelLastRotationInitiationTime, "x", "")
	f.Add("n.crt", leaf[:100], "", []byte(nil), LabelRenewAfterValidityPercentage, "-1", "99999999999999999999")
	f.Fuzz(func(t *testing.T, key1 string, value1 []byte, key2 string, value2 []byte, label, text, until string) {
		secret := func(name string) *Edition {
			return Of(&corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", Labels: map[string]string{
					LabelName: "n", LabelIssuedAtTime: "1772366400", LabelValidUntilTime: until, label: text,
				}},
				Data: map[string][]byte{key1: value1, key2: value2},
			})
		}
		a, b := secret("n-1"), secret("n-2")
		if at, ever := a.RenewAt(); ever && (at.Before(a.Issued) || at.After(a.Until)) {
			t.Errorf("it is valid from %s to %s and renewed at %s", a.Issued, a.Until, at)
		}
		of := []*Edition{b, a}
		if Order(of); of[0] != a {
			t.Error("two that differ in their names have no order")
		}
		byName := ByName(of)
		for _, rotation := range Rotations(byName, true, noon.AddDate(100, 0, 0)) {
			if rotation.Renews != nil {
				if _, ok := parseUnix(rotation.Time); !ok {
					t.Errorf("it is renewed at %q", rotation.Time)
				}
			}
		}
		wanted := &Wanted{Name: "n"}
		for key, value := range Relabel(a.Labels, wanted.ObjectLabels()) {
			if value == nil && !Owned(key) {
				t.Errorf("the label %s of somebody else goes", key)
			}
		}
	})
}
