// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"strings"
	"time"
)

// assessInstallers decides which installer starts next and which ones are no longer wanted.
func (a *assessor) assessInstallers() {
	a.deleteForeign()
	if a.latest == nil {
		return
	}
	busy := false
	for _, m := range a.members {
		if m.active != nil && a.assessActive(m) {
			busy = true
		}
	}
	restart := true
	for _, m := range a.byNeed() {
		if m.active != nil || m.written != nil && m.revision == a.latest {
			restart = restart && !m.restarting()
			continue
		}
		disturbs := a.disturbs(m)
		switch {
		case !a.startable(m, disturbs, busy):
		case !disturbs:
			a.run(m, m.written != nil && m.written.Restarts, false)
			return
		case a.mayRestart(m, restart || !m.well()):
			a.run(m, true, true)
			return
		}
		// The node with the greatest need comes first. No other one restarts before it, unless that one is broken:
		// its repair comes first. A node whose leaves do not exist yet does not hold up others.
		restart = restart && (!disturbs || m.Unfit != "" || len(a.latest.Lacks[m.Name]) > 0)
	}
}

// assessActive reports whether the running installer must end before another one starts. If its node is down, or it
// takes too long, it holds up only installers that restart a static pod.
func (a *assessor) assessActive(m *member) bool {
	p := m.active
	stale := p.Revision != a.latest.Number || p.Image != a.state.Limits.Image
	if stale && !p.Started && !p.Deleting {
		a.do(Action{Kind: DeleteInstallerPod, Node: m.Name, Revision: p.Revision, Pod: p.Name,
			Reason: "it has not begun, and is not what is wanted any more"})
	}
	a.wait(m.Name, ReasonInstallerPending, p.Created, a.state.Limits.InstallerTimeout,
		fmt.Sprintf("the installer %s has not ended: %s", p.Name, pending(m)))
	return m.Ready && a.now.Before(p.Created.Add(a.state.Limits.InstallerTimeout))
}

func pending(m *member) string {
	switch p := m.active; {
	case !m.Ready:
		return "the node is not ready: " + m.NotReady
	case p.Deleting:
		return "it is being deleted"
	case p.Waiting != "":
		return strings.TrimSuffix(p.Waiting+": "+p.Message, ": ")
	case p.Started:
		return "it runs"
	}
	return "kubelet has not begun with it"
}

// disturbs reports whether the latest revision restarts, or may restart, what runs on the node.
func (a *assessor) disturbs(m *member) bool {
	if m.written != nil {
		return m.revision.RestartHash != a.latest.RestartHash
	}
	return m.restarting() || !m.runs(a.latest)
}

// startable reports whether an installer may start on the node, apart from the quorum.
func (a *assessor) startable(m *member, disturbs, busy bool) bool {
	limit := a.state.Limits.InstallerTimeout
	if len(a.latest.Missing) > 0 {
		a.wait("", ReasonResourcesMissing, time.Time{}, limit, "missing required resources: "+strings.Join(a.latest.Missing, ", "))
		return false
	}
	if m.Unfit != "" {
		a.wait(m.Name, ReasonResourcesMissing, time.Time{}, limit, m.Unfit)
		return false
	}
	if lacks := a.latest.Lacks[m.Name]; len(lacks) > 0 {
		a.wait(m.Name, ReasonResourcesMissing, time.Time{}, limit,
			fmt.Sprintf("revision %d was cut before the node had: %s", a.latest.Number, strings.Join(lacks, ", ")))
		return false
	}
	if m.Address == "" {
		a.wait(m.Name, ReasonResourcesMissing, time.Time{}, limit, "the node has no address of type InternalIP that is believed to be its own")
		return false
	}
	if at := a.retryAt(m); a.now.Before(at) {
		a.wait(m.Name, ReasonInstallerFailed, m.failed.Time, limit,
			fmt.Sprintf("the installer of revision %d has failed, attempt %d: %s", m.failed.Revision, m.failed.Count, m.failed.Message))
		a.out.recheck(at)
		return false
	}
	if disturbs && !m.Ready {
		a.wait(m.Name, ReasonNodeNotReady, time.Time{}, a.state.Limits.StaticPodTimeout, "the node is not ready: "+m.NotReady)
		return false
	}
	return !busy
}

// Backoff of installers.
const (
	firstBackoff = 10 * time.Second
	lastBackoff  = 10 * time.Minute
)

// retryAt is when the next attempt is due, zero for now. A newer revision is attempted at once.
func (a *assessor) retryAt(m *member) time.Time {
	if m.failed == nil || m.failed.Revision != a.latest.Number {
		return time.Time{}
	}
	wait := firstBackoff
	for range m.failed.Count - 1 {
		if wait = wait * 3 / 2; wait >= lastBackoff {
			wait = lastBackoff
			break
		}
	}
	return m.failed.Time.Add(wait)
}

func (a *assessor) run(m *member, restarts, disturbs bool) {
	reason := fmt.Sprintf("it runs revision %d", a.current(m))
	if a.current(m) == 0 {
		reason = "it runs no revision"
	}
	a.do(Action{
		Kind: RunInstaller, Node: m.Name, NodeUID: m.UID, Revision: a.latest.Number, Attempt: m.attempt,
		Restarts: restarts, Disturbs: disturbs, Reason: reason,
	})
}

// deleteForeign deletes installers whose node is gone or was recreated under the same name, and ended installers of
// deleted revisions. Of the failed installers of a node and revision it keeps the newest keptFailures.
func (a *assessor) deleteForeign() {
	for i := range a.state.Installers {
		p := &a.state.Installers[i]
		if why := a.unwanted(p); why != "" && !p.Deleting {
			a.do(Action{Kind: DeleteInstallerPod, Node: p.Node, Revision: p.Revision, Pod: p.Name, Reason: why})
		}
	}
}

// keptFailures is how many failed installers of a revision stay on a node for inspection.
const keptFailures = 3

func (a *assessor) unwanted(p *Installer) string {
	switch {
	case !a.expected(p):
		return "its node is gone"
	case p.Finished && a.state.revision(p.Revision) == nil:
		return "its revision is gone"
	case !p.Finished || p.Succeeded:
		return ""
	}
	newerFailures := 0
	for i := range a.state.Installers {
		q := &a.state.Installers[i]
		if q.Node == p.Node && q.Revision == p.Revision && q.Finished && !q.Succeeded && q.Attempt > p.Attempt {
			newerFailures++
		}
	}
	if newerFailures >= keptFailures {
		return "newer ones have failed likewise"
	}
	return ""
}

func (a *assessor) expected(p *Installer) bool {
	for _, m := range a.members {
		if m.Name == p.Node && m.UID == p.NodeUID {
			return true
		}
	}
	return false
}
