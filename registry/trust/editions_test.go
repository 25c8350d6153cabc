// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"slices"
	"strings"
	"testing"

	"certrotation.dev/registry/pki"
)

// TestIsEdition: an authority that has left the slots still belongs to its domain, by the name that its Secret had.
func TestIsEdition(t *testing.T) {
	t.Parallel()
	for commonName, want := range map[string]bool{
		"ca": true, "ca-1a2b3c4d": true, "ca-1a2b3c4d-76711": true, "ca-76711": true,
		"ca-etcd": false, "ca-etcd-1a2b3c4d": false, "ca-1a2b3c4d-1a2b3c4d": false, "ca-76711-76711": false,
		"ca-1A2B3C4D": false, "ca-": false, "ca1a2b3c4d": false, "c": false, "": false, "ca-1a2b3c4d-": false,
	} {
		if got := isEdition(commonName, "ca"); got != want {
			t.Errorf("isEdition(%q) = %t", commonName, got)
		}
	}
}

// TestWrittenElsewhere: of a domain that another controller writes, only records are written, whatever it needs. What
// it waits for is shown as of any other.
func TestWrittenElsewhere(t *testing.T) {
	t.Parallel()
	w := bootstrapped(t)
	next := w.authority(pki.Profile{CommonName: "signer-00000002", Key: pki.ECDSAP256, Validity: w.d.Signer.Policy.Profile.Validity})
	for name, change := range map[string]func(*Domain){
		"nothing exists":       func(d *Domain) { d.Signer.Active, d.Bundle.Anchors = nil, nil },
		"a rotation is due":    func(d *Domain) { d.Signer.Policy.RenewAtPercent = 1 },
		"next is trusted":      func(d *Domain) { d.Signer.Next = next },
		"a leaf is lost":       func(d *Domain) { d.Leaves = append([]Leaf(nil), d.Leaves...); d.Leaves[0].Certificate = nil },
		"metadata are not set": func(d *Domain) { d.Signer.Annotations, d.Bundle.Annotations = nil, nil },
	} {
		d := w.clone()
		change(d)
		if a := Assess(d, w.now.AddDate(1, 0, 0)); len(a.Actions) == 0 {
			t.Errorf("%s: nothing would be done if certrotation wrote it", name)
		}
		d.WrittenBy = "operator"
		for _, action := range Assess(d, w.now.AddDate(1, 0, 0)).Actions {
			if action.ObjectKind != RecordKind {
				t.Errorf("%s: %s of %s", name, action.Kind, action.Object)
			}
		}
	}
	d := w.clone()
	d.WrittenBy, d.Signer.Next, d.Bundle.Anchors = "operator", next, append(d.Bundle.Anchors, next)
	if a := Assess(d, w.now); a.Stage != Distributing || len(a.Blockers) == 0 {
		t.Errorf("stage %s, blockers %v", a.Stage, a.Blockers)
	}
}

// TestRequestsToOthers: a request waits for the controller that writes, and is answered by a newer authority.
func TestRequestsToOthers(t *testing.T) {
	t.Parallel()
	w := bootstrapped(t)
	w.d.WrittenBy = "operator"
	if _, err := PlanRotation(&w.d, w.d.Leaves[0].Name, w.now); err == nil || !strings.Contains(err.Error(), "operator") {
		t.Errorf("a plan for a leaf: %v", err)
	}
	if p, err := PlanRotation(&w.d, w.d.Signer.Name, w.now); err != nil || len(p.Steps) == 0 {
		t.Errorf("a plan for the authority: %+v, %v", p, err)
	}
	if _, err := PlanAbort(&w.d, w.now); err == nil {
		t.Error("there is nothing to abort")
	}
	next := w.authority(pki.Profile{CommonName: "signer-00000002", Key: pki.ECDSAP256, Validity: w.d.Signer.Policy.Profile.Validity})
	w.addRequest(Request{Kind: RequestRotate, Secret: w.d.Signer.Name, Newest: Newest(&w.d)})
	for _, tt := range []struct {
		name string
		next *pki.Certificate
		want string
	}{
		{"the same authority", nil, "RotationQueued"},
		{"a newer authority", next, "ClearRequest"},
	} {
		w.d.Signer.Next = tt.next
		a := Assess(&w.d, w.now)
		var got []string
		for _, b := range a.Blockers {
			got = append(got, string(b.Reason))
		}
		for _, action := range a.Actions {
			if action.Kind != RecordRoster {
				got = append(got, string(action.Kind))
			}
		}
		if !slices.Contains(got, tt.want) {
			t.Errorf("%s: %q, want %s", tt.name, got, tt.want)
		}
	}
	w.leaf("client-a").Certificate = signedLeaf(w, "client-a", next)
	p, err := PlanAbort(&w.d, w.now)
	if err != nil || len(p.Steps) != 3 || p.Steps[0].Object != "Secret/client-a" || p.Steps[1].Action != DropNext {
		t.Errorf("a plan for an abort: %+v, %v", p, err)
	}
	w.abort()
	if a := Assess(&w.d, w.now); !slices.ContainsFunc(a.Blockers, func(b Blocker) bool { return b.Reason == ReasonAbortRequested }) {
		t.Errorf("blockers of an abort: %v", a.Blockers)
	}
	w.d.Signer.Next = nil
	a := Assess(&w.d, w.now)
	if slices.ContainsFunc(a.Blockers, func(b Blocker) bool { return b.Reason == ReasonAbortRequested }) ||
		!slices.ContainsFunc(a.Actions, func(x Action) bool { return x.Kind == ClearRequest }) {
		t.Errorf("after the abort: blockers %v, actions %v", a.Blockers, a.Actions)
	}
}
