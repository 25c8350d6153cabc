// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"certrotation.dev/apis/certrotation/v1alpha1"
	"certrotation.dev/cmd/kubectl-certrotation/picture"
	"certrotation.dev/registry/trust"
)

func graphs(tree *Tree, now time.Time) []picture.Graph {
	out := make([]picture.Graph, 0, len(tree.Domains))
	for i := range tree.Domains {
		v := &graphView{domain: &tree.Domains[i], now: now, cas: map[string]string{}}
		out = append(out, v.graph())
	}
	return out
}

// graphView makes the graph of a domain: leaves, the CAs that sign them, the anchors that publish the CAs, and the
// members that trust the anchors.
type graphView struct {
	domain *Domain
	now    time.Time
	// cas are the nodes of the CAs by fingerprint.
	cas map[string]string
	// newest is the node of the CA that the evidence of members is about, "" if there is none.
	newest string
	edges  []picture.Edge
}

func (v *graphView) graph() picture.Graph {
	d := v.domain
	stage, _ := v.stage()
	cas := v.signer() // Leaves, anchors and members refer to the CAs.
	var columns []picture.Column
	for _, c := range []picture.Column{v.leaves(), cas, v.bundle(), v.members()} {
		if len(c.Nodes) > 0 {
			columns = append(columns, c)
		}
	}
	return picture.Graph{Title: oneLine(d.Namespace + "/" + d.Name), Remark: stage, Columns: columns, Edges: v.edges}
}

// stage is the stage of the domain, how long it has lasted, and whether it is overdue.
func (v *graphView) stage() (string, picture.State) {
	d := v.domain
	switch d.Stage {
	case "":
		return "stage unknown", picture.Unknown
	case v1alpha1.StageStable:
		return oneLine(string(d.Stage)), picture.Good
	default:
		return v.inFlight()
	}
}

func (v *graphView) inFlight() (string, picture.State) {
	d := v.domain
	text, state := oneLine(string(d.Stage)), picture.Warn
	if d.StageSince != nil {
		text += " for " + duration.HumanDuration(v.now.Sub(d.StageSince.Time))
	}
	if until, over := deadline(v.now, d.StageDeadline); until != "" {
		text += ", " + until
		if over {
			state = picture.Bad
		}
	}
	return text, state
}

func (v *graphView) signer() picture.Column {
	c := picture.Column{Title: oneLine("Signer " + v.domain.Signer.Name), Noun: "CAs"}
	for i := range v.domain.Signer.Slots {
		slot := &v.domain.Signer.Slots[i]
		id := fmt.Sprintf("ca%d", i)
		v.cas[slot.Certificate.Fingerprint] = id
		if v.newest == "" || slot.Slot == slotNext {
			v.newest = id
		}
		ends, state := v.expiry(&slot.Certificate)
		c.Nodes = append(c.Nodes, picture.Node{ID: id, Name: oneLine(slot.Certificate.Subject), Remark: slot.Slot + ", " + ends, State: state})
	}
	return c
}

// expiry tells when a certificate expires. One that lasts is neither good nor bad.
func (v *graphView) expiry(c *v1alpha1.Certificate) (string, picture.State) {
	ends, over := expiry(v.now, c.NotAfter)
	if over {
		return ends, picture.Bad
	}
	return ends, picture.Plain
}

func (v *graphView) bundle() picture.Column {
	if v.domain.Bundle == nil {
		return picture.Column{}
	}
	c := picture.Column{Title: oneLine("Bundle " + v.domain.Bundle.Name), Noun: "anchors"}
	newest := v.newest
	for i := range v.domain.Bundle.Anchors {
		a := &v.domain.Bundle.Anchors[i]
		id := fmt.Sprintf("anchor%d", i)
		ends, state := v.expiry(&a.Certificate)
		c.Nodes = append(c.Nodes, picture.Node{
			ID: id, Name: oneLine(a.Subject), Remark: fmt.Sprintf("%s, %s", trusted(a.Trust).text, ends), State: state,
		})
		if ca, ok := v.cas[a.Fingerprint]; ok {
			v.edges = append(v.edges, picture.Edge{From: ca, To: id, Label: "is published in", State: picture.Plain})
			if ca == newest {
				v.newest = id
			}
		}
	}
	return c
}

func (v *graphView) leaves() picture.Column {
	c := picture.Column{Title: "Leaves", Noun: "leaves"}
	for i := range v.domain.Leaves {
		l := &v.domain.Leaves[i]
		id := fmt.Sprintf("leaf%d", i)
		text, state := v.leaf(l)
		n := picture.Node{ID: id, Name: oneLine(l.Name), Remark: text, State: state}
		if l.Certificate == nil {
			c.Nodes = append(c.Nodes, n)
			continue
		}
		n.Ends = l.Certificate.NotAfter.Time
		c.Nodes = append(c.Nodes, n)
		if ca, ok := v.cas[l.Certificate.SignedBy]; ok {
			v.edges = append(v.edges, picture.Edge{From: ca, To: id, Label: "signs", State: picture.Plain})
		}
	}
	// Leaves of one CA are neighbours, so that fewer edges cross.
	slices.SortStableFunc(c.Nodes, func(a, b picture.Node) int { return cmp.Compare(v.signerOf(a.ID), v.signerOf(b.ID)) })
	return c
}

// signerOf is the node of the CA that signed a leaf.
func (v *graphView) signerOf(leaf string) string {
	for _, e := range v.edges {
		if e.To == leaf {
			return e.From
		}
	}
	return "unknown"
}

// leaf tells when a leaf expires, or what is wrong with it.
func (v *graphView) leaf(l *Leaf) (string, picture.State) {
	if l.Certificate == nil {
		return "no certificate", picture.Bad
	}
	ends, state := v.expiry(l.Certificate)
	switch {
	case state == picture.Bad:
	case l.SignedBy == "":
		return "signed by an unknown CA, " + ends, picture.Bad
	case !l.Health.Ready:
		return "not Ready, " + ends, picture.Bad
	case l.RotatesAt != nil && !l.RotatesAt.After(v.now):
		return ends + ", rotation is due", picture.Warn
	}
	return ends, state
}

func (v *graphView) members() picture.Column {
	c := picture.Column{Title: "Relying parties", Noun: "members"}
	for i := range v.domain.Parties {
		for k := range v.domain.Parties[i].Members {
			m := &v.domain.Parties[i].Members[k]
			id := fmt.Sprintf("member%d", len(c.Nodes))
			trusts := v.trusts(m)
			remark := trusts.Text + ", " + oneLine(m.Evidence)
			c.Nodes = append(c.Nodes, picture.Node{ID: id, Name: oneLine(trust.MemberName(m.Party, m.Member)), Remark: remark, State: trusts.State})
			if !m.VerifiesNothing && v.newest != "" {
				v.edges = append(v.edges, picture.Edge{From: id, To: v.newest, Label: trusts.Text, State: trusts.State})
			}
		}
	}
	return c
}

// trusts tells whether a member trusts the newest CA.
func (v *graphView) trusts(m *v1alpha1.MemberStatus) picture.Badge {
	if m.VerifiesNothing {
		return picture.Badge{Text: "verifies nothing", State: picture.Plain}
	}
	return v.evidence(m, m.Trusted, "trusts", "does not trust", "trust is unknown")
}

// evidence distinguishes unknown from false, and evidence from a waiver. At rest unknown is normal: evidence expires.
func (v *graphView) evidence(m *v1alpha1.MemberStatus, is bool, yes, no, unknown string) picture.Badge {
	switch {
	case m.Waiver != nil:
		return picture.Badge{Text: "waived", State: picture.Warn}
	case is:
		return picture.Badge{Text: yes, State: picture.Good}
	case m.Known:
		return picture.Badge{Text: no, State: picture.Bad}
	case v.domain.Stage == v1alpha1.StageStable:
		return picture.Badge{Text: unknown, State: picture.Unknown}
	}
	return picture.Badge{Text: unknown, State: picture.Warn}
}
