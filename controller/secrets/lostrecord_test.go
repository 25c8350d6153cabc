// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"errors"
	"slices"
	"testing"
	"time"

	"certrotation.dev/registry/edition"
)

var settled = edition.Circumstances{Settled: true}

func (w *world) do(state *edition.GroupRotation, operations ...edition.Operation) {
	w.Helper()
	w.pass(time.Hour)
	for _, o := range operations {
		after, err := state.Do(o, settled, w.clock.Now())
		if err != nil {
			w.Fatalf("%v", err)
		}
		*state = after
	}
}

// agree fails unless the servers and clients of two reconciliations accept each other.
func (w *world) agree(what string, a, b generation) {
	w.Helper()
	for _, ca := range group {
		for _, pair := range [][2]generation{{a, b}, {b, a}} {
			if !w.trusts(pair[0][ca].bundle, pair[1][ca].server) || !w.trusts(pair[0][ca].bundle, pair[1][ca].client) {
				w.Fatalf("%s: peers of %s refuse each other", what, ca)
			}
		}
	}
}

// TestLostRecordOfAuthorities loses the record of the phase, as a move to another cluster without the status does. No
// authority is made, and leaves keep their signers. From there, a new rotation is completed or aborted.
func TestLostRecordOfAuthorities(t *testing.T) {
	for _, tt := range []struct {
		name string
		// until says where the record is lost.
		until func(r *edition.GroupRotation) bool
	}{
		{name: "prepared", until: func(r *edition.GroupRotation) bool { return r.Phase == edition.Prepared }},
		{name: "servers are being reissued", until: (*edition.GroupRotation).ReissuesServers},
		{name: "completed", until: func(r *edition.GroupRotation) bool { return r.Phase == edition.Completed }},
	} {
		for _, end := range []edition.Operation{edition.OperationComplete, edition.OperationAbort} {
			t.Run(tt.name+", then "+string(end), func(t *testing.T) {
				t.Parallel()
				w, state := newWorld(t), edition.GroupRotation{}
				w.inLockstep(&state)
				w.do(&state, edition.OperationStart)
				before := w.inLockstep(&state)
				for !tt.until(&state) {
					if state.Phase == edition.Prepared {
						w.do(&state, edition.OperationComplete)
					} else {
						state = state.Reconciled(settled, w.clock.Now())
					}
					before = w.inLockstep(&state)
				}
				names := w.names()
				state = edition.GroupRotation{}
				after := w.inLockstep(&state)
				w.agree("without the record", before, after)
				if now := w.names(); !slices.Equal(now, names) {
					t.Errorf("without the record there are %q, with it there were %q", now, names)
				}
				w.completes(&state, end)
			})
		}
	}
}

// completes runs a rotation to its end, and fails if it refuses a peer of the reconciliation before. Its first phase
// brings servers before clients.
func (w *world) completes(state *edition.GroupRotation, end edition.Operation) {
	w.Helper()
	w.do(state, edition.OperationStart)
	before := w.inLockstep(state)
	*state = state.Reconciled(settled, w.clock.Now())
	w.do(state, end)
	for state.Phase != edition.Completed {
		after := w.inLockstep(state)
		w.agree(state.PhaseText(), before, after)
		*state, before = state.Reconciled(settled, w.clock.Now()), after
	}
	w.agree("at the end", before, w.inLockstep(state))
	if len(w.names()) != 4*len(group) {
		w.Fatalf("at the end there are %q", w.names())
	}
}

// TestLostRecordOfAKey: while two editions of a key may be in use, a third one is refused, and an abort returns to the
// edition of before.
func TestLostRecordOfAKey(t *testing.T) {
	t.Parallel()
	for name, config := range keyConfigs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, state := newWorld(t), edition.GroupRotation{}
			first := w.keys(config, &state)
			w.do(&state, edition.OperationStart)
			w.keys(config, &state)
			state = edition.GroupRotation{}
			both := w.keys(config, &state)
			if len(both) != 2 || both[0] != first[0] {
				t.Fatalf("without the record there are %q, first there was %q", both, first)
			}
			w.do(&state, edition.OperationStart)
			i := w.instance(WithGroupRotation(&state, name))
			if _, err := i.Generate(w.ctx, config, InPhase(&state)); !errors.Is(err, ErrUnfinishedRotation) {
				t.Fatalf("a third edition: %v, want %v", err, ErrUnfinishedRotation)
			}
			w.do(&state, edition.OperationAbort)
			if aborted := w.keys(config, &state); !slices.Equal(aborted, both) {
				t.Errorf("after the abort there are %q, want %q", aborted, both)
			}
			for state.Phase != edition.Completed {
				state = state.KeyReconciled(settled, w.clock.Now())
			}
			if end := w.keys(config, &state); !slices.Equal(end, first) {
				t.Errorf("at the end there are %q, want %q", end, first)
			}
		})
	}
}
