// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// pod is what makes a process a pod. showPod writes what the API server knows of it.
type pod struct {
	uid string
	// number counts all pods.
	number   int
	workload *workload
	// starts counts the starts of its container.
	starts int
	// trusted and leaves are what its kubelet has mounted.
	trusted, leaves *publication
	// terminating, ended and unlabelled are as in its object. lost says that its node is gone and its object still
	// exists.
	terminating, ended, unlabelled, lost bool
	// unschedulable says that it never starts. succeeded says that its workload makes another pod of its name once
	// that is free.
	unschedulable, succeeded bool
	// stale says that it started with an older bundle than was published, and has not loaded since.
	stale bool
	// template that it was made of, nil if its program reloads its files.
	template *template
}

// process identifies the running containers.
func (o *pod) process() string { return fmt.Sprintf("%s/%d", o.uid, o.starts) }

// workload makes the pods of a relying party. A party may have several workloads.
type workload struct {
	party, name string
	// roles of its pods by domain.
	roles map[string]*role
	made  int
	// zero says that it was scaled to zero.
	zero bool
	// files are what its program reads only at start, nil for a program that reloads. template is that of its pods
	// then.
	files    []file
	template *template
	// replicas is the wanted number of pods. generation is that of the latest change, observed the one that its
	// controller has seen.
	replicas             int
	generation, observed int64
	// paused says that a person has paused its rollout. restarting says that certrotation has begun a rollout that
	// is not complete.
	paused, restarting bool
}

// deploy makes the workloads of all parties of pods, and their first pods.
func (w *world) deploy() {
	byParty := map[string]*workload{}
	for _, d := range w.domains().Domains {
		for i := range d.Parties {
			p := &d.Parties[i]
			if !p.OfPods {
				continue
			}
			l := byParty[p.Name]
			if l == nil {
				l = &workload{party: p.Name, name: p.Name, roles: map[string]*role{}}
				byParty[p.Name] = l
				w.workloads = append(w.workloads, l)
			}
			r := &role{holds: p.Presents}
			if !p.VerifiesNothing {
				r.verifies = p.Verifies
			}
			l.roles[d.Name] = r
		}
	}
	w.deployStarted()
	for _, l := range w.workloads {
		l.replicas = 1 + w.dice.roll(2, "pods")
		for range l.replicas {
			w.createPod(l)
		}
	}
}

func (w *world) podsOf(l *workload) []*process {
	var out []*process
	for _, p := range w.processes {
		if p.pod != nil && p.pod.workload == l {
			out = append(out, p)
		}
	}
	return out
}

// createPod makes a pod whose containers start later. In a stateful world it takes the first free name.
func (w *world) createPod(l *workload) *process {
	name := fmt.Sprintf("%s-%d", l.name, l.made)
	for i := 0; w.topology.stateful; i++ {
		if name = fmt.Sprintf("%s-%d", l.name, i); w.process(name) == nil {
			break
		}
	}
	l.made++
	return w.makePod(l, name)
}

func (w *world) makePod(l *workload, name string) *process {
	w.podsMade++
	p := newProcess(name, 0)
	p.off = []time.Duration{0, maxOff, -maxOff}[w.podsMade%3]
	p.pod = &pod{uid: fmt.Sprintf("%s.%d", name, w.podsMade), number: w.podsMade, workload: l, template: l.template}
	for domain, r := range l.roles {
		p.roles[membership{domain: domain, party: l.party, member: name}] = r
	}
	w.processes = append(slices.Clip(w.processes), p)
	w.showPod(p)
	return p
}

// showPod writes the state of a pod to the API server.
func (w *world) showPod(p *process) {
	o := p.pod
	out := &inventory.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: p.member, Namespace: namespace, UID: types.UID(o.uid), Labels: map[string]string{podLabel: o.workload.party},
		},
		Address: fmt.Sprintf("10.%d.%d.%d", 1+o.number>>16, o.number>>8&0xff, o.number&0xff),
		Life:    trust.Pod{Started: o.starts > 0, Ended: o.ended, Terminating: o.terminating},
	}
	if o.unlabelled {
		out.Labels = nil
	}
	if o.template != nil {
		out.Workload, out.Content = o.workload.named(w.kindOfWorkloads()), o.template.content
	}
	switch {
	case p.up:
		out.Life.Process, out.RestartedAt = o.process(), p.startedAt
	case o.starts > 0 && !o.ended:
		out.Life.Trouble = "its container main is in CrashLoopBackOff"
	}
	w.api.putPod(p.member, out)
}

func (w *world) removePod(p *process) {
	w.keepStrays(p)
	w.api.putPod(p.member, nil)
	w.processes = slices.DeleteFunc(slices.Clone(w.processes), func(other *process) bool { return other == p })
}

// isGone removes a pod, and makes its successor if it has one.
func (w *world) isGone(p *process) {
	w.removePod(p)
	if p.pod.succeeded {
		w.makePod(p.pod.workload, p.member)
	}
}

// terminates deletes a pod. A pod that never started is gone at once.
func (w *world) terminates(p *process) {
	if p.pod.starts == 0 {
		w.isGone(p)
		return
	}
	p.pod.terminating = true
	w.showPod(p)
}

// followed reports whether every domain of a pod knows of it: its party chooses it or is not listed yet, or the
// roster has it.
func (w *world) followed(p *process) bool {
	return !slices.ContainsFunc(p.memberships(), func(m membership) bool {
		d := w.domain(m.domain)
		return d == nil || !isRecorded(d, p) && !w.chosen(d, m, p)
	})
}

func (w *world) chosen(d *trust.Domain, m membership, p *process) bool {
	if w.mistyped {
		return true
	}
	return slices.ContainsFunc(d.Parties, func(party trust.Party) bool {
		return party.Name == m.party && party.OfPods && (party.Unlisted || slices.ContainsFunc(party.Members, func(member trust.Member) bool { return member.Instance == p.pod.uid }))
	})
}

func isRecorded(d *trust.Domain, p *process) bool {
	return d.Roster != nil && slices.ContainsFunc(d.Roster.Members, func(r trust.RosterMember) bool { return r.Pod && r.Instance == p.pod.uid })
}

// unrecorded reports whether a pod runs, or may start, that the roster of one of its domains lacks. Such a pod is
// out of sight once the configuration does not choose it.
func (w *world) unrecorded(p *process) bool {
	return !p.pod.ended && slices.ContainsFunc(p.memberships(), func(m membership) bool {
		d := w.domain(m.domain)
		return d != nil && !isRecorded(d, p)
	})
}

// anyPod returns a pod, or nil if the dice choose another process.
func (w *world) anyPod() *process {
	if p := w.anyProcess(); p != nil && p.pod != nil {
		return p
	}
	return nil
}
