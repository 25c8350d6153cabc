// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package holes

import (
	"slices"
	"strings"
	"time"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
)

// The functions below are parts of broken rules. None changes its argument.

type assessing = func(d *trust.Domain, now time.Time) *trust.Assessment

// believing returns the domain with a waiver for each of those members. A rule then believes that they have loaded
// every CA and present what is in their Secrets. In reality only a person may waive a member.
func believing(d *trust.Domain, who func(p *trust.Party, m *trust.Member) bool) *trust.Domain {
	out := *d
	out.Waivers, out.Parties = slices.Clone(d.Waivers), slices.Clone(d.Parties)
	for i := range out.Parties {
		p := &out.Parties[i]
		p.Members = slices.Clone(p.Members)
		for k := range p.Members {
			if m := &p.Members[k]; who(p, m) {
				m.Observations = nil
				out.Waivers = append(out.Waivers, trust.Waiver{
					Party: p.Name, Member: m.Name, Reason: "a broken rule says so", Expires: time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC),
					RotatedFrom: trust.RotatedFrom(d),
				})
			}
		}
	}
	return &out
}

func everybody(*trust.Party, *trust.Member) bool { return true }

// asked returns the unanswered request of that kind for the signer, nil if there is none.
func asked(d *trust.Domain, kind trust.RequestKind) *trust.Request {
	answered := strings.Fields(d.Signer.Annotations[trust.AnnotationAnswered])
	for i := range d.Requests {
		if r := &d.Requests[i]; r.Kind == kind && r.Secret == d.Signer.Name && !slices.Contains(answered, r.ID) {
			return r
		}
	}
	return nil
}

// answering returns an action on the signer that answers a request.
func answering(d *trust.Domain, kind trust.ActionKind, r *trust.Request) trust.Action {
	action := signerAction(d, kind)
	action.Annotations = map[string]string{trust.AnnotationAnswered: r.ID}
	return action
}

// noGate needs no evidence.
func noGate(d *trust.Domain, now time.Time) *trust.Assessment {
	return trust.Assess(believing(d, everybody), now)
}

// timer needs no evidence from some time after the new CA was made.
func timer(after time.Duration) assessing {
	return func(d *trust.Domain, now time.Time) *trust.Assessment {
		if now.Sub(newest(d).NotBefore) > after {
			return noGate(d, now)
		}
		return trust.Assess(d, now)
	}
}

// without drops actions of those kinds.
func without(kinds ...trust.ActionKind) assessing {
	return func(d *trust.Domain, now time.Time) *trust.Assessment {
		out := trust.Assess(d, now)
		out.Actions = slices.DeleteFunc(out.Actions, func(a trust.Action) bool { return slices.Contains(kinds, a.Kind) })
		return out
	}
}

func issueAll(d *trust.Domain, ca *pki.Certificate) []trust.Action {
	out := make([]trust.Action, 0, len(d.Leaves))
	for i := range d.Leaves {
		out = append(out, issue(d, &d.Leaves[i], ca))
	}
	return out
}

func issue(d *trust.Domain, l *trust.Leaf, ca *pki.Certificate) trust.Action {
	return trust.Action{
		Kind: trust.IssueLeaf, ObjectKind: trust.SecretKind, Object: l.Name, ResourceVersion: l.ResourceVersion,
		Profile: l.Policy.Profile, Authority: ca.Fingerprint, Anchors: d.Bundle.Anchors, Reason: "a broken rule says so",
		Annotations: map[string]string{trust.AnnotationConfiguration: d.Configuration},
	}
}

func bundleAction(d *trust.Domain, kind trust.ActionKind, anchors ...*pki.Certificate) trust.Action {
	return trust.Action{
		Kind: kind, ObjectKind: trust.ConfigMapKind, Object: d.Bundle.Name, ResourceVersion: d.Bundle.ResourceVersion,
		Anchors: anchors, Reason: "a broken rule says so",
		Annotations: map[string]string{trust.AnnotationConfiguration: d.Configuration},
	}
}

func signerAction(d *trust.Domain, kind trust.ActionKind) trust.Action {
	return trust.Action{
		Kind: kind, ObjectKind: trust.SecretKind, Object: d.Signer.Name, ResourceVersion: d.Signer.ResourceVersion,
		Profile: d.Signer.Policy.Profile, Reason: "a broken rule says so",
		Annotations: map[string]string{trust.AnnotationConfiguration: d.Configuration},
	}
}

// newest is the CA to which a rotation leads.
func newest(d *trust.Domain) *pki.Certificate {
	if d.Signer.Next != nil {
		return d.Signer.Next
	}
	return d.Signer.Active
}

// with replaces the actions of an assessment.
func with(out *trust.Assessment, actions ...trust.Action) *trust.Assessment {
	out.Actions = actions
	return out
}

// changed returns a copy of the domain, whose leaves may be changed.
func changed(d *trust.Domain, change func(d *trust.Domain)) *trust.Domain {
	out := *d
	out.Leaves = slices.Clone(d.Leaves)
	change(&out)
	return &out
}

// configured reports whether the configuration names a member of the roster.
func configured(d *trust.Domain, r *trust.RosterMember) bool {
	return slices.ContainsFunc(d.Parties, func(p trust.Party) bool {
		return p.Name == r.Party && slices.ContainsFunc(p.Members, func(m trust.Member) bool { return m.Name == r.Member })
	})
}

func leafOf(d *trust.Domain, name string) *trust.Leaf {
	i := slices.IndexFunc(d.Leaves, func(l trust.Leaf) bool { return l.Name == name })
	return &d.Leaves[i]
}
