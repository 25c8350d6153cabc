// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"crypto/x509"
	"testing"
	"time"
)

// TestExpiredSignerOverLiveLeaves: a person replaces the active CA by an expired one. Whatever the members have
// loaded by then, a rotation must repair that.
func TestExpiredSignerOverLiveLeaves(t *testing.T) {
	for name, published := range map[string]bool{"unknown to everybody": false, "in the bundle and loaded": true} {
		t.Run(name, func(t *testing.T) {
			w := bootstrapped(t)
			w.now = w.now.Add(2 * time.Hour)
			expired := w.raw(foreign(w), func(c *x509.Certificate) {
				c.NotBefore, c.NotAfter = w.now.Add(-2*time.Hour), w.now.Add(-time.Minute)
			}, nil)
			w.d.Signer.Active = expired
			if published {
				w.d.Bundle.Anchors = append(w.d.Bundle.Anchors, expired)
				w.reloadAll()
			}
			if actions := Assess(&w.d, w.now).Actions; len(actions) != 1 || actions[0].Kind != GenerateNext {
				t.Fatalf("actions %+v, want GenerateNext alone", actions)
			}
			for range 5 {
				w.settle()
				w.reloadAll()
			}
			if a := w.settle(); a.Stage != Stable || same(w.d.Signer.Active, expired) {
				t.Errorf("stage %s, active %s, done %v", a.Stage, w.d.Signer.Active.Subject, w.done)
			}
		})
	}
}
