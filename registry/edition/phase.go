// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package edition

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
)

// Phase is where the rotation of credentials stands. The zero value means that they were never rotated, or that the
// record is lost.
type Phase = configv1alpha1.CredentialPhase

// Phases, in their order.
const (
	Preparing                      = configv1alpha1.PhasePreparing
	PreparingWithoutWorkersRollout = configv1alpha1.PhasePreparingWithoutWorkersRollout
	WaitingForWorkersRollout       = configv1alpha1.PhaseWaitingForWorkersRollout
	Prepared                       = configv1alpha1.PhasePrepared
	Completing                     = configv1alpha1.PhaseCompleting
	Completed                      = configv1alpha1.PhaseCompleted
)

// GroupRotation is the recorded state of the rotation of credentials. All authorities of a group share its times. A key
// of service accounts, or one of etcd's encryption, has a state of its own.
type GroupRotation configv1alpha1.CredentialRotation

// PendingWorkersRollout is a worker pool that does not have the new authorities yet.
type PendingWorkersRollout = configv1alpha1.PendingWorkersRollout

// Circumstances decide whether an operation is possible, and when a phase is over.
type Circumstances struct {
	// Settled means that the last operation on the whole was a creation or a restore that succeeded, or a
	// reconciliation.
	Settled bool
	// Leaving means that it is being deleted, migrated or restored.
	Leaving bool
	// Hibernated means that no worker runs.
	Hibernated bool
	// ManualUpdatePending means that a person has yet to update workers in place.
	ManualUpdatePending bool
	// Pools are the names of the worker pools.
	Pools []string
}

// Do returns the state after an operation that concerns the group (Operation.Concerns). A refusal names the phase and
// the way out, and wraps ErrOperation.
func (r GroupRotation) Do(o Operation, of Circumstances, now time.Time) (GroupRotation, error) {
	verb, concerned, pools := o.parse()
	if of.Hibernated && slices.ContainsFunc(concerned, needsWorkers) && verb != verbRollout {
		return r, r.refuse(o, "it is hibernated, and nothing could be rewritten; wake it up first")
	}
	switch verb {
	case verbStart, verbStartWithoutWorkers:
		return r.start(o, of, now)
	case verbRollout:
		return r.rollOut(pools, of)
	case verbComplete:
		if r.Phase != Prepared {
			return r, r.refuse(o, "wait until it is "+string(Prepared))
		}
		r.Phase, r.LastCompletionTriggeredTime = Completing, timeOf(now)
		return r, nil
	case verbAbort:
		return r.abort(o, now)
	case unknownVerb:
	}
	return r, fmt.Errorf("%w: %.64q is unknown", ErrOperation, o)
}

func (r *GroupRotation) refuse(o Operation, way string) error {
	return fmt.Errorf("%w: %.64s in the phase %s: %s", ErrOperation, o, r.PhaseText(), way)
}

// PhaseText returns the phase for people to read.
func (r *GroupRotation) PhaseText() string {
	if r.Phase == "" {
		return "never rotated"
	}
	return string(r.Phase)
}

func (r GroupRotation) start(o Operation, of Circumstances, now time.Time) (GroupRotation, error) {
	switch {
	case r.Phase != "" && r.Phase != Completed:
		return r, r.refuse(o, "complete that rotation first, or abort it")
	case of.Leaving:
		return r, r.refuse(o, "it is being deleted, migrated or restored; wait for the end of that")
	case !of.Settled:
		return r, r.refuse(o, "it was never reconciled, or its creation has failed; wait until it is reconciled")
	case of.ManualUpdatePending:
		return r, r.refuse(o, "workers have yet to be updated in place; update them first")
	}
	r.FormerInitiationTime, r.LastInitiationTime = r.LastInitiationTime, timeOf(now)
	r.LastInitiationFinishedTime, r.LastCompletionTriggeredTime, r.PendingWorkersRollouts = nil, nil, nil
	r.ServersReissued, r.KeyKnown = false, false
	r.Phase = Preparing
	if verb, _, _ := o.parse(); verb == verbStartWithoutWorkers {
		r.Phase = PreparingWithoutWorkersRollout
		for _, pool := range of.Pools {
			r.PendingWorkersRollouts = append(r.PendingWorkersRollouts, PendingWorkersRollout{Name: pool, LastInitiationTime: r.FormerInitiationTime})
		}
	}
	return r, nil
}

func (r GroupRotation) rollOut(pools []string, of Circumstances) (GroupRotation, error) {
	refuse := func(way string) error { return r.refuse(rolloutWorkers, way) }
	if r.Phase != WaitingForWorkersRollout {
		return r, refuse("wait until it is " + string(WaitingForWorkersRollout))
	}
	if len(pools) > maxPoolsOfOperation {
		return r, refuse(fmt.Sprintf("name at most %d pools", maxPoolsOfOperation))
	}
	named := map[string]bool{}
	for _, pool := range pools {
		switch {
		case pool == everyPool && len(pools) == 1:
		case pool == everyPool:
			return r, refuse("name the pools, or * alone")
		case named[pool]:
			return r, refuse(fmt.Sprintf("name the pool %.64q once", pool))
		case len(pool) > maxPool || !slices.Contains(of.Pools, pool):
			return r, refuse(fmt.Sprintf("there is no pool %.64q", pool))
		}
		named[pool] = true
	}
	r.PendingWorkersRollouts = slices.DeleteFunc(slices.Clone(r.PendingWorkersRollouts), func(p PendingWorkersRollout) bool {
		return named[p.Name] || named[everyPool]
	})
	return r, nil
}

// abort completes towards the former authorities: they are the current ones again, and sign all leaves, before the new
// ones are dropped.
func (r GroupRotation) abort(o Operation, now time.Time) (GroupRotation, error) {
	switch r.Phase {
	case Preparing, PreparingWithoutWorkersRollout, WaitingForWorkersRollout, Prepared:
	case Completing, Completed, "":
		return r, r.refuse(o, "only what is not completed yet can be aborted; rotate again instead")
	default:
		return r, r.refuse(o, "the phase is unknown")
	}
	r.LastInitiationTime, r.FormerInitiationTime = r.FormerInitiationTime, nil
	r.Phase, r.PendingWorkersRollouts, r.LastCompletionTriggeredTime = Completing, nil, timeOf(now)
	return r, nil
}

// Reconciled returns the state after a reconciliation in which everything of the phase was delivered.
func (r GroupRotation) Reconciled(of Circumstances, now time.Time) GroupRotation {
	switch r.Phase {
	case Preparing:
		if !of.ManualUpdatePending {
			return r.prepared(now)
		}
	case PreparingWithoutWorkersRollout:
		r.Phase = WaitingForWorkersRollout
	case WaitingForWorkersRollout:
		r.PendingWorkersRollouts = slices.DeleteFunc(slices.Clone(r.PendingWorkersRollouts), func(p PendingWorkersRollout) bool {
			return of.Hibernated || !slices.Contains(of.Pools, p.Name)
		})
		if len(r.PendingWorkersRollouts) == 0 && !of.ManualUpdatePending {
			return r.prepared(now)
		}
	case Completing:
		if !r.ServersReissued {
			r.ServersReissued = true
			return r
		}
		r.Phase, r.LastCompletionTime, r.ServersReissued, r.KeyKnown = Completed, timeOf(now), false, false
		r.LastInitiationFinishedTime, r.LastCompletionTriggeredTime, r.FormerInitiationTime = nil, nil, nil
	case Prepared, Completed:
	}
	return r
}

// KeyReconciled is Reconciled for a key, which is prepared in two steps: every replica accepts it, then every replica
// uses it.
func (r GroupRotation) KeyReconciled(of Circumstances, now time.Time) GroupRotation {
	if r.Prepares() && !r.KeyKnown {
		r.KeyKnown = true
		return r
	}
	return r.Reconciled(of, now)
}

func (r GroupRotation) prepared(now time.Time) GroupRotation {
	r.Phase, r.LastInitiationFinishedTime, r.PendingWorkersRollouts = Prepared, timeOf(now), nil
	return r
}

// Prepares reports whether the current generation is not in use everywhere yet.
func (r *GroupRotation) Prepares() bool {
	return r.Phase == Preparing || r.Phase == PreparingWithoutWorkersRollout || r.Phase == WaitingForWorkersRollout
}

// ReissuesServers reports whether the current authority signs servers.
func (r *GroupRotation) ReissuesServers() bool { return r.Phase == Completing || r.Phase == Completed }

// DropsFormer reports whether bundles have the current authorities only.
func (r *GroupRotation) DropsFormer() bool {
	return r.Phase == Completing && r.ServersReissued || r.Phase == Completed
}

func timeOf(t time.Time) *metav1.Time {
	out := metav1.NewTime(t.UTC().Truncate(time.Second))
	return &out
}
