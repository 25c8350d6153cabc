// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLedger(t *testing.T) {
	l := newLedger()
	a, b, unknown := l.name(), l.name(), l.name()
	l.acknowledged(a)
	l.acknowledged(b)
	for _, look := range []struct {
		name         string
		before       func()
		there        []string
		acknowledged int
		lost         []string
	}{
		{name: "all are there, and one that was not acknowledged", there: []string{a, b, unknown}, acknowledged: 2},
		{name: "nothing is new", there: []string{a, b}},
		{name: "one was there and is lost", there: []string{b}, lost: []string{a}},
		{name: "it is told once", there: []string{b}},
		{name: "one is lost before the first look", before: func() { l.acknowledged(unknown) }, there: []string{b}, acknowledged: 1, lost: []string{unknown}},
	} {
		if look.before != nil {
			look.before()
		}
		there := map[string]bool{}
		for _, name := range look.there {
			there[name] = true
		}
		acknowledged, lost := l.compare(there)
		if acknowledged != look.acknowledged {
			t.Errorf("%s: %d are acknowledged, want %d", look.name, acknowledged, look.acknowledged)
		}
		if diff := cmp.Diff(look.lost, lost); diff != "" {
			t.Errorf("%s: lost (-want +got):\n%s", look.name, diff)
		}
	}
	for range kept {
		l.acknowledged(l.name())
	}
	l.known, l.fresh = append(l.known, l.fresh...), nil
	if diff := cmp.Diff([]string{b}, l.old()); diff != "" {
		t.Errorf("old (-want +got):\n%s", diff)
	}
	if len(l.known) != kept || len(l.old()) != 0 {
		t.Errorf("%d are kept", len(l.known))
	}
}
