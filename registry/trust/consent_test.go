// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"crypto/x509"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// unadopted returns the domain after an object lost its consent, as the inventory shows it.
func (w *world) unadopted(kind ObjectKind, name string) *Domain {
	d := w.clone()
	lost := func(o *Object) Object { return NotAdopted(kind, o, d.Namespace, d.Configuration) }
	switch name {
	case d.Signer.Name:
		d.Signer = Signer{Object: lost(&d.Signer.Object), Policy: d.Signer.Policy}
	case d.Bundle.Name:
		d.Bundle = Bundle{Object: lost(&d.Bundle.Object)}
	default:
		for i := range d.Leaves {
			if l := &d.Leaves[i]; l.Name == name {
				*l = Leaf{Object: lost(&l.Object), Template: l.Template, Policy: l.Policy}
			}
		}
	}
	return d
}

// planned returns the actions as "KIND OBJECT".
func planned(a *Assessment) []string {
	var out []string
	for i := range a.Actions {
		out = append(out, string(a.Actions[i].Kind)+" "+a.Actions[i].Object)
	}
	return out
}

// TestUnadoptedObjectBlocks: no action writes or needs an object without consent. The blocker names the next step.
func TestUnadoptedObjectBlocks(t *testing.T) {
	inFlight := func(w *world) {
		w.request("it is time")
		w.settle()
	}
	reissued := func(w *world) {
		inFlight(w)
		w.reloadAll()
		for range 3 {
			w.step()
		}
	}
	for _, tt := range []struct {
		name   string
		before func(*world)
		kind   ObjectKind
		object string
		want   []string
	}{
		{name: "the signer", kind: SecretKind, object: "signer"},
		{name: "the bundle", kind: ConfigMapKind, object: "bundle"},
		{name: "a leaf", kind: SecretKind, object: "server"},
		{name: "the signer, and a rotation is wanted", before: func(w *world) { w.request("it is time") }, kind: SecretKind, object: "signer"},
		{name: "a leaf, and a rotation is wanted", before: func(w *world) { w.request("it is time") }, kind: SecretKind, object: "server"},
		{name: "the signer in flight", before: inFlight, kind: SecretKind, object: "signer"},
		{name: "the bundle in flight", before: inFlight, kind: ConfigMapKind, object: "bundle"},
		{name: "a leaf in flight", before: inFlight, kind: SecretKind, object: "server"},
		{name: "the signer while leaves move", before: reissued, kind: SecretKind, object: "signer"},
		{name: "the bundle while leaves move", before: reissued, kind: ConfigMapKind, object: "bundle"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.settle()
			w.reloadAll()
			w.settle()
			if tt.before != nil {
				tt.before(w)
			}
			a := Assess(w.unadopted(tt.kind, tt.object), w.now)
			if diff := cmp.Diff(tt.want, planned(a)); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
			p := a.ProblemOf(string(tt.kind) + "/" + tt.object)
			if p == nil || p.Reason != ReasonNotAdopted || !strings.Contains(p.Message, "kubectl certrotation adopt -n demo pki") {
				t.Errorf("problem %+v", p)
			}
		})
	}
}

// TestUnadoptedLeafKeepsItsAnchor: the chain of a leaf without consent is unknown, so no anchor leaves the bundle.
func TestUnadoptedLeafKeepsItsAnchor(t *testing.T) {
	w := newWorld(t)
	w.settle()
	w.reloadAll()
	w.settle()
	for _, aa := range Assess(w.unadopted(SecretKind, "client-a"), w.now).Anchors {
		if aa.SafeToRemove {
			t.Errorf("%s is safe to remove", aa.Certificate.Subject)
		}
	}
}

// TestUnadoptedLeafIsNoFreshStart: an existing leaf without consent may be in use, so a new CA could cut it off.
func TestUnadoptedLeafIsNoFreshStart(t *testing.T) {
	w := newWorld(t)
	w.leaf("server").Present = true
	a := Assess(w.unadopted(SecretKind, "server"), w.now)
	for i := range a.Actions {
		if action := &a.Actions[i]; action.Kind == GenerateActive || action.Object == "server" {
			t.Errorf("%s %s", action.Kind, action.Object)
		}
	}
}

// TestWritesGiveConsent: objects that the controller makes consent from the start.
func TestWritesGiveConsent(t *testing.T) {
	w := newWorld(t)
	for range 50 {
		actions := w.assess().Actions
		for i := range actions {
			action := &actions[i]
			if consents := Consents(action.Annotations, "pki"); consents != (action.ObjectKind != RecordKind) {
				t.Errorf("%s %s consents: %t", action.Kind, action.Object, consents)
			}
			w.perform(action)
		}
		if len(actions) == 0 {
			break
		}
	}
	for _, o := range []*Object{&w.d.Signer.Object, &w.d.Bundle.Object, &w.leaf("server").Object} {
		if !Consents(o.Annotations, "pki") {
			t.Errorf("%s does not consent", o.Name)
		}
	}
	agg := &Aggregate{Configuration: "pki", Secret: Object{Name: "all"}, ConfigMap: Object{Name: "all"}, Leaves: []string{"server"}}
	actions, _ := AssessAggregate(agg, map[string]*Leaf{"server": w.leaf("server")}, nil)
	if len(actions) != 1 || !Consents(actions[0].Annotations, "pki") {
		t.Errorf("actions on the aggregate: %+v", actions)
	}
}

// TestUnadoptedAggregateIsNotWritten: if one half of an aggregate lacks consent, neither is written. A source
// without consent is not collected.
func TestUnadoptedAggregateIsNotWritten(t *testing.T) {
	w := newWorld(t)
	w.settle()
	there := Object{Name: "all", Present: true}
	for name, change := range map[string]func(*Aggregate, *Leaf){
		"its Secret":    func(a *Aggregate, _ *Leaf) { a.Secret = NotAdopted(SecretKind, &there, "demo", "pki") },
		"its ConfigMap": func(a *Aggregate, _ *Leaf) { a.ConfigMap = NotAdopted(ConfigMapKind, &there, "demo", "pki") },
		"a leaf":        func(_ *Aggregate, l *Leaf) { *l = Leaf{Object: NotAdopted(SecretKind, &l.Object, "demo", "pki")} },
	} {
		t.Run(name, func(t *testing.T) {
			a := &Aggregate{Configuration: "pki", Secret: there, ConfigMap: there, Leaves: []string{"server"}}
			leaf := *w.leaf("server")
			change(a, &leaf)
			actions, blockers := AssessAggregate(a, map[string]*Leaf{"server": &leaf}, nil)
			if len(actions) > 0 || len(blockers) == 0 {
				t.Errorf("actions %v, blockers %v", actions, blockers)
			}
		})
	}
}

func TestJudgeConsent(t *testing.T) {
	stable := func(t *testing.T) *world {
		w := newWorld(t)
		w.settle()
		w.reloadAll()
		w.settle()
		return w
	}
	inFlight := func(t *testing.T) *world {
		w := stable(t)
		w.request("it is time")
		w.settle()
		return w
	}
	without := func(kind ObjectKind, name string) func(*world) *Domain {
		return func(w *world) *Domain { return w.unadopted(kind, name) }
	}
	whole := func(w *world) *Domain { return w.clone() }
	deleted := func(name string) func(*world) *Domain {
		return func(w *world) *Domain {
			d := w.clone()
			switch name {
			case "signer":
				d.Signer = Signer{Object: Object{Name: name}, Policy: d.Signer.Policy}
			case "bundle":
				d.Bundle = Bundle{Object: Object{Name: name}}
			default:
				for i := range d.Leaves {
					if l := &d.Leaves[i]; l.Name == name {
						*l = Leaf{Object: Object{Name: name}, Policy: l.Policy}
					}
				}
			}
			return d
		}
	}
	identified := func(t *testing.T) *world {
		w := stable(t)
		l := w.leaf("server")
		l.Certificate = w.raw(l.Certificate, func(c *x509.Certificate) {
			c.URIs = []*url.URL{{Scheme: "spiffe", Host: "example.org", Path: "/web"}}
			c.Subject.OrganizationalUnit = []string{"platform"}
			c.RawSubject = nil
			c.ExtKeyUsage = append(c.ExtKeyUsage, x509.ExtKeyUsageCodeSigning)
		}, w.d.Signer.Active)
		return w
	}
	noLeaves := func(w *world) *world {
		for i := range w.d.Leaves {
			l := &w.d.Leaves[i]
			*l = Leaf{Object: NotAdopted(SecretKind, &l.Object, "demo", "pki"), Policy: l.Policy}
		}
		return w
	}
	for _, tt := range []struct {
		name          string
		world         func(*testing.T) *world
		before, after func(*world) *Domain
		want          []Invariant
	}{
		{"the signer is released", stable, whole, without(SecretKind, "signer"), nil},
		{"the signer is released in flight", inFlight, whole, without(SecretKind, "signer"), []Invariant{OneRotation}},
		{"the bundle is released while leaves need it", stable, whole, without(ConfigMapKind, "bundle"), []Invariant{AnchorInUse}},
		{"the bundle is released in flight", inFlight, whole, without(ConfigMapKind, "bundle"), []Invariant{AnchorInUse}},
		{"the bundle is released after its leaves", func(t *testing.T) *world { return noLeaves(stable(t)) }, whole, without(ConfigMapKind, "bundle"), nil},
		{"a leaf is released", stable, whole, without(SecretKind, "server"), nil},
		{"the signer is adopted", stable, without(SecretKind, "signer"), whole, nil},
		{"the bundle is adopted", stable, without(ConfigMapKind, "bundle"), whole, nil},
		{"a leaf is adopted", stable, without(SecretKind, "server"), whole, nil},
		{"a leaf is adopted in flight", inFlight, without(SecretKind, "server"), whole, nil},
		{"somebody's signer is edited", inFlight, without(SecretKind, "signer"), without(SecretKind, "signer"), nil},
		{"somebody's signer is deleted", inFlight, without(SecretKind, "signer"), deleted("signer"), nil},
		{"somebody's bundle is deleted", inFlight, without(ConfigMapKind, "bundle"), deleted("bundle"), nil},
		{"somebody's leaf is deleted", inFlight, without(SecretKind, "server"), deleted("server"), nil},
		{"somebody makes a leaf of the name", inFlight, deleted("server"), without(SecretKind, "server"), nil},
		{"somebody makes a bundle of the name", inFlight, deleted("bundle"), without(ConfigMapKind, "bundle"), nil},
		{"a broken signer is adopted", stable, without(SecretKind, "signer"), func(w *world) *Domain {
			d := w.clone()
			d.Signer.Problem = &Problem{Object: "Secret/signer", Reason: ReasonKeyMismatch, Message: "broken"}
			return d
		}, []Invariant{PairMatches}},
		{"a leaf is adopted with identities that a renewal would lose", identified, without(SecretKind, "server"), whole, []Invariant{ContentDecides}},
		{"a leaf is adopted with identities that its configuration names", func(t *testing.T) *world {
			w := identified(t)
			l := w.leaf("server")
			l.Policy.Profile.Identities, l.Policy.Profile.Usages = l.Certificate.Identities, l.Certificate.Usages
			return w
		}, without(SecretKind, "server"), whole, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := tt.world(t)
			var got []Invariant
			for _, v := range Judge(tt.before(w), tt.after(w), w.now) {
				got = append(got, v.Invariant)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("violations (-want +got):\n%s", diff)
			}
		})
	}
}
