// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"slices"
	"strings"
	"time"

	"certrotation.dev/registry/pki"
)

// Restart is a workload whose pods must restart, because nothing else can bring their evidence.
type Restart struct {
	Party    string
	Workload Workload
	// Content are the annotations that the template must have: the hashes of the contents that the pods must start
	// with.
	Content map[string]string
	// Superseded are the former contents by annotation: a start gate for one of them lets a pod pass.
	Superseded map[string][]string
	// Waits are the members whose evidence needs the restart, ordered, empty if the workload has no pod to restart.
	Waits []string
}

// Progress is what is known of a workload, zero if it does not exist.
type Progress struct {
	// Content are the annotations of its template. Complete says that all its live pods have them, and that as many
	// are available as are wanted.
	Content  map[string]string
	Complete bool
	// Rolling says that its pods are being replaced, by any template, or that fewer are available than wanted.
	Rolling bool
}

// UnderWay reports whether the pods of a workload are being replaced, or have a content in their template and not all
// started with it.
func (p Progress) UnderWay(content map[string]string) bool {
	return p.Rolling || hasAll(p.Content, content) && !p.Complete
}

// contentDomain ends the prefix of the annotations with which a pod names its start contents.
const contentDomain = ".content.certrotation.dev/"

// ContentAnnotation is the annotation of a pod, and of its template, with the hash (registry/contenthash) of a Secret
// or ConfigMap that the pod starts with.
func ContentAnnotation(kind ObjectKind, name string) string {
	return strings.ToLower(string(kind)) + contentDomain + name
}

// IsContentAnnotation reports whether an annotation names a content that a pod starts with.
func IsContentAnnotation(key string) bool { return strings.Contains(key, contentDomain) }

// NamesOther reports whether annotations name a content other than those in content or tolerated. A missing
// annotation does not count. With the superseded contents of a Restart tolerated, true means that a start gate blocks
// the pod.
func NamesOther(annotations, content map[string]string, tolerated map[string][]string) bool {
	for key, hash := range content {
		if named, ok := annotations[key]; ok && named != hash && !slices.Contains(tolerated[key], named) {
			return true
		}
	}
	return false
}

// Restarts returns the workloads that are due to restart, or are restarting, at most one of each relying party. It
// follows the order of the configuration. The next workload of a party is due when the one before is complete and its
// pods have shown evidence. A workload that is restarting, or has no known progress, comes first.
//
// A restart needs a reason. A rotation waits for evidence of a pod, a pod presents a replaced leaf, or a pod waits in
// vain at its start gate. A pod that waits for a replaced bundle starts with the present one. Nothing restarts for
// contents that are about to change or are unusable.
func Restarts(d *Domain, now time.Time, progress map[Workload]Progress) []Restart {
	if !slices.ContainsFunc(d.Parties, func(p Party) bool { return len(p.Workloads) > 0 }) {
		return nil
	}
	a := decide(d, now)
	out := a.assessment()
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

// bundleSettled reports whether the bundle is as it must be, as far as known, and no write of it is due.
func (a *decision) bundleSettled(out *Assessment) bool {
	b := &a.d.Bundle
	switch {
	case a.d.RosterProblem != nil, a.d.Signer.Problem != nil, b.Problem != nil, out.ClockDoubted(), out.has(ReasonOutlived):
		return false
	case b.ContentHash == "", len(b.Anchors) == 0, b.Repeats, len(a.unpublished()) > 0, a.mendStores(out) != nil:
		return false
	}
	return !slices.ContainsFunc(out.Actions, func(x Action) bool { return x.Kind == RetireAnchors })
}

// restart returns the workload of a party that is due, nil if none is.
func (a *decision) restart(out *Assessment, p *Party, progress map[Workload]Progress) *Restart {
	content := a.contentOf(out, p)
	if !p.Kind.traits().byRestart || p.Unlisted || content == nil {
		return nil
	}
	waiting := a.waitingFor(out, p, content)
	due := func(w Workload) *Restart {
		return &Restart{Party: p.Name, Workload: w, Content: content, Superseded: a.superseded(p), Waits: waiting[w]}
	}
	for _, w := range p.Workloads {
		is, known := progress[w]
		if len(waiting) > 0 && (!known || is.UnderWay(content)) {
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
			// Their evidence is on its way, or their blockers say what is wrong.
			return nil
		}
	}
	return nil
}

// contentOf returns the annotations that name the contents of a party, nil while one is about to change or is
// unusable.
func (a *decision) contentOf(out *Assessment, p *Party) map[string]string {
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

// superseded returns the former contents of a party by annotation. Those of a leaf have the same certificate: a pod
// that started with a former certificate is restarted in any case.
func (a *decision) superseded(p *Party) map[string][]string {
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

// waitingFor returns the pods of a party, by workload, that must restart to provide what is needed.
func (a *decision) waitingFor(out *Assessment, p *Party, content map[string]string) map[Workload][]string {
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
		needed := blocks[m.Name] && !a.hasRead(p, m) || a.waiver(p, m) == nil && a.presentsFormer(m, content)
		if !m.Pod.Started {
			// It may wait at its gate. No rotation waits for its evidence, and a waiver does not open the gate.
			needed = !p.StartAssumed && NamesOther(m.Content, content, a.superseded(p))
		}
		if needed {
			waiting[m.Workload] = append(waiting[m.Workload], m.Name)
		}
	}
	return waiting
}

// hasRead reports whether the process of a pod is known to have read all anchors and leaves that are published. Then a
// restart brings nothing: what blocks is the former pod of that name. Expired evidence is enough, as in presentsFormer.
func (a *decision) hasRead(p *Party, m *Member) bool {
	return slices.ContainsFunc(m.Observations, func(o Observation) bool {
		unread := func(ca *pki.Certificate) bool { return !slices.Contains(o.Trusts, ca.Fingerprint) }
		other := func(name string) bool {
			l := a.leaves[name]
			return l == nil || l.Certificate == nil || !slices.Contains(o.Presents, l.Certificate.Fingerprint)
		}
		return o.Kind == p.Kind && m.Runs(&o) && o.Failure == "" && !slices.ContainsFunc(m.Holds, other) &&
			(p.VerifiesNothing || !slices.ContainsFunc(a.d.Bundle.Anchors, unread))
	})
}

// presentsFormer reports whether a pod has started with a leaf that was replaced since. Expired evidence is enough,
// as evidence is not renewed at rest: what a process has started with does not change.
func (a *decision) presentsFormer(m *Member, content map[string]string) bool {
	return slices.ContainsFunc(m.Holds, func(name string) bool {
		l, key := a.leaves[name], ContentAnnotation(SecretKind, name)
		if l == nil || l.Certificate == nil || slices.ContainsFunc(m.Observations, func(o Observation) bool {
			return o.Kind.traits().byRestart && m.Runs(&o) && slices.Contains(o.Presents, l.Certificate.Fingerprint)
		}) {
			return false
		}
		if hash, named := m.Content[key]; named {
			return hash != content[key] && !slices.Contains(l.Superseded, hash)
		}
		return !m.RestartedAt.IsZero() && m.RestartedAt.Before(l.issuedAt())
	})
}

// scaledToZero reports whether a workload has no pods: then a new template restarts none.
func (p *Party) scaledToZero(w Workload) bool {
	return !slices.ContainsFunc(p.Members, func(m Member) bool { return m.Workload == w })
}

func hasAll(annotations, content map[string]string) bool {
	for key, hash := range content {
		if annotations[key] != hash {
			return false
		}
	}
	return true
}
