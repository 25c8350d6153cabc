// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package edition

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/test/property"
)

var (
	phaseBegin = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	twoPools   = Circumstances{Settled: true, Pools: []string{"a", "b"}}
)

// TestPhases: each way through the phases, by operations and successful reconciliations ("ok").
func TestPhases(t *testing.T) {
	const ok = "ok"
	for _, tt := range []struct {
		name string
		of   Circumstances
		// steps alternate with the phases that they lead to.
		steps []string
	}{
		{name: "with the workers", of: twoPools, steps: []string{
			"rotate-ca-start", "Preparing", ok, "Prepared", ok, "Prepared", "rotate-ca-complete", "Completing", ok, "Completing", ok, "Completed", ok, "Completed",
			"rotate-credentials-start", "Preparing", ok, "Prepared", "rotate-credentials-complete", "Completing",
		}},
		{name: "without the workers", of: twoPools, steps: []string{
			"rotate-ca-start-without-workers-rollout", "PreparingWithoutWorkersRollout", ok, "WaitingForWorkersRollout", ok, "WaitingForWorkersRollout",
			"rotate-rollout-workers=b", "WaitingForWorkersRollout", ok, "WaitingForWorkersRollout", "rotate-rollout-workers=a", "WaitingForWorkersRollout",
			ok, "Prepared", "rotate-ca-complete", "Completing",
		}},
		{name: "all workers at once", of: twoPools, steps: []string{
			"rotate-credentials-start-without-workers-rollout", "PreparingWithoutWorkersRollout", ok, "WaitingForWorkersRollout",
			"rotate-rollout-workers=*", "WaitingForWorkersRollout", ok, "Prepared",
		}},
		{name: "hibernated", of: Circumstances{Settled: true, Hibernated: true, Pools: []string{"a"}}, steps: []string{
			"rotate-ca-start-without-workers-rollout", "PreparingWithoutWorkersRollout", ok, "WaitingForWorkersRollout", ok, "Prepared",
		}},
		{name: "aborted at once", of: twoPools, steps: []string{
			"rotate-ca-start", "Preparing", "rotate-ca-abort", "Completing", ok, "Completing", ok, "Completed", "rotate-ca-start", "Preparing",
		}},
		{name: "aborted when prepared", of: twoPools, steps: []string{
			"rotate-ca-start", "Preparing", ok, "Prepared", "rotate-ca-abort", "Completing", ok, "Completing", ok, "Completed",
		}},
		{name: "aborted while workers are waited for", of: twoPools, steps: []string{
			"rotate-ca-start-without-workers-rollout", "PreparingWithoutWorkersRollout", ok, "WaitingForWorkersRollout", "rotate-ca-abort", "Completing",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, now := GroupRotation{}, phaseBegin
			for i := 0; i < len(tt.steps); i += 2 {
				now = now.Add(time.Minute)
				if tt.steps[i] == ok {
					r = r.Reconciled(tt.of, now)
				} else {
					var err error
					if r, err = r.Do(Operation(tt.steps[i]), tt.of, now); err != nil {
						t.Fatalf("step %d: %v", i/2, err)
					}
				}
				if string(r.Phase) != tt.steps[i+1] {
					t.Fatalf("step %d, %s, leads to %s, want %s", i/2, tt.steps[i], r.Phase, tt.steps[i+1])
				}
			}
		})
	}
}

// TestReconciledWaits: workers that a person updates, and pools that are left, hold a phase.
func TestReconciledWaits(t *testing.T) {
	pending := []PendingWorkersRollout{{Name: "a"}, {Name: "b"}}
	for _, tt := range []struct {
		name    string
		state   GroupRotation
		of      Circumstances
		want    Phase
		pending []string
	}{
		{name: "prepared", state: GroupRotation{Phase: Preparing}, of: twoPools, want: Prepared},
		{name: "prepared, and workers are updated in place", state: GroupRotation{Phase: Preparing}, of: Circumstances{ManualUpdatePending: true}, want: Preparing},
		{name: "no pool is left", state: GroupRotation{Phase: WaitingForWorkersRollout}, of: twoPools, want: Prepared},
		{
			name: "no pool is left, and workers are updated in place", state: GroupRotation{Phase: WaitingForWorkersRollout},
			of: Circumstances{ManualUpdatePending: true}, want: WaitingForWorkersRollout,
		},
		{
			name: "a pool is deleted", state: GroupRotation{Phase: WaitingForWorkersRollout, PendingWorkersRollouts: pending},
			of: Circumstances{Pools: []string{"b"}}, want: WaitingForWorkersRollout, pending: []string{"b"},
		},
		{
			name: "all pools are deleted", state: GroupRotation{Phase: WaitingForWorkersRollout, PendingWorkersRollouts: pending},
			of: Circumstances{Pools: []string{"c"}}, want: Prepared,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			after := tt.state.Reconciled(tt.of, phaseBegin)
			var left []string
			for _, pool := range after.PendingWorkersRollouts {
				left = append(left, pool.Name)
			}
			if after.Phase != tt.want || !slices.Equal(left, tt.pending) {
				t.Errorf("it is %s and waits for %q, want %s and %q", after.Phase, left, tt.want, tt.pending)
			}
		})
	}
}

// TestPhaseTimes: times are recorded once, for all authorities of the group, and an abort brings the former ones back.
func TestPhaseTimes(t *testing.T) {
	at := func(minutes int) time.Time { return phaseBegin.Add(time.Duration(minutes) * time.Minute) }
	r := GroupRotation{}
	do := func(o Operation, minutes int) {
		t.Helper()
		var err error
		if r, err = r.Do(o, twoPools, at(minutes)); err != nil {
			t.Fatal(err)
		}
	}
	has := func(what string, got *metav1.Time, want time.Time) {
		t.Helper()
		if got == nil != want.IsZero() || got != nil && !got.Time.Equal(want) {
			t.Errorf("in the phase %s, %s is %v, want %v", r.Phase, what, got, want)
		}
	}
	do(OperationStart, 1)
	has("initiation", r.LastInitiationTime, at(1))
	r = r.Reconciled(twoPools, at(2))
	has("end of the first phase", r.LastInitiationFinishedTime, at(2))
	do(OperationComplete, 3)
	has("completion triggered", r.LastCompletionTriggeredTime, at(3))
	if !r.ReissuesServers() || r.DropsFormer() {
		t.Error("servers are not reissued before the former authorities are dropped")
	}
	r = r.Reconciled(twoPools, at(4))
	if !r.DropsFormer() {
		t.Error("the former authorities are not dropped when servers are reissued")
	}
	r = r.Reconciled(twoPools, at(5))
	has("completion", r.LastCompletionTime, at(5))
	has("end of the first phase", r.LastInitiationFinishedTime, time.Time{})
	has("completion triggered", r.LastCompletionTriggeredTime, time.Time{})
	do(OperationStart, 6)
	has("initiation", r.LastInitiationTime, at(6))
	has("completion", r.LastCompletionTime, at(5))
	do(OperationAbort, 7)
	has("initiation", r.LastInitiationTime, at(1))
	if !r.ReissuesServers() || r.DropsFormer() {
		t.Error("an abort drops the new authorities before the leaves are those of the former ones")
	}
	var again GroupRotation
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &again); err != nil {
		t.Fatal(err)
	}
	r = again
	has("initiation", r.LastInitiationTime, at(1))
}

// TestOperationsRefused: each refusal names the phase and the way out, and changes nothing.
func TestOperationsRefused(t *testing.T) {
	for _, tt := range []struct {
		name      string
		phase     Phase
		operation Operation
		of        func(c *Circumstances)
		want      string
	}{
		{name: "a second start", phase: Preparing, operation: OperationStart, want: "in the phase Preparing: complete that rotation first"},
		{name: "a start while completing", phase: Completing, operation: OperationStartAll, want: "in the phase Completing: complete that rotation first"},
		{name: "a start before the first success", operation: OperationStart, of: func(c *Circumstances) { c.Settled = false }, want: "never rotated: it was never reconciled"},
		{name: "a start of what is deleted", operation: OperationStart, of: func(c *Circumstances) { c.Leaving = true }, want: "deleted, migrated or restored"},
		{name: "a start with updates in place", phase: Completed, operation: OperationStart, of: func(c *Circumstances) { c.ManualUpdatePending = true }, want: "updated in place"},
		{name: "a completion too early", phase: Preparing, operation: OperationComplete, want: "in the phase Preparing: wait until it is Prepared"},
		{name: "a completion of nothing", operation: OperationCompleteAll, want: "never rotated: wait until it is Prepared"},
		{name: "workers too early", phase: PreparingWithoutWorkersRollout, operation: "rotate-rollout-workers=a", want: "wait until it is WaitingForWorkersRollout"},
		{name: "no pool", phase: WaitingForWorkersRollout, operation: "rotate-rollout-workers=", want: `there is no pool ""`},
		{name: "an unknown pool", phase: WaitingForWorkersRollout, operation: "rotate-rollout-workers=a,c", want: `there is no pool "c"`},
		{name: "a pool twice", phase: WaitingForWorkersRollout, operation: "rotate-rollout-workers=a,a", want: `name the pool "a" once`},
		{name: "all pools and one", phase: WaitingForWorkersRollout, operation: "rotate-rollout-workers=*,a", want: "or * alone"},
		{name: "an abort of nothing", operation: OperationAbort, want: "never rotated: only what is not completed yet"},
		{name: "an abort too late", phase: Completing, operation: OperationAbort, want: "in the phase Completing: only what is not completed yet"},
		{name: "an unknown one", operation: "rotate-everything", want: "is unknown"},
		{name: "all credentials while hibernated", operation: OperationStartAll, of: func(c *Circumstances) { c.Hibernated = true }, want: "wake it up first"},
		{name: "a key while hibernated", phase: Prepared, operation: "rotate-etcd-encryption-key-complete", of: func(c *Circumstances) { c.Hibernated = true },
			want: "in the phase Prepared: it is hibernated"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			of := twoPools
			if tt.of != nil {
				tt.of(&of)
			}
			before := GroupRotation{Phase: tt.phase, PendingWorkersRollouts: []PendingWorkersRollout{{Name: "a"}, {Name: "b"}}}
			after, err := before.Do(tt.operation, of, phaseBegin)
			if !errors.Is(err, ErrOperation) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			if after.Phase != tt.phase || len(after.PendingWorkersRollouts) != 2 || after.LastInitiationTime != nil {
				t.Errorf("it has changed the state: %+v", after)
			}
		})
	}
}

func TestParseOperations(t *testing.T) {
	for _, tt := range []struct {
		text string
		want []Operation
		// refused is a part of the error.
		refused string
	}{
		{text: "rotate-ca-start", want: []Operation{OperationStart}},
		{text: "rotate-ca-complete; rotate-rollout-workers=a,b", want: []Operation{OperationComplete, "rotate-rollout-workers=a,b"}},
		{text: "rotate-ca-start;rotate-serviceaccount-key-start; rotate-etcd-encryption-key-start",
			want: []Operation{OperationStart, "rotate-serviceaccount-key-start", "rotate-etcd-encryption-key-start"}},
		{text: "rotate-serviceaccount-key-start-without-workers-rollout", want: []Operation{"rotate-serviceaccount-key-start-without-workers-rollout"}},
		{text: "rotate-etcd-encryption-key-start-without-workers-rollout", refused: "is unknown"},
		{text: "rotate-etcd-encryption-key-complete;rotate-credentials-complete", refused: "exclude each other"},
		{text: "rotate-ssh-key-start", refused: "is unknown"},
		{text: "", refused: `"" is unknown`},
		{text: "reconcile", refused: `"reconcile" is unknown`},
		{text: "rotate-ca-start;rotate-ca-start", refused: "given twice"},
		{text: "rotate-ca-start;rotate-ca-start-without-workers-rollout", refused: "exclude each other"},
		{text: "rotate-ca-start;rotate-credentials-start-without-workers-rollout", refused: "exclude each other"},
		{text: "rotate-ca-start;rotate-ca-complete", refused: "exclude each other"},
		{text: "rotate-ca-abort;rotate-ca-complete", refused: "exclude each other"},
		{text: strings.Repeat(";", 100), refused: "more than 16"},
	} {
		got, err := ParseOperations(tt.text)
		if !slices.Equal(got, tt.want) {
			t.Errorf("%q: got %q, want %q", tt.text, got, tt.want)
		}
		if tt.refused != "" && (!errors.Is(err, ErrOperation) || !strings.Contains(err.Error(), tt.refused)) || tt.refused == "" && err != nil {
			t.Errorf("%q: got %v, want %q", tt.text, err, tt.refused)
		}
	}
}

// TestPhasesByChance: by any sequence of operations and reconciliations, both generations are kept until the servers
// are reissued, and there is always a next step.
func TestPhasesByChance(t *testing.T) {
	property.Check(t, func(t *rapid.T) {
		operations := []Operation{
			OperationStart, OperationStartWithoutWorkersRollout, OperationComplete, OperationAbort, "rotate-rollout-workers=a", "rotate-rollout-workers=*",
		}
		r, now := GroupRotation{}, phaseBegin
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			now = now.Add(time.Minute)
			before := r
			if rapid.Bool().Draw(t, "reconciled") {
				r = r.Reconciled(twoPools, now)
			} else if next, err := r.Do(rapid.SampledFrom(operations).Draw(t, "operation"), twoPools, now); err == nil {
				r = next
			}
			if r.DropsFormer() && !before.ReissuesServers() {
				t.Fatalf("from %+v to %+v: the former authorities are dropped before the servers are reissued", before, r)
			}
		}
		for range 5 {
			if r.Phase == Completed || r.Phase == "" {
				return
			}
			now = now.Add(time.Minute)
			r = r.Reconciled(twoPools, now)
			for _, o := range []Operation{"rotate-rollout-workers=*", OperationComplete} {
				if next, err := r.Do(o, twoPools, now); err == nil {
					r = next
				}
			}
		}
		if r = r.Reconciled(twoPools, now); r.Phase != Completed {
			t.Fatalf("it does not end: %+v", r)
		}
	})
}
