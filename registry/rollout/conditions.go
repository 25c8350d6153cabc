// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Types of conditions, named as in library-go.
const (
	StaticPodsAvailable                = "StaticPodsAvailable"
	NodeInstallerProgressing           = "NodeInstallerProgressing"
	NodeInstallerDegraded              = "NodeInstallerDegraded"
	NodeControllerDegraded             = "NodeControllerDegraded"
	RevisionControllerDegraded         = "RevisionControllerDegraded"
	InstallerControllerDegraded        = "InstallerControllerDegraded"
	InstallerPodPendingDegraded        = "InstallerPodPendingDegraded"
	InstallerPodContainerWaiting       = "InstallerPodContainerWaitingDegraded"
	StaticPodsDegraded                 = "StaticPodsDegraded"
	MissingStaticPodControllerDegraded = "MissingStaticPodControllerDegraded"
	PruneControllerDegraded            = "PruneControllerDegraded"
	BackingResourceControllerDegraded  = "BackingResourceControllerDegraded"

	degradedSuffix = "Degraded"
)

// Default reasons of conditions.
const (
	reasonAsExpected = "AsExpected"
	reasonError      = "Error"
)

// Names of the controllers whose failures conditions show.
const (
	NodeController            = "NodeController"
	RevisionController        = "RevisionController"
	InstallerController       = "InstallerController"
	PruneController           = "PruneController"
	BackingResourceController = "BackingResourceController"
)

func (a *assessor) conditions(status *Status) []Condition {
	out := []Condition{
		a.available(status), a.progressing(), a.installersFailed(), a.nodesReady(), a.revisions(), a.resources(),
		a.installersPending(), a.installersWaiting(), a.staticPods(),
		a.overdue(MissingStaticPodControllerDegraded, "MissingStaticPod", ReasonMissingStaticPod),
		a.pruning(), a.failure(BackingResourceControllerDegraded, BackingResourceController),
	}
	for i := range out {
		c := &out[i]
		c.Message, c.LastTransitionTime = cut(stable(c.Message)), a.now.UTC()
		if before := a.state.Record.Condition(c.Type); before != nil && before.Status == c.Status {
			c.LastTransitionTime = before.LastTransitionTime
		}
	}
	slices.SortFunc(out, func(x, y Condition) int { return cmp.Compare(x.Type, y.Type) })
	return out
}

// degraded returns a condition that is true if there are messages.
func degraded(conditionType, reason string, messages []string) Condition {
	if len(messages) == 0 {
		return Condition{Type: conditionType, Reason: reasonAsExpected}
	}
	return Condition{Type: conditionType, Status: true, Reason: reason, Message: strings.Join(messages, "; ")}
}

func (a *assessor) available(status *Status) Condition {
	active := 0
	for _, m := range a.members {
		if m.Pod != nil && m.Pod.Ready {
			active++
		}
	}
	c := Condition{Type: StaticPodsAvailable, Status: active > 0, Reason: reasonAsExpected,
		Message: strings.Join(append([]string{nodes(active, "active")}, atRevisions(status)...), "; ")}
	if active == 0 {
		c.Reason = "ZeroNodesActive"
	}
	return c
}

func nodes(n int, are string) string {
	if n == 1 {
		return "1 node is " + are
	}
	return fmt.Sprintf("%d nodes are %s", n, are)
}

// atRevisions counts the nodes at each revision, and adds a text if no node has the latest one.
func atRevisions(status *Status) []string {
	counts := map[int]int{}
	for i := range status.Nodes {
		counts[status.Nodes[i].CurrentRevision]++
	}
	var out []string
	for _, revision := range slices.Sorted(maps.Keys(counts)) {
		out = append(out, nodes(counts[revision], fmt.Sprintf("at revision %d", revision)))
	}
	if latest := status.LatestAvailableRevision; counts[latest] == 0 && latest > 0 {
		out = append(out, fmt.Sprintf("0 nodes have achieved new revision %d", latest))
	}
	return out
}

func (a *assessor) progressing() Condition {
	c := Condition{Type: NodeInstallerProgressing, Reason: "AllNodesAtLatestRevision"}
	var behind []string
	for _, m := range a.members {
		if a.latest != nil && !m.has(a.latest) {
			behind = append(behind, m.Name)
		}
	}
	if a.latest != nil {
		c.Message = fmt.Sprintf("%s; %d of them do not have revision %d yet", nodes(len(a.members), "selected"), len(behind), a.latest.Number)
	}
	if len(behind) > 0 {
		c.Status, c.Reason = true, "NodesBehind"
		c.Message += ": " + strings.Join(behind, ", ")
	}
	return c
}

func (a *assessor) installersFailed() Condition {
	var messages []string
	for _, m := range a.members {
		if m.failed != nil {
			messages = append(messages, fmt.Sprintf("node %s, revision %d, attempt %d: %s", m.Name, m.failed.Revision, m.failed.Count, m.failed.Message))
		}
	}
	return degraded(NodeInstallerDegraded, EventInstallerPodFailed, messages)
}

func (a *assessor) nodesReady() Condition {
	c := Condition{Type: NodeControllerDegraded, Reason: "MasterNodesReady", Message: "All selected nodes are ready"}
	var messages []string
	for _, m := range a.members {
		if !m.Ready {
			messages = append(messages, fmt.Sprintf("node %s is not ready: %s", m.Name, m.NotReady))
		}
	}
	if failure := a.state.Failures[NodeController]; failure != "" {
		messages = append(messages, failure)
	}
	if len(messages) > 0 {
		c.Status, c.Message = true, strings.Join(messages, "; ")
	}
	return c
}

func (a *assessor) revisions() Condition {
	var messages []string
	if failure := a.state.Failures[RevisionController]; failure != "" {
		messages = append(messages, failure)
	}
	for i := range a.blockers {
		b := &a.blockers[i]
		held := b.Reason == ReasonSourceChanging || b.Reason == ReasonQuorum && b.Node == ""
		if b.Reason == ReasonClass || b.Reason == ReasonSource || held && b.Overdue {
			messages = append(messages, b.Message)
		}
	}
	return degraded(RevisionControllerDegraded, reasonError, messages)
}

func (a *assessor) resources() Condition {
	var messages []string
	if failure := a.state.Failures[InstallerController]; failure != "" {
		messages = append(messages, failure)
	}
	for i := range a.blockers {
		if b := &a.blockers[i]; b.Reason == ReasonResourcesMissing && (b.Node == "" || b.Overdue) {
			messages = append(messages, b.Text(a.state.Name))
		}
	}
	return degraded(InstallerControllerDegraded, reasonError, messages)
}

func (a *assessor) installersPending() Condition {
	return a.late(InstallerPodPendingDegraded, "PodPending", func(p *Installer) bool { return !p.Started && p.Waiting == "" })
}

func (a *assessor) installersWaiting() Condition {
	return a.late(InstallerPodContainerWaiting, "ContainerWaiting", func(p *Installer) bool { return p.Waiting != "" })
}

// late is true for installers that have not ended in time.
func (a *assessor) late(conditionType, reason string, is func(*Installer) bool) Condition {
	var messages []string
	for _, m := range a.members {
		if p := m.active; p != nil && is(p) && !a.now.Before(p.Created.Add(a.state.Limits.InstallerTimeout)) {
			messages = append(messages, fmt.Sprintf("%s on node %s: %s", p.Name, m.Name, pending(m)))
		}
	}
	return degraded(conditionType, reason, messages)
}

// patienceWithContainers is how long the containers of a static pod may fail before the condition shows it.
const patienceWithContainers = 30 * time.Second

func (a *assessor) staticPods() Condition {
	var messages []string
	for _, m := range a.members {
		if m.Pod == nil || m.Pod.Ready || m.Pod.Trouble == "" {
			continue
		}
		if due := m.Pod.Changed.Add(patienceWithContainers); a.now.Before(due) {
			a.out.recheck(due)
			continue
		}
		messages = append(messages, fmt.Sprintf("node %s: %s", m.Name, m.Pod.Trouble))
	}
	for i := range a.blockers {
		b := &a.blockers[i]
		if b.Overdue && (b.Reason == ReasonStaticPodPending || b.Reason == ReasonNotRejoined || b.Reason == ReasonRolledBack) {
			messages = append(messages, b.Text(a.state.Name))
		}
	}
	return degraded(StaticPodsDegraded, reasonError, messages)
}

func (a *assessor) pruning() Condition {
	c := a.overdue(PruneControllerDegraded, reasonError, ReasonPrune)
	if failure := a.state.Failures[PruneController]; failure != "" && !c.Status {
		c = degraded(PruneControllerDegraded, reasonError, []string{failure})
	}
	return c
}

// overdue is true for overdue blockers of a reason.
func (a *assessor) overdue(conditionType, reason string, blocker Reason) Condition {
	var messages []string
	for i := range a.blockers {
		if b := &a.blockers[i]; b.Reason == blocker && b.Overdue {
			messages = append(messages, b.Text(a.state.Name))
		}
	}
	return degraded(conditionType, reason, messages)
}

func (a *assessor) failure(conditionType, controller string) Condition {
	if failure := a.state.Failures[controller]; failure != "" {
		return degraded(conditionType, reasonError, []string{failure})
	}
	return degraded(conditionType, reasonError, nil)
}
