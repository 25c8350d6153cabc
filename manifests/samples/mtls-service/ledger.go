// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"

	"github.com/google/uuid"
)

// kept is how many writes are looked for: older ones are deleted.
const kept = 500

// ledger has what a writer was told of its writes. It is of one goroutine.
type ledger struct {
	// id is of this process: another one knows nothing of its writes.
	id   string
	made int
	// fresh were acknowledged since the last look, known before.
	fresh, known []string
}

func newLedger() *ledger { return &ledger{id: uuid.NewString()} }

// name is a new one.
func (l *ledger) name() string {
	l.made++
	return fmt.Sprintf("write-%s-%d", l.id, l.made)
}

func (l *ledger) acknowledged(name string) { l.fresh = append(l.fresh, name) }

// compare takes what is there, and returns how many writes it has looked for that no look was for before, and which of all are
// lost. Those are told once.
func (l *ledger) compare(there map[string]bool) (acknowledged int, lost []string) {
	acknowledged = len(l.fresh)
	missing := func(name string) bool { return !there[name] }
	for _, name := range slices.Concat(l.known, l.fresh) {
		if missing(name) {
			lost = append(lost, name)
		}
	}
	l.known, l.fresh = slices.DeleteFunc(slices.Concat(l.known, l.fresh), missing), nil
	return acknowledged, lost
}

// old takes those that need not be there any more. Their deletion may fail, or may not be acknowledged: they are not looked for
// again.
func (l *ledger) old() []string {
	n := max(len(l.known)-kept, 0)
	old := l.known[:n]
	l.known = l.known[n:]
	return old
}
