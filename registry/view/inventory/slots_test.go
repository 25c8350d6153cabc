// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
)

// TestOneFaultForEveryReader: all readers of a signer's pairs report the same fault for the same bytes.
func TestOneFaultForEveryReader(t *testing.T) {
	one, other := newPair(t), newPair(t)
	cert, otherCert, key, otherKey := one.CertPEM(), other.CertPEM(), keyOf(t, one), keyOf(t, other)
	long := bytes.Repeat(cert, pki.MaxChain+1)
	for name, tc := range map[string]struct {
		slot      Slot
		cert, key []byte
		want      string
		reason    trust.Reason
	}{
		"no certificate":            {ActiveSlot, nil, key, "tls.crt cannot be read: ", trust.ReasonUnparsable},
		"no key":                    {ActiveSlot, cert, nil, "tls.key cannot be read: ", trust.ReasonUnparsable},
		"blank key":                 {NextSlot, cert, []byte(" \n"), "next-tls.key cannot be read: ", trust.ReasonUnparsable},
		"key of another":            {NextSlot, cert, otherKey, "the key under next-tls.key does not belong to the certificate under next-tls.crt", trust.ReasonKeyMismatch},
		"two keys":                  {ActiveSlot, cert, slices.Concat(key, otherKey), "tls.key cannot be read: ", trust.ReasonUnparsable},
		"certificate that is cut":   {ActiveSlot, cert[:len(cert)/2], key, "tls.crt cannot be read: ", trust.ReasonUnparsable},
		"key that is cut":           {ActiveSlot, cert, key[:len(key)/2], "tls.key cannot be read: ", trust.ReasonUnparsable},
		"chain that is too long":    {ActiveSlot, long, key, "tls.crt cannot be read: chain of ", trust.ReasonUnparsable},
		"fewer keys":                {PreviousSlot, slices.Concat(cert, otherCert), key, "previous-tls.crt has 2 certificates and previous-tls.key has 1 keys", trust.ReasonKeyMismatch},
		"more keys":                 {PreviousSlot, cert, slices.Concat(key, otherKey), "previous-tls.crt has 1 certificates and previous-tls.key has 2 keys", trust.ReasonKeyMismatch},
		"no keys":                   {PreviousSlot, cert, nil, "previous-tls.crt has 1 certificates and previous-tls.key has 0 keys", trust.ReasonKeyMismatch},
		"keys in another order":     {PreviousSlot, slices.Concat(cert, otherCert), slices.Concat(otherKey, key), "(pair 1 of 2)", trust.ReasonKeyMismatch},
		"keys without certificates": {PreviousSlot, nil, key, "previous-tls.crt cannot be read: ", trust.ReasonUnparsable},
	} {
		t.Run(name, func(t *testing.T) {
			data := map[string][]byte{ActiveCertKey: {}, ActiveKeyKey: {}}
			data[tc.slot.Cert], data[tc.slot.Key] = tc.cert, tc.key
			before := maps.Clone(data)

			want := shownFault(data, tc.slot)
			if want == nil || want.Reason != tc.reason || !strings.Contains(want.Text, tc.want) {
				t.Fatalf("shown: %+v, want %s %q", want, tc.reason, tc.want)
			}
			readers := map[string]func() error{
				"the slot's pairs": func() error { _, err := tc.slot.Pairs(data); return err },
				"all pairs":        func() error { _, err := SignerPairs(data); return err },
				"the pair of a CA": func() error { _, err := SignerPair(data, "none"); return err },
			}
			if tc.slot == ActiveSlot {
				readers["the pair of a leaf"] = func() error { _, err := ActivePair(data); return err }
			}
			for reader, read := range readers {
				if got, ok := errors.AsType[*Fault](read()); !ok || *got != *want {
					t.Errorf("%s: %+v, want %+v", reader, got, want)
				}
			}
			if diff := cmp.Diff(before, data); diff != "" {
				t.Errorf("a reader has changed what it read:\n%s", diff)
			}
		})
	}
}

func shownFault(data map[string][]byte, slot Slot) *Fault {
	secret := ParseSecret(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{trust.AnnotationConfiguration: "web"}}, Data: data,
	}, pki.NewCache(4))
	return map[Slot]*Fault{ActiveSlot: secret.Active.Fault, NextSlot: secret.Next.Fault, PreviousSlot: secret.Previous.Fault}[slot]
}

// TestSlotsKeepWhatIsPut: each reader finds the pairs that were put, in their order, and none in an emptied slot.
func TestSlotsKeepWhatIsPut(t *testing.T) {
	one, other := newPair(t), newPair(t)
	for name, tc := range map[string]struct {
		slot  Slot
		pairs []*pki.Pair
	}{
		"active":       {ActiveSlot, []*pki.Pair{one}},
		"next":         {NextSlot, []*pki.Pair{one}},
		"previous":     {PreviousSlot, []*pki.Pair{one}},
		"two previous": {PreviousSlot, []*pki.Pair{other, one}},
		"nothing":      {NextSlot, nil},
	} {
		t.Run(name, func(t *testing.T) {
			data := map[string][]byte{}
			if err := tc.slot.Put(data, tc.pairs...); err != nil {
				t.Fatal(err)
			}
			got, err := tc.slot.Pairs(data)
			if err != nil || shownFault(data, tc.slot) != nil || len(got) != len(tc.pairs) {
				t.Fatalf("%d pairs, error %v, shown %v", len(got), err, shownFault(data, tc.slot))
			}
			for i, pair := range tc.pairs {
				fingerprint := pair.Certificate.Fingerprint
				if found, err := SignerPair(data, fingerprint); got[i].Certificate.Fingerprint != fingerprint || err != nil || found == nil {
					t.Errorf("pair %d: %s, and by its fingerprint: %v", i, got[i].Certificate.Fingerprint, err)
				}
			}
			if err := tc.slot.Put(data); err != nil || len(data) != 0 {
				t.Errorf("emptied, it holds %d keys, error %v", len(data), err)
			}
		})
	}
}

// TestSignerPairIsFoundBesideAFault: a broken slot does not hide the pairs of other slots.
func TestSignerPairIsFoundBesideAFault(t *testing.T) {
	pair := newPair(t)
	data := map[string][]byte{ActiveCertKey: []byte("garbage"), ActiveKeyKey: []byte("garbage")}
	if err := NextSlot.Put(data, pair); err != nil {
		t.Fatal(err)
	}
	if found, err := SignerPair(data, pair.Certificate.Fingerprint); err != nil || found == nil {
		t.Errorf("next is not found beside a broken active slot: %v", err)
	}
	if _, err := SignerPair(data, "another"); !errors.Is(err, ErrNoPair) {
		t.Errorf("error %v, want %v", err, ErrNoPair)
	}
}
