// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package verifiers

import (
	"crypto/x509"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"certrotation.dev/registry/pki"
	"certrotation.dev/test/property"
)

// TestRelations compares the relations of registry/pki with the verifiers of this machine, for some PKIs.
func TestRelations(t *testing.T) { compare(t, 300, 2) }

// TestExtendedRelations does so for many, with all verifiers.
func TestExtendedRelations(t *testing.T) { compare(t, 20_000, 6) }

// verdicts counts the answers to all questions.
type verdicts struct {
	accepted, refused map[string]int
	// disagreements counts the questions to which they answer differently, reasons those of PKIs of one shape.
	disagreements int
	reasons       map[string]int
}

// compare asks about count PKIs, and fails with fewer than least verifiers.
func compare(t *testing.T, count, least int) {
	t.Helper()
	m, err := newMaker(property.Random(t), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	asked, err := Installed(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(asked) < least {
		t.Fatalf("%d verifiers are installed, and at least %d are asked for: see hack/install-packages.sh in the Makefile", len(asked), least)
	}
	sum := &verdicts{accepted: map[string]int{}, refused: map[string]int{}, reasons: map[string]int{}}
	for range count {
		p, err := m.make(m.random)
		if err != nil {
			t.Fatal(err)
		}
		for _, usage := range usagesOf(p.Leaf) {
			sum.judge(t, p, &question{dir: dir, anchor: p.Anchor, leaf: p.Leaf, usage: usage}, asked)
		}
	}
	for _, v := range asked {
		t.Logf("%-18s accepts %6d, refuses %6d", v.Name, sum.accepted[v.Name], sum.refused[v.Name])
	}
	t.Logf("%d PKIs; they disagree in %d of the questions", count, sum.disagreements)
	for _, reason := range slices.Sorted(maps.Keys(sum.reasons)) {
		t.Logf("%6d  %s", sum.reasons[reason], reason)
	}
}

// usagesOf returns the usages that a leaf is for.
func usagesOf(leaf *x509.Certificate) []pki.Usage {
	var out []pki.Usage
	for of, usage := range map[x509.ExtKeyUsage]pki.Usage{x509.ExtKeyUsageServerAuth: pki.ServerAuth, x509.ExtKeyUsageClientAuth: pki.ClientAuth} {
		if len(leaf.ExtKeyUsage) == 0 || slices.Contains(leaf.ExtKeyUsage, of) {
			out = append(out, usage)
		}
	}
	return out
}

// judge asks all verifiers one question, and finds what the relations say otherwise.
func (s *verdicts) judge(t *testing.T, p *PKI, q *question, asked []*Verifier) {
	t.Helper()
	if err := q.write(); err != nil {
		t.Fatal(err)
	}
	anchor, leaf, err := p.Parsed()
	if err != nil {
		t.Fatal(err)
	}
	accepted := map[string]bool{}
	all, may := leaf.AcceptedBy(anchor, 0), leaf.MayBeAcceptedBy(anchor)
	for _, v := range asked {
		if v.lacks != nil && v.lacks(p.Anchor.PublicKeyAlgorithm) {
			continue
		}
		ok, why, err := v.ask(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if accepted[v.Name] = ok; ok {
			s.accepted[v.Name]++
		} else {
			s.refused[v.Name]++
		}
		switch {
		case v.Of > 0 && (all || leaf.AcceptedBy(anchor, v.Of)) && !ok:
			t.Errorf("%q for %s: every verifier accepts: %t, and %s does not: %s", p.Shape, q.usage, all, v.Name, why)
		case !may && ok:
			t.Errorf("%q for %s: no verifier accepts, and %s does", p.Shape, q.usage, v.Name)
		}
	}
	values := slices.Collect(maps.Values(accepted))
	if slices.Contains(values, true) && slices.Contains(values, false) {
		s.disagreements++
		var who []string
		for _, v := range asked {
			if accepted[v.Name] {
				who = append(who, v.Name)
			}
		}
		if len(p.Shape) == 1 {
			s.reasons[fmt.Sprintf("%s, for %s: only %s", p.Shape[0], q.usage, strings.Join(who, ", "))]++
		}
	}
}
