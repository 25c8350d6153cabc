// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"time"
)

// member is a node and what the State knows about it. Its Pod stands for all of its static pods together.
type member struct {
	*Node
	// revisions are named by the manifests of its static pods.
	revisions []int
	// record is never nil.
	record *NodeStatus
	// installed is the newest complete revision that is recorded for the node, nil for none.
	installed *Revision
	// active is the newest installer that has not ended, nil for none.
	active *Installer
	// written is the newest installer that succeeded, if its revision is newer than the recorded one. revision is its
	// revision. Both are nil if there is none.
	written  *Installer
	revision *Revision
	// failed is nil if no installer failed since a newer revision was recorded.
	failed *Failure
	// attempt is the number of the next installer of the latest revision.
	attempt int
}

func (a *assessor) observe() []*member {
	members := make([]*member, 0, len(a.state.Nodes))
	for i := range a.state.Nodes {
		node := a.state.Nodes[i]
		m := &member{Node: &node}
		for _, p := range node.pods() {
			m.revisions = append(m.revisions, p.Revision)
		}
		latest := ""
		if a.latest != nil {
			latest = a.latest.RestartHash
		}
		node.Pod = node.together(a.state.Name, latest)
		m.record = a.state.Record.Node(m.Name, m.UID)
		if m.record == nil {
			m.record = &NodeStatus{Name: m.Name, UID: m.UID}
		}
		m.installed = a.installed(m)
		a.observeInstallers(m)
		members = append(members, m)
	}
	return members
}

func (a *assessor) installed(m *member) *Revision {
	for i := len(a.state.Revisions) - 1; i >= 0; i-- {
		if r := &a.state.Revisions[i]; r.Ready && r.Installed[m.Name] == m.UID {
			return r
		}
	}
	return nil
}

func (a *assessor) observeInstallers(m *member) {
	m.failed = m.record.LastFailed
	for i := range a.state.Installers {
		p := &a.state.Installers[i]
		if p.Node != m.Name {
			continue
		}
		if a.latest != nil && p.Revision == a.latest.Number {
			m.attempt = max(m.attempt, p.Attempt+1)
		}
		if p.NodeUID != m.UID {
			continue
		}
		switch {
		case !p.Finished:
			if m.active == nil || newer(p, m.active) {
				m.active = p
			}
		case p.Succeeded:
			if r := a.state.revision(p.Revision); r != nil && r.Ready && p.Revision > m.installedNumber() && (m.written == nil || newer(p, m.written)) {
				m.written, m.revision = p, r
			}
		default:
			m.fail(p)
		}
	}
	if m.failed != nil && a.latest != nil && m.failed.Revision == a.latest.Number {
		m.attempt = max(m.attempt, m.failed.Count)
	}
	if m.failed != nil && m.installedNumber() >= m.failed.Revision {
		m.failed = nil
	}
}

func newer(p, q *Installer) bool {
	return p.Revision > q.Revision || p.Revision == q.Revision && p.Attempt > q.Attempt
}

// fail counts a failed installer once.
func (m *member) fail(p *Installer) {
	f := m.failed
	if f != nil && (f.Revision > p.Revision || f.Revision == p.Revision && f.Count > p.Attempt) {
		return
	}
	m.failed = &Failure{
		Revision: p.Revision, Time: p.FinishedAt.UTC().Truncate(time.Second), Count: p.Attempt + 1, Message: cut(p.Message),
	}
}

func (m *member) installedNumber() int {
	if m.installed == nil {
		return 0
	}
	return m.installed.Number
}

// has reports whether the node is recorded as having a revision.
func (m *member) has(r *Revision) bool { return m.installed == r }

// runs reports whether the static pod runs with the restart hash of a revision.
func (m *member) runs(r *Revision) bool { return m.Pod != nil && m.Pod.RestartHash == r.RestartHash }

func (m *member) well() bool { return m.Ready && m.Pod != nil && m.Pod.Ready }

// unchanged reports whether the node is up and runs what was last installed.
func (m *member) unchanged() bool { return m.Ready && m.installed != nil && m.runs(m.installed) }

// empty reports whether the node, as far as known, never ran a static pod.
func (m *member) empty() bool { return m.Pod == nil && m.installed == nil }

// restarting reports whether a restart of the static pod began and its end was not observed.
func (m *member) restarting() bool {
	return m.written != nil && m.written.Restarts || m.active != nil && m.active.Restarts ||
		m.record.TargetRestarts && m.record.TargetRevision > m.installedNumber()
}

// current is the revision that runs on the node, 0 if unknown.
func (a *assessor) current(m *member) int {
	if m.Pod == nil {
		return 0
	}
	for i := len(a.state.Revisions) - 1; i >= 0; i-- {
		if r := &a.state.Revisions[i]; r.Ready && r.Installed[m.Name] == m.UID && m.runs(r) {
			return r.Number
		}
	}
	if r := a.state.revision(m.Pod.Revision); r != nil && r.Ready && m.runs(r) {
		return r.Number
	}
	return 0
}
