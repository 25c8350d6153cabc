// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package holes

import (
	"slices"
	"time"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
)

// What follows are the parts of which broken rules are made. None changes its argument.

type assessing = func(d *trust.Domain, now time.Time) *trust.Assessment

// believing is the domain in which those members have loaded every CA and present what is in their Secrets.
func believing(d *trust.Domain, who func(p *trust.Party, m *trust.Member) bool) *trust.Domain {
	out := *d
	out.Parties = slices.Clone(d.Parties)
	for i := range out.Parties {
		p := &out.Parties[i]
		p.Members = slices.Clone(p.Members)
		all := true
		for k := range p.Members {
			m := &p.Members[k]
			if !who(&d.Parties[i], &d.Parties[i].Members[k]) {
				all = false
				continue
			}
			o := &trust.Observation{}
			for _, ca := range authorities(d) {
				o.Trusts = append(o.Trusts, ca.Fingerprint)
			}
			for j := range d.Leaves {
				if l := &d.Leaves[j]; slices.Contains(m.Holds, l.Name) && l.Certificate != nil {
					o.Presents = append(o.Presents, l.Certificate.Fingerprint)
				}
			}
			m.Observation = o
		}
		if all {
			p.Kind = trust.Acknowledgement
		}
	}
	return &out
}

func everybody(*trust.Party, *trust.Member) bool { return true }

func authorities(d *trust.Domain) []*pki.Certificate {
	all := slices.Concat([]*pki.Certificate{d.Signer.Next, d.Signer.Active}, d.Signer.Previous, d.Bundle.Anchors)
	return slices.DeleteFunc(all, func(ca *pki.Certificate) bool { return ca == nil })
}

// noGate moves on without evidence.
func noGate(d *trust.Domain, now time.Time) *trust.Assessment {
	return trust.Assess(believing(d, everybody), now)
}

// timer moves on without evidence some time after the new CA was made.
func timer(after time.Duration) assessing {
	return func(d *trust.Domain, now time.Time) *trust.Assessment {
		if now.Sub(newest(d).NotBefore) > after {
			return noGate(d, now)
		}
		return trust.Assess(d, now)
	}
}

// without leaves out actions of those kinds.
func without(kinds ...trust.ActionKind) assessing {
	return func(d *trust.Domain, now time.Time) *trust.Assessment {
		out := trust.Assess(d, now)
		out.Actions = slices.DeleteFunc(out.Actions, func(a trust.Action) bool { return slices.Contains(kinds, a.Kind) })
		return out
	}
}

// issueAll re-signs every leaf.
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
		Profile: l.Policy.Profile, Authority: ca.Fingerprint, Reason: "a broken rule says so",
	}
}

func bundleAction(d *trust.Domain, kind trust.ActionKind, anchors ...*pki.Certificate) trust.Action {
	return trust.Action{
		Kind: kind, ObjectKind: trust.ConfigMapKind, Object: d.Bundle.Name, ResourceVersion: d.Bundle.ResourceVersion,
		Anchors: anchors, Reason: "a broken rule says so",
	}
}

func signerAction(d *trust.Domain, kind trust.ActionKind) trust.Action {
	return trust.Action{
		Kind: kind, ObjectKind: trust.SecretKind, Object: d.Signer.Name, ResourceVersion: d.Signer.ResourceVersion,
		Profile: d.Signer.Policy.Profile, Reason: "a broken rule says so",
	}
}

// newest is the CA that a rotation leads to.
func newest(d *trust.Domain) *pki.Certificate {
	if d.Signer.Next != nil {
		return d.Signer.Next
	}
	return d.Signer.Active
}

// with is an assessment with other actions.
func with(out *trust.Assessment, actions ...trust.Action) *trust.Assessment {
	out.Actions = actions
	return out
}

// changed is the domain with its leaves copied, so that they may be changed.
func changed(d *trust.Domain, change func(d *trust.Domain)) *trust.Domain {
	out := *d
	out.Leaves = slices.Clone(d.Leaves)
	change(&out)
	return &out
}

func leafOf(d *trust.Domain, name string) *trust.Leaf {
	i := slices.IndexFunc(d.Leaves, func(l trust.Leaf) bool { return l.Name == name })
	return &d.Leaves[i]
}
