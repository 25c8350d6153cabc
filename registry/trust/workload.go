// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"slices"
	"strings"
	"time"
)

// WorkloadKind is the kind of a workload that can be restarted.
type WorkloadKind string

// Kinds of workloads.
const (
	Deployment  WorkloadKind = "Deployment"
	StatefulSet WorkloadKind = "StatefulSet"
	DaemonSet   WorkloadKind = "DaemonSet"
)

// Workload names a workload in the namespace of a domain.
type Workload struct {
	Kind WorkloadKind
	Name string
}

// Restart is a workload whose pods have to start anew, because evidence of them cannot come otherwise.
type Restart struct {
	Party    string
	Workload Workload
	// Content are the annotations that the template has to have: the hashes of the contents that the pods have to start with.
	Content map[string]string
	// Superseded are, by annotation, the contents before those: a start gate for one of them lets a pod past.
	Superseded map[string][]string
	// Waits are the members for whose evidence this is, ordered; none where the workload has no pod that would be restarted.
	Waits []string
}

// Progress is what is known of a workload, nothing if it does not exist.
type Progress struct {
	// Content are the annotations of its template, and Complete says that each of its pods that lives has them, and that as
	// many are available as are wanted.
	Content  map[string]string
	Complete bool
	// Rolling says that its pods are being replaced, by whatever template.
	Rolling bool
}

// Restarts are the workloads that are due to be restarted, or are being restarted, at most one of each relying party. It goes
// by the order of the configuration: the next workload of a party is due when the one before is complete and its pods have
// shown their evidence. One that is under way comes first, and so does one of which no progress is known, as it may be under way.
//
// Somebody has to need it: a rotation waits for evidence of a pod, a pod presents a leaf that was replaced, or a pod waits in
// vain at its start gate. One that waits for a bundle which was replaced starts with the bundle that there is. Nothing is
// restarted for contents that are about to change or that nobody could use.
func Restarts(d *Domain, now time.Time, progress map[Workload]Progress) []Restart {
	if !slices.ContainsFunc(d.Parties, func(p Party) bool { return len(p.Workloads) > 0 }) {
		return nil
	}
	a, out := newAssessor(d, now), Assess(d, now)
	if !a.bundleSettled(out) {
		return nil
	}
	var due []Restart
	for i := range d.Parties {
		if r := a.restart(out, &d.Parties[i], progress); r != nil {
			due = append(due, *r)
		}
	}
	return due
}

// bundleSettled says whether the bundle is as it is to be, as far as can be told, and no write of it is due.
func (a *assessor) bundleSettled(out *Assessment) bool {
	b := &a.d.Bundle
	switch {
	case a.d.RosterProblem != nil, a.d.Signer.Problem != nil, b.Problem != nil, out.ClockDoubted(), out.has(ReasonOutlived):
		return false
	case b.ContentHash == "", len(b.Anchors) == 0, len(a.unpublished()) > 0, a.mendStores(out) != nil:
		return false
	}
	return !slices.ContainsFunc(out.Actions, func(x Action) bool { return x.Kind == RetireAnchors })
}

// restart is the workload of a party that is due, nil if none is.
func (a *assessor) restart(out *Assessment, p *Party, progress map[Workload]Progress) *Restart {
	content := a.contentOf(out, p)
	if p.Kind != WorkloadRollout || p.Unlisted || content == nil {
		return nil
	}
	waiting := a.waitingFor(out, p, content)
	due := func(w Workload) *Restart {
		return &Restart{Party: p.Name, Workload: w, Content: content, Superseded: a.superseded(p), Waits: waiting[w]}
	}
	for _, w := range p.Workloads {
		is, known := progress[w]
		if underWay := is.Rolling || hasAll(is.Content, content) && !is.Complete; len(waiting) > 0 && (!known || underWay) {
			return due(w)
		}
	}
	for _, w := range p.Workloads {
		is, known := progress[w]
		behind := !hasAll(is.Content, content)
		switch {
		case behind && (len(waiting[w]) > 0 || known && p.scaledToZero(w) && NamesOther(is.Content, content, nil)):
			return due(w)
		case !behind && len(waiting[w]) > 0:
			// Their evidence is on its way, or what stands against it is said where the member is.
			return nil
		}
	}
	return nil
}

// contentOf are the annotations that name the contents of a party, nil while one of them is about to change or is of no use.
func (a *assessor) contentOf(out *Assessment, p *Party) map[string]string {
	content := map[string]string{}
	if !p.VerifiesNothing {
		content[ContentAnnotation(ConfigMapKind, a.d.Bundle.Name)] = a.d.Bundle.ContentHash
	}
	for _, name := range p.Presents {
		l := a.leaves[name]
		written := func(x Action) bool {
			return x.ObjectKind == SecretKind && x.Object == name && x.Kind != RecordMetadata || a.opensNext(&x)
		}
		if l == nil || l.Certificate == nil || l.Problem != nil || l.ContentHash == "" || slices.ContainsFunc(out.Actions, written) {
			return nil
		}
		content[ContentAnnotation(SecretKind, name)] = l.ContentHash
	}
	return content
}

// superseded are, by annotation, the contents of a party before the present ones. Of a leaf they have the same certificate: who has
// started with a former one is restarted in any case.
func (a *assessor) superseded(p *Party) map[string][]string {
	out := map[string][]string{}
	if !p.VerifiesNothing {
		out[ContentAnnotation(ConfigMapKind, a.d.Bundle.Name)] = a.d.Bundle.Superseded
	}
	for _, name := range p.Presents {
		if l := a.leaves[name]; l != nil && len(l.Superseded) > 0 {
			out[ContentAnnotation(SecretKind, name)] = l.Superseded
		}
	}
	return out
}

// waitingFor are the pods of a party, by their workload, of which something is needed that only another start brings.
func (a *assessor) waitingFor(out *Assessment, p *Party, content map[string]string) map[Workload][]string {
	blocks := map[string]bool{}
	for _, b := range out.Blockers {
		if b.Party == p.Name {
			blocks[b.Member] = true
		}
	}
	waiting := map[Workload][]string{}
	for i := range p.Members {
		m := &p.Members[i]
		if m.Pod == nil || m.Pod.Terminating {
			continue
		}
		needed := blocks[m.Name] || a.waiver(p, m) == nil && a.presentsFormer(m, content)
		if !m.Pod.Started {
			// It may wait at its gate. No rotation waits for its evidence, and a waiver of that does not open the gate.
			needed = !p.StartAssumed && NamesOther(m.Content, content, a.superseded(p))
		}
		if needed {
			waiting[m.Workload] = append(waiting[m.Workload], m.Name)
		}
	}
	return waiting
}

// presentsFormer says whether a pod has started with a leaf that was replaced since. It does not need evidence that lasts, which
// nobody renews at rest: what a process was once seen to have started with stays true of it.
func (a *assessor) presentsFormer(m *Member, content map[string]string) bool {
	return slices.ContainsFunc(m.Holds, func(name string) bool {
		l, key := a.leaves[name], ContentAnnotation(SecretKind, name)
		if l == nil || l.Certificate == nil || slices.ContainsFunc(m.Observations, func(o Observation) bool {
			return o.Kind == WorkloadRollout && m.Runs(&o) && slices.Contains(o.Presents, l.Certificate.Fingerprint)
		}) {
			return false
		}
		if hash, named := m.Content[key]; named {
			return hash != content[key] && !slices.Contains(l.Superseded, hash)
		}
		return !m.RestartedAt.IsZero() && m.RestartedAt.Before(l.issuedAt())
	})
}

// scaledToZero says whether there is no pod of a workload: then a new template restarts nobody.
func (p *Party) scaledToZero(w Workload) bool {
	return !slices.ContainsFunc(p.Members, func(m Member) bool { return m.Workload == w })
}

// hasAll says whether annotations have everything of content.
func hasAll(annotations, content map[string]string) bool {
	for key, hash := range content {
		if annotations[key] != hash {
			return false
		}
	}
	return true
}

// restarted is what a rotation restarts, as the end of a message.
func (a *assessor) restarted() string {
	var names []string
	for i := range a.d.Parties {
		for _, w := range a.d.Parties[i].Workloads {
			names = append(names, string(w.Kind)+"/"+w.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return ", which " + strings.Join(sortedSet(names), " and ") + " load by a restart"
}
