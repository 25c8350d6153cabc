// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"crypto/tls"
	"testing"
	"time"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/test/pipenet"
)

// recoveredAuthority returns an expired authority, and the same one signed again.
func recoveredAuthority(t *testing.T) (expired, again *pki.Pair) {
	t.Helper()
	expired, err := pki.NewAuthority(pki.Profile{CommonName: "ca@1", Key: pki.ECDSAP256, Validity: time.Hour}, time.Now().Add(-2*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	again, err = expired.Resign(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return expired, again
}

// TestRecoveredUntil: a leaf that verifies although the anchor of its key has expired comes from a recovery.
func TestRecoveredUntil(t *testing.T) {
	expired, again := recoveredAuthority(t)
	leaf := newLeaf(t, again, serverDNS, pki.ServerAuth)
	foreign := newLeaf(t, newAuthority(t, "foreign"), serverDNS, pki.ServerAuth)
	tests := []struct {
		name    string
		leaf    *pki.Pair
		anchors []*pki.Pair
		now     time.Time
		want    time.Time
	}{
		{name: "recovered", leaf: leaf, anchors: []*pki.Pair{expired}, now: time.Now(), want: leaf.Certificate.NotAfter},
		{name: "the re-signed CA is known", leaf: leaf, anchors: []*pki.Pair{expired, again}, now: time.Now()},
		{name: "of another key", leaf: foreign, anchors: []*pki.Pair{expired}, now: time.Now()},
		{name: "expired itself", leaf: leaf, anchors: []*pki.Pair{expired}, now: time.Now().Add(48 * time.Hour)},
		{name: "no anchor", leaf: leaf, now: time.Now()},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var anchors []*pki.Certificate
			for _, ca := range tt.anchors {
				anchors = append(anchors, ca.Certificate)
			}
			if got := recoveredUntil(tt.leaf.Certificate, anchors, tt.now); !got.Equal(tt.want) {
				t.Errorf("until %s, want %s", got, tt.want)
			}
		})
	}
}

// TestRecoveredIsRecorded: the record marks a recovered leaf, and keeps this when the server is unreachable later.
func TestRecoveredIsRecorded(t *testing.T) {
	pipenet.Test(t, func(t *testing.T) {
		expired, again := recoveredAuthority(t)
		leaf := newLeaf(t, again, serverDNS, pki.ServerAuth)
		s := serveTLS(t, &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{keyPair(t, leaf)}})
		d := domain(s.Addr().String(), leaf.Certificate, expired)
		c, records := newCollector(t, &fixed{})
		seen := func() *trust.Observation {
			if err := c.Refresh(t.Context(), d); err != nil {
				t.Fatal(err)
			}
			return observedOf(t, records)
		}
		if o := seen(); !o.RecoveredUntil.Equal(leaf.Certificate.NotAfter) || o.Failure == "" {
			t.Errorf("observation %+v, want it recovered, and that the bundle does not verify it", o)
		}
		d.Parties[0].Members[0].Observations = recordOf(t, records, "web", "servers", "a")
		_ = s.Close()
		if o := seen(); !o.RecoveredUntil.Equal(leaf.Certificate.NotAfter) {
			t.Errorf("observation %+v of a server that is down, want what was seen before", o)
		}
	})
}
