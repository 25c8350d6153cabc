// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"pgregory.net/rapid"

	"certrotation.dev/registry/pki"
)

var (
	webWorkload = Workload{Deployment, "web"}
	jobWorkload = Workload{StatefulSet, "job"}
)

// startWorld is a world whose client-a are pods that read their files only at their start, behind a gate.
type startWorld struct {
	*world
	// templates are the annotations of the pod templates.
	templates map[Workload]map[string]string
	// trusted and presented are what the processes have really loaded.
	trusted   map[string][]pki.Fingerprint
	presented map[string]*pki.Certificate
	// cached is the bundle that kubelet mounts instead of the present one, nil if it does not lag.
	cached []pki.Fingerprint
	// contents are the former and present contents of the bundle. Their index is their hash. If kubelet lags, it
	// mounts the earliest of those that a gate admits.
	contents [][]pki.Fingerprint
	lags     bool
	// restarts of workloads. made is the number of pods made so far.
	restarts []Restart
	made     int
}

// newStartWorld returns a stable world with one pod of each workload, started with the present content.
func newStartWorld(t rapid.TB, workloads ...Workload) *startWorld {
	w := &startWorld{world: newWorld(t), templates: map[Workload]map[string]string{}, trusted: map[string][]pki.Fingerprint{}, presented: map[string]*pki.Certificate{}}
	w.d.Parties[1] = Party{
		Name: "client-a", Kind: WorkloadRollout, Verifies: []string{"server"}, OfPods: true, Presents: []string{"client-a"},
		Selector: "app=client-a", Workloads: workloads,
	}
	w.settle()
	for _, workload := range workloads {
		w.templates[workload] = w.content()
		w.scaleUp(workload)
	}
	w.reload("server", "client-b")
	w.look()
	w.settle()
	w.done = nil
	return w
}

func (w *startWorld) starters() *Party { return w.d.Party("client-a") }

// hash updates the content hashes of the objects. The bundle also names its superseded contents.
func (w *startWorld) hash() {
	b, anchors := &w.d.Bundle, w.anchors()
	if n := len(w.contents); n == 0 || !slices.Equal(w.contents[n-1], anchors) {
		if n > 0 {
			b.Superseded = append([]string{b.ContentHash}, b.Superseded...)
		}
		b.ContentHash, w.contents = strconv.Itoa(n), append(w.contents, anchors)
	}
	for i := range w.d.Leaves {
		if l := &w.d.Leaves[i]; l.Certificate != nil {
			l.ContentHash = string(l.Certificate.Fingerprint)
		}
	}
}

// content returns the annotations of a template that is up to date.
func (w *startWorld) content() map[string]string {
	w.hash()
	return map[string]string{
		ContentAnnotation(ConfigMapKind, "bundle"): w.d.Bundle.ContentHash, ContentAnnotation(SecretKind, "client-a"): w.leaf("client-a").ContentHash,
	}
}

func (w *startWorld) due() []Restart {
	w.hash()
	progress := map[Workload]Progress{}
	for workload, content := range w.templates {
		progress[workload] = Progress{Content: content, Complete: true}
	}
	return Restarts(&w.d, w.now, progress)
}

// scaleUp makes a pod of a workload. It passes its gates if its named leaf exists, and the named bundle or a later
// one.
func (w *startWorld) scaleUp(workload Workload) {
	w.made++
	m := Member{
		Name: fmt.Sprint("pod-", w.made), Instance: fmt.Sprint("uid-", w.made), Pod: &Pod{}, Workload: workload,
		Holds: []string{"client-a"}, Content: maps.Clone(w.templates[workload]),
	}
	p := w.starters()
	p.Members = append(slices.Clone(p.Members), m)
	now, key := w.content(), ContentAnnotation(ConfigMapKind, "bundle")
	named := m.Content[key]
	if named != now[key] && !slices.Contains(w.d.Bundle.Superseded, named) {
		return
	}
	if now[key] = named; !hasAll(m.Content, now) {
		return
	}
	if number, err := strconv.Atoi(named); w.lags && err == nil && w.cached == nil {
		w.cached = w.contents[max(number, len(w.contents)-2)]
		defer func() { w.cached = nil }()
	}
	w.run(&p.Members[len(p.Members)-1])
}

// run starts the containers of a pod, which load what is mounted.
func (w *startWorld) run(m *Member) {
	m.Pod = &Pod{Started: true, Process: fmt.Sprint(m.Instance, "/", len(w.trusted))}
	m.RestartedAt = w.now
	w.trusted[m.Pod.Process], w.presented[m.Pod.Process] = w.anchors(), w.leaf("client-a").Certificate
	if w.cached != nil {
		w.trusted[m.Pod.Process] = w.cached
	}
}

func (w *startWorld) anchors() (out []pki.Fingerprint) {
	for _, ca := range w.d.Bundle.Anchors {
		out = append(out, ca.Fingerprint)
	}
	return out
}

// refused returns a running process that does not accept a leaf presented to it, "" if there is none.
func (w *startWorld) refused() string {
	signer := func(leaf *pki.Certificate) pki.Fingerprint {
		for fingerprint, pair := range w.keys {
			if leaf.SignedBy(pair.Certificate) {
				return fingerprint
			}
		}
		return ""
	}
	server := w.member("server").Observations[0]
	for _, m := range w.starters().Members {
		switch process := m.Pod.Process; {
		case process == "":
		case !slices.Contains(w.trusted[process], signer(w.leaf("server").Certificate)):
			return fmt.Sprintf("pod %s refuses the leaf of the server (%v)", m.Name, w.done)
		case !slices.Contains(server.Trusts, signer(w.presented[process])):
			return fmt.Sprintf("the server refuses what pod %s presents (%v)", m.Name, w.done)
		}
	}
	return ""
}

// look observes the pods as registry/podcontent does: earlier observations stay, and current contents are proven.
func (w *startWorld) look() {
	content := w.content()
	for i := range w.starters().Members {
		m := &w.starters().Members[i]
		if m.Pod.Process == "" {
			continue
		}
		o := Observation{Instance: m.Pod.Process, Kind: WorkloadRollout, ObservedAt: w.now, Expires: w.now.Add(lease)}
		for _, before := range m.Observations {
			if before.Instance == o.Instance {
				o.Trusts, o.Presents = before.Trusts, before.Presents
			}
		}
		current := func(kind ObjectKind, name string) bool {
			key := ContentAnnotation(kind, name)
			return m.Content[key] == content[key]
		}
		if len(o.Trusts) == 0 && current(ConfigMapKind, "bundle") {
			o.Trusts = w.anchors()
		}
		if len(o.Presents) == 0 && current(SecretKind, "client-a") {
			o.Presents = []pki.Fingerprint{w.leaf("client-a").Certificate.Fingerprint}
		}
		if len(o.Trusts)+len(o.Presents) == 0 {
			o.Failure = "what it has loaded is not known"
		}
		m.Observations = []Observation{o}
	}
}

// restart replaces the pods of the workloads that are due.
func (w *startWorld) restart() bool {
	due := w.due()
	for i := range due {
		r := &due[i]
		w.restarts = append(w.restarts, *r)
		w.templates[r.Workload] = r.Content
		pods := 0
		p := w.starters()
		p.Members = slices.DeleteFunc(slices.Clone(p.Members), func(m Member) bool {
			if m.Workload != r.Workload {
				return false
			}
			pods++
			w.gone(&m)
			return true
		})
		for range pods {
			w.scaleUp(r.Workload)
		}
	}
	return len(due) > 0
}

func (w *startWorld) gone(m *Member) {
	absences := map[string]string{}
	maps.Copy(absences, w.d.Absences)
	r := RosterMember{Party: "client-a", Member: m.Name, Instance: m.Instance}
	absences[AbsenceKey(&r)] = AbsentPod(&r, "", "")
	w.d.Absences = absences
}

// follow repeats actions, restarts, observations and reloads until nothing is left to do.
func (w *startWorld) follow() {
	for range 20 {
		w.now = w.now.Add(time.Second)
		before := len(w.done) + len(w.restarts)
		w.settle()
		w.restart()
		w.look()
		w.reload("server", "client-b")
		w.settle()
		if len(w.done)+len(w.restarts) == before && len(w.due()) == 0 {
			return
		}
	}
	w.t.Fatalf("no end: done %v, %d restarts, %+v", w.done, len(w.restarts), w.assess().Blockers)
}
