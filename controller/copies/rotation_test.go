// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package copies

import (
	"strings"
	"time"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/record"
	"certrotation.dev/registry/trust"
)

func (w *world) domain() *trust.Domain { return w.Namespace(home).Domain("web") }

func (w *world) stage() trust.Stage { return trust.Assess(w.domain(), w.clock.Now()).Stage }

// step runs the rotation controller until it writes nothing. No member reports meanwhile.
func (w *world) step() {
	w.t.Helper()
	for range 20 {
		before := w.api.Version()
		if err := w.rotation.Reconcile(w.ctx(), home, "web"); err != nil && !strings.Contains(err.Error(), "not proposed") {
			w.t.Fatal(err)
		}
		if w.api.Version() == before {
			return
		}
		w.clock.Step(time.Second)
	}
	w.t.Fatal("the rotation finds no end")
}

// rotate runs controller and members until nothing changes.
func (w *world) rotate() {
	w.t.Helper()
	for range 20 {
		before := w.api.Version()
		w.step()
		w.acknowledge()
		if w.api.Version() == before {
			return
		}
	}
	w.t.Fatal("the rotation does not end")
}

func (w *world) request() {
	w.t.Helper()
	made, err := record.OfRequest(home, "web", &trust.Request{Kind: trust.RequestRotate, Secret: "web-signer", Reason: "test"}, "somebody")
	if err != nil {
		w.t.Fatal(err)
	}
	w.put(home, made)
}

// acknowledge has every member report the published anchors and its own leaves.
func (w *world) acknowledge() {
	d := w.domain()
	var trusts []pki.Fingerprint
	for _, ca := range d.Bundle.Anchors {
		trusts = append(trusts, ca.Fingerprint)
	}
	for _, p := range d.Parties {
		for _, m := range p.Members {
			o := trust.Observation{
				Instance: m.Name, Kind: p.Kind, Trusts: trusts, ObservedAt: w.clock.Now(), Expires: w.clock.Now().Add(24 * time.Hour),
			}
			for _, name := range m.Holds {
				if c := d.Leaf(name).Certificate; c != nil {
					o.Presents = append(o.Presents, c.Fingerprint)
				}
			}
			if len(m.Observations) == 1 && record.Same(&m.Observations[0], &o) && m.Observations[0].Expires.After(w.clock.Now()) {
				continue
			}
			made, err := record.OfEvidence(home, d.Name, p.Name, m.Name, []trust.Observation{o})
			if err != nil {
				w.t.Fatal(err)
			}
			w.put(home, made)
		}
	}
}

// foreignCA returns a CA that no bundle has.
func (w *world) foreignCA() *pki.Pair {
	w.t.Helper()
	ca, err := pki.NewAuthority(pki.Profile{CommonName: "somebody else", Key: pki.ECDSAP256, Validity: time.Hour}, w.clock.Now())
	if err != nil {
		w.t.Fatal(err)
	}
	return ca
}
