// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package verifiers

import (
	"crypto/x509"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"certrotation.dev/registry/pki"
	"certrotation.dev/test/property"
)

// TestRelations compares the relations of registry/pki with the verifiers of this machine, for some PKIs.
func TestRelations(t *testing.T) { compare(t, 300, 2) }

// TestExtendedRelations does so for many, or for PKIS of the environment, with all verifiers.
func TestExtendedRelations(t *testing.T) {
	count := 20_000
	if text := os.Getenv("PKIS"); text != "" {
		var err error
		if count, err = strconv.Atoi(text); err != nil {
			t.Fatalf("PKIS=%q is no number", text)
		}
	}
	compare(t, count, 7)
}

// verdicts counts the answers to all questions.
type verdicts struct {
	accepted, refused, contradictions map[string]int
	// promised counts the questions to which the relations say that a verifier accepts, possible those to which they say
	// that some verifier may.
	promised            map[string]int
	possible, questions int
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
	sum := &verdicts{accepted: map[string]int{}, refused: map[string]int{}, contradictions: map[string]int{}, promised: map[string]int{}, reasons: map[string]int{}}
	for range count {
		p, err := m.make(m.random)
		if err != nil {
			t.Fatal(err)
		}
		for _, usage := range usagesOf(p.Leaf) {
			sum.judge(t, &question{PKI: p, dir: dir, usage: usage}, asked)
		}
	}
	for _, v := range asked {
		t.Logf("%-18s accepts %6d, refuses %6d; promised %6d, contradictions %d",
			v.Name, sum.accepted[v.Name], sum.refused[v.Name], sum.promised[v.Name], sum.contradictions[v.Name])
	}
	t.Logf("%d PKIs, %d questions: %d may be accepted; they disagree in %d", count, sum.questions, sum.possible, sum.disagreements)
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
func (s *verdicts) judge(t *testing.T, q *question, asked []*Verifier) {
	t.Helper()
	if err := q.write(); err != nil {
		t.Fatal(err)
	}
	paths, err := newPaths(q.PKI)
	if err != nil {
		t.Fatal(err)
	}
	accepted := map[string]bool{}
	all, may := paths.promised(0, time.Now()), paths.known()
	if s.questions++; may {
		s.possible++
	}
	for _, v := range asked {
		if v.lacks != nil && v.lacks(q.Issuer.PublicKeyAlgorithm) {
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
		promised := v.Of > 0 && (all || paths.promised(v.Of, time.Now()))
		if promised {
			s.promised[v.Name]++
		}
		switch {
		case promised && !ok:
			s.contradictions[v.Name]++
			t.Errorf("%q for %s: every verifier accepts: %t, and %s does not: %s", q.Shape, q.usage, all, v.Name, why)
		case !may && ok:
			s.contradictions[v.Name]++
			t.Errorf("%q for %s: no verifier accepts, and %s does", q.Shape, q.usage, v.Name)
		}
	}
	s.count(q, asked, accepted)
}

// count counts disagreements, and names them if one shape alone is behind them.
func (s *verdicts) count(q *question, asked []*Verifier, accepted map[string]bool) {
	values := slices.Collect(maps.Values(accepted))
	if !slices.Contains(values, true) || !slices.Contains(values, false) {
		return
	}
	s.disagreements++
	var who []string
	for _, v := range asked {
		if accepted[v.Name] {
			who = append(who, v.Name)
		}
	}
	if len(q.Shape) == 1 {
		s.reasons[fmt.Sprintf("%s, for %s: only %s", q.Shape[0], q.usage, strings.Join(who, ", "))]++
	}
}
