// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
)

// names numbers the certificates in the order in which a walk over the state meets them. States that differ only in
// keys have equal text.
type names map[pki.Fingerprint]int

func (n names) of(f pki.Fingerprint) int {
	if _, ok := n[f]; !ok {
		n[f] = len(n) + 1
	}
	return n[f]
}

func (n names) ofAll(certs ...*pki.Certificate) string {
	var b strings.Builder
	for _, c := range certs {
		if c == nil {
			b.WriteString("- ")
			continue
		}
		fmt.Fprintf(&b, "%d ", n.of(c.Fingerprint))
	}
	return b.String()
}

// hash identifies what matters of a state, without names and times. Members with the same role are interchangeable.
func (w *world) hash() [sha256.Size]byte {
	var b strings.Builder
	for _, d := range w.domains().Domains {
		n, subjects := names{}, map[string]int{}
		s := &d.Signer
		fmt.Fprintf(&b, "%s|%s|%s|%s|", n.ofAll(s.Active), n.ofAll(s.Next), n.ofAll(s.Previous...), n.ofAll(d.Bundle.Anchors...))
		for _, ca := range slices.Concat([]*pki.Certificate{s.Active, s.Next}, s.Previous, d.Bundle.Anchors) {
			if ca != nil {
				subjects[ca.SubjectHash] = n.of(ca.Fingerprint)
			}
		}
		fmt.Fprint(&b, requestOf(d, trust.RequestRotate) != nil, len(d.Requests), rosterText(d.Roster), s.Present, d.Bundle.Present, "\n")
		var processes []string
		for _, p := range w.processes {
			processes = append(processes, w.describe(d, p, n, subjects))
		}
		slices.Sort(processes)
		b.WriteString(strings.Join(processes, "\n"))
		fmt.Fprint(&b, w.wrong, w.ahead, w.returned)
		fmt.Fprint(&b, w.lastChange())
	}
	return sha256.Sum256([]byte(b.String()))
}

// describe returns a process, its leaves and what is known of it as text. A leaf counts by its signer, and by
// whether it is the one in the Secret.
func (w *world) describe(d *trust.Domain, p *process, n names, subjects map[string]int) string {
	var b strings.Builder
	role, _, _ := strings.Cut(p.member, "-")
	fmt.Fprintf(&b, "%s %t %s|", role, p.up, n.ofAll(poolOf(p, d.Name)...))
	leaf := func(c *pki.Certificate, l *trust.Leaf) string {
		if c == nil {
			return "none"
		}
		by := 0
		for _, ca := range slices.Concat([]*pki.Certificate{d.Signer.Active, d.Signer.Next}, d.Signer.Previous, d.Bundle.Anchors) {
			if ca != nil && c.SignedBy(ca) {
				by = n.of(ca.Fingerprint)
				break
			}
		}
		return fmt.Sprint(by, l.Certificate.Equal(c))
	}
	for _, name := range p.held(d.Name) {
		l := leafOf(d, name)
		if l == nil {
			continue
		}
		fmt.Fprintf(&b, "%s %s %s|", leaf(l.Certificate, l), leaf(p.leaves[name], l), n.ofAll(l.Anchors...))
	}
	for _, m := range p.memberships() {
		if m.domain == d.Name {
			w.describeEvidence(&b, d, p, m, n, subjects)
		}
	}
	return b.String()
}

func (w *world) describeEvidence(b *strings.Builder, d *trust.Domain, p *process, m membership, n names, subjects map[string]int) {
	for _, o := range w.recorded(m) {
		var trusts []int
		for _, f := range o.Trusts {
			trusts = append(trusts, n.known(f))
		}
		for _, s := range o.TrustedSubjects {
			trusts = append(trusts, subjects[s])
		}
		slices.Sort(trusts)
		fmt.Fprint(b, trusts, o.Failure != "")
		for _, name := range p.held(d.Name) {
			l := leafOf(d, name)
			current := l != nil && l.Certificate != nil && slices.Contains(o.Presents, l.Certificate.Fingerprint)
			presented := p.leaves[name] != nil && slices.Contains(o.Presents, p.leaves[name].Fingerprint)
			fmt.Fprint(b, current, presented)
		}
	}
}

// rosterText returns the members of the roster as text, without the record's version.
func rosterText(r *trust.Roster) string {
	if r == nil {
		return "nobody is recorded"
	}
	var b strings.Builder
	fmt.Fprint(&b, r.Issued)
	for i := range r.Members {
		m := &r.Members[i]
		fmt.Fprint(&b, m.Party, m.Member, m.Kind, m.Verifies, m.Presents, m.Started, m.Absent)
	}
	return b.String()
}

func poolOf(p *process, domain string) []*pki.Certificate {
	if p.pools[domain] == nil {
		return nil
	}
	return p.pools[domain].anchors
}

// known is the number of a certificate that was met before, 0 for any other.
func (n names) known(f pki.Fingerprint) int { return n[f] }

// lastChange names what a cache that is one state behind does not show.
func (w *world) lastChange() string {
	states := w.api.states
	if len(states) < 2 {
		return ""
	}
	was, is := states[len(states)-2], states[len(states)-1]
	var changed []string
	for name, s := range is.Secrets {
		if was.Secrets[name] != s {
			changed = append(changed, "Secret/"+name)
		}
	}
	for name, cm := range is.ConfigMaps {
		if was.ConfigMaps[name] != cm {
			changed = append(changed, "ConfigMap/"+name)
		}
	}
	for name, r := range is.Records {
		if was.Records[name] != r {
			changed = append(changed, "RotationRecord/"+name)
		}
	}
	slices.Sort(changed)
	return strings.Join(changed, " ")
}
