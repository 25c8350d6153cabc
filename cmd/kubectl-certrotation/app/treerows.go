// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"certrotation.dev/apis/certrotation/v1alpha1"
	"certrotation.dev/registry/trust"
)

type treeView struct {
	now    time.Time
	glyphs glyphs
}

func (s screen) tree(tree *Tree, now time.Time) string {
	v := &treeView{now: now, glyphs: s.glyphs()}
	var out strings.Builder
	for i := range tree.Domains {
		if i > 0 {
			out.WriteByte('\n')
		}
		s.draw(&out, v.domain(&tree.Domains[i]))
	}
	return out.String()
}

func (v *treeView) domain(d *Domain) row {
	r := row{
		cells:    append([]cell{{oneLine(d.Namespace + "/" + d.Name), strong}}, v.stage(d)...),
		children: []row{v.signer(d)},
	}
	if d.Bundle != nil {
		r.children = append(r.children, v.bundle(d.Bundle))
	}
	if len(d.Leaves) > 0 {
		leaves := text("leaves")
		for i := range d.Leaves {
			leaves.children = append(leaves.children, v.leaf(&d.Leaves[i]))
		}
		r.children = append(r.children, leaves)
	}
	if len(d.Parties) > 0 {
		r.children = append(r.children, v.parties(d))
	}
	if rollout := v.rollout(d.Rollout); len(rollout.children) > 0 {
		r.children = append(r.children, rollout)
	}
	if len(d.Blockers) > 0 {
		r.children = append(r.children, blockers(d.Blockers, v.now))
	}
	return r
}

// rollout shows the conditions of a rollout. It omits Degraded conditions that are not true.
func (v *treeView) rollout(conditions []metav1.Condition) row {
	r := text("rollout")
	for i := range conditions {
		c := &conditions[i]
		is, look := c.Status == metav1.ConditionTrue, good
		switch {
		case strings.HasSuffix(c.Type, v1alpha1.ConditionDegraded) && !is:
			continue
		case strings.HasSuffix(c.Type, v1alpha1.ConditionDegraded), strings.HasSuffix(c.Type, "Available") && !is:
			look = bad
		case strings.HasSuffix(c.Type, v1alpha1.ConditionProgressing) && is:
			look = warn
		}
		r.children = append(r.children, row{cells: []cell{
			{oneLine(c.Type) + "=" + oneLine(string(c.Status)), look},
			{text: "for " + duration.HumanDuration(v.now.Sub(c.LastTransitionTime.Time))},
			{text: oneLine(cmp.Or(c.Message, c.Reason))},
		}})
	}
	return r
}

func (v *treeView) stage(d *Domain) []cell {
	if d.Stage == v1alpha1.StageStable || d.Stage == "" {
		return []cell{{string(d.Stage), good}}
	}
	name := string(d.Stage)
	if d.StageSince != nil {
		name += " for " + elapsed(v.now.Sub(d.StageSince.Time))
	}
	cells := []cell{{name, warn}}
	if until, over := deadline(v.now, d.StageDeadline); until != "" {
		cells = append(cells, cell{until, badIf(over)})
	}
	return cells
}

func (v *treeView) signer(d *Domain) row {
	r := withHealth("signer Secret/"+d.Signer.Name, d.Signer.Health)
	for i := range d.Signer.Slots {
		slot := &d.Signer.Slots[i]
		ends, over := expiry(v.now, slot.Certificate.NotAfter)
		cells := []cell{{text: slot.Slot}, {text: oneLine(slot.Certificate.Subject)}, {text: short(slot.Certificate.Fingerprint), style: faint}, {ends, badIf(over)}}
		switch slot.Slot {
		case slotActive:
			cells = append(cells, cell{text: renewal(v.now, d.Signer.RotatesAt)})
		case slotNext:
			cells = append(cells, cell{text: "being distributed"})
		case slotPrevious:
			cells = append(cells, cell{text: "kept until nothing needs it"})
		}
		r.children = append(r.children, row{cells: cells})
	}
	return r
}

func (v *treeView) bundle(b *Bundle) row {
	r := withHealth("bundle ConfigMap/"+b.Name, b.Health)
	for i := range b.Anchors {
		a := &b.Anchors[i]
		removal := cell{text: oneLine(a.Reason)}
		if a.SafeToRemove {
			removal = cell{"safe to remove", good}
		} else if removal.text == "" {
			removal.text = "not safe to remove"
		}
		r.children = append(r.children, row{cells: []cell{
			{text: oneLine(a.Slot)},
			{text: oneLine(a.Subject)},
			{short(a.Fingerprint), faint},
			{text: leavesOf(a.Leaves)},
			trusted(a.Trust),
			removal,
		}})
	}
	return r
}

func leavesOf(n int32) string {
	if n == 1 {
		return "1 leaf"
	}
	return fmt.Sprintf("%d leaves", n)
}

func (v *treeView) leaf(l *Leaf) row {
	r := row{cells: []cell{{text: oneLine(l.Name)}}}
	if l.Certificate == nil {
		r.cells = append(r.cells, cell{"no certificate", bad})
	} else {
		ends, over := expiry(v.now, l.Certificate.NotAfter)
		r.cells = append(r.cells, v.signedBy(l), cell{ends, badIf(over)}, cell{text: renewal(v.now, l.RotatesAt)}, trusted(l.Trust))
	}
	if l.Health.Message != "" {
		r.children = append(r.children, row{cells: []cell{{oneLine(l.Health.Message), bad}}})
	}
	return r
}

func (v *treeView) signedBy(l *Leaf) cell {
	switch l.SignedBy {
	case "":
		return cell{signedBy(l), bad}
	case slotActive, slotNext:
		return cell{text: signedBy(l)}
	}
	return cell{signedBy(l), warn}
}

func signedBy(l *Leaf) string {
	if l.SignedBy == "" {
		return "signed by an unknown CA"
	}
	return "signed by " + oneLine(l.SignedBy)
}

func (v *treeView) parties(d *Domain) row {
	blocking := map[[2]string]bool{}
	for i := range d.Blockers {
		blocking[[2]string{d.Blockers[i].Party, d.Blockers[i].Member}] = true
	}
	r := text("relying parties")
	for i := range d.Parties {
		party := &d.Parties[i]
		rows := text(oneLine(party.Name))
		for k := range party.Members {
			m := &party.Members[k]
			rows.children = append(rows.children, v.member(m, blocking[[2]string{m.Party, m.Member}]))
		}
		r.children = append(r.children, rows)
	}
	return r
}

func (v *treeView) member(m *v1alpha1.MemberStatus, blocks bool) row {
	name := cell{text: oneLine(m.Member)}
	if blocks {
		name.style = bad
	}
	return row{cells: []cell{
		name,
		{text: oneLine(m.Evidence)},
		v.trusts(m),
		v.shown("delivered", m.Delivered, m),
		{text: remarks(m), style: name.style},
	}}
}

func (v *treeView) trusts(m *v1alpha1.MemberStatus) cell {
	if m.VerifiesNothing {
		return cell{"trusted -", faint}
	}
	return v.shown("trusted", m.Trusted, m)
}

// shown distinguishes unknown from false, and evidence from a waiver.
func (v *treeView) shown(what string, is bool, m *v1alpha1.MemberStatus) cell {
	switch {
	case m.Waiver != nil:
		return cell{what + " waived", warn}
	case !is && !m.Known:
		return cell{what + " ?", warn}
	}
	return v.yes(what, is)
}

// remarks are the waiver of a member and what is missing.
func remarks(m *v1alpha1.MemberStatus) string {
	var out []string
	if w := m.Waiver; w != nil {
		out = append(out, fmt.Sprintf("waived until %s by %s: %s", w.Expires.UTC().Format(time.RFC3339), cmp.Or(w.WaivedBy, "an unknown user"), w.Reason))
	}
	switch {
	case m.Reason == "":
	case trust.EvidenceKind(m.Evidence).Stated():
		out = append(out, "no evidence is asked for: "+m.Reason)
	default:
		out = append(out, m.Reason)
	}
	if m.Message != "" {
		out = append(out, m.Message)
	}
	return oneLine(strings.Join(out, "; "))
}

func (v *treeView) yes(what string, is bool) cell {
	if is {
		return cell{what + " " + v.glyphs.yes, good}
	}
	return cell{what + " " + v.glyphs.no, bad}
}

func blockers(list []v1alpha1.Blocker, now time.Time) row {
	r := row{cells: []cell{{"blocked by", bad}}}
	for i := range list {
		r.children = append(r.children, row{cells: []cell{{blockerName(&list[i]), bad}, {text: oneLine(list[i].Message) + age(&list[i], now)}}})
	}
	return r
}

func withHealth(title string, h Health) row {
	r := text(oneLine(title))
	if h.Message != "" {
		r.cells = append(r.cells, cell{oneLine(h.Message), bad})
	}
	return r
}

func trusted(count v1alpha1.TrustCount) cell {
	c := cell{text: fmt.Sprintf("trusted %d/%d", count.Trusted, count.Total), style: good}
	switch {
	case count.Unknown > 0 && count.Unknown >= count.Total:
		c.text, c.style = "trusted ?", warn
	case count.Unknown > 0:
		c.text, c.style = fmt.Sprintf("%s (%d?)", c.text, count.Unknown), warn
	case count.Trusted < count.Total:
		c.style = warn
	}
	return c
}

func badIf(over bool) style {
	if over {
		return bad
	}
	return plain
}
