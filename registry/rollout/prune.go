// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"slices"
	"time"
)

// unlimited is the limit that keeps all revisions.
const unlimited = -1

// pruneRetry is how long a failed pruner stays for inspection.
const pruneRetry = 5 * time.Minute

// assessPrune removes unprotected revisions from the nodes, and then from the API.
func (a *assessor) assessPrune() {
	// Without nodes, the revisions that they need are unknown.
	if a.latest == nil || len(a.members) == 0 {
		return
	}
	protected, eligible := a.protected(), 0
	var gone []int
	for i := range a.state.Revisions {
		if r := &a.state.Revisions[i]; r.Number < a.latest.Number && !protected[r.Number] {
			gone, eligible = append(gone, r.Number), r.Number
		}
	}
	for i := range a.state.Pruners {
		a.deletePruner(&a.state.Pruners[i], eligible)
	}
	if len(gone) == 0 {
		return
	}
	pruned := true
	for _, m := range a.members {
		if m.Ready && !m.Deleted && !a.pruned(m, eligible, protected) {
			pruned = false
		}
	}
	// A node that is down is cleaned up by its next pruner, which removes everything unprotected.
	if !pruned {
		return
	}
	for _, number := range gone {
		a.do(Action{Kind: DeleteRevision, Revision: number, Reason: "it is neither running nor among those that are kept"})
	}
}

// pruned reports whether the node has removed everything unprotected up to eligible. If not, it starts a pruner.
func (a *assessor) pruned(m *member, eligible int, protected map[int]bool) bool {
	var mine *Pruner
	for i := range a.state.Pruners {
		if p := &a.state.Pruners[i]; p.Node == m.Name && p.Eligible == eligible {
			mine = p
		}
	}
	switch {
	case mine != nil && mine.Finished && mine.Succeeded:
		return true
	case mine != nil && mine.Finished:
		a.wait(m.Name, ReasonPrune, mine.FinishedAt, a.state.Limits.InstallerTimeout, fmt.Sprintf("%s has failed: %s", mine.Name, mine.Message))
		return false
	case mine != nil || m.active != nil:
		return false
	}
	keep := make([]int, 0, len(protected))
	for number := range protected {
		if number <= eligible {
			keep = append(keep, number)
		}
	}
	slices.Sort(keep)
	a.do(Action{Kind: PruneNode, Node: m.Name, NodeUID: m.UID, Revision: eligible, Protected: keep,
		Reason: "there are revisions that nothing needs"})
	return false
}

// deletePruner deletes a pruner that has ended, or whose node is gone.
func (a *assessor) deletePruner(p *Pruner, eligible int) {
	known := slices.ContainsFunc(a.members, func(m *member) bool { return m.Name == p.Node })
	retry := p.FinishedAt.Add(pruneRetry)
	switch {
	case p.Deleting:
	case !known, p.Finished && p.Eligible != eligible, p.Finished && !p.Succeeded && !a.now.Before(retry):
		a.do(Action{Kind: DeletePrunerPod, Node: p.Node, Revision: p.Eligible, Pod: p.Name, Reason: "it has ended"})
	case p.Finished && !p.Succeeded:
		a.out.recheck(retry)
	}
}

// protected returns the revisions to keep, by the rule of library-go. For each node it keeps, up to the limits, the
// revisions up to the running one, the one being installed and the last failed one. Until every node has the latest
// revision, it does so for that one too. Revisions named by a manifest on a node always stay: their directory is in
// use.
func (a *assessor) protected() map[int]bool {
	out := map[int]bool{}
	succeeded, failed := a.state.Limits.SucceededRevisions, a.state.Limits.FailedRevisions
	most := max(succeeded, failed)
	if succeeded == unlimited || failed == unlimited {
		most = unlimited
	}
	everywhere := true
	for _, m := range a.members {
		everywhere = everywhere && m.has(a.latest)
		keep(out, m.installedNumber(), succeeded)
		keep(out, a.current(m), succeeded)
		keep(out, m.record.TargetRevision, most)
		if m.failed != nil {
			keep(out, m.failed.Revision, failed)
		}
		for _, revision := range m.revisions {
			keep(out, revision, 1)
		}
		keep(out, m.installedNumber(), 1)
		for i := range a.state.Installers {
			if p := &a.state.Installers[i]; p.Node == m.Name && !p.Finished {
				keep(out, p.Revision, 1)
			}
		}
	}
	if everywhere {
		most = 1
	}
	keep(out, a.latest.Number, most)
	return out
}

// keep protects up to many revisions, ending with last.
func keep(protected map[int]bool, last, many int) {
	for number := last; number > 0 && (many == unlimited || number > last-many); number-- {
		protected[number] = true
	}
}
