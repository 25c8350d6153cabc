// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Pod is what the API server knows of the life of a member that is a pod.
type Pod struct {
	// Started says that one of its containers was started, whether it runs now or not.
	Started bool
	// Ended says that its phase is final and that no container runs any more: none is started again.
	Ended bool
	// Terminating says that it was deleted, and is there until its containers have stopped.
	Terminating bool
	// Process identifies the containers that run now, "" if none does: a container that was restarted is another process.
	Process string
	// Trouble says what keeps it from running as it should, such as "its container web is in CrashLoopBackOff"; "" if
	// nothing does.
	Trouble string
}

// PodLife is where a pod is between its creation and its end. It decides whether the pod counts.
type PodLife string

// Stages of the life of a pod.
const (
	// PodPending: no container was ever started, so nothing was loaded. Nobody waits for it: it loads what is published
	// when it starts.
	PodPending PodLife = "Pending"
	// PodRunning: it verifies and presents, also between two starts of a container that crashes.
	PodRunning PodLife = "Running"
	// PodTerminating: it was deleted and still holds connections. It counts until it is gone. So does a pod of a node that
	// does not answer: only the deletion of its object says that it is gone.
	PodTerminating PodLife = "Terminating"
	// PodEnded: no process of it runs or will run. It does not count although its object is there.
	PodEnded PodLife = "Ended"
)

// Life is where the pod is in its life.
func (p *Pod) Life() PodLife {
	switch {
	case p.Ended:
		return PodEnded
	case !p.Started:
		return PodPending
	case p.Terminating:
		return PodTerminating
	}
	return PodRunning
}

// AbsentPod is the proof that a pod of the roster is gone, "" if there is none: uid is that of the pod which has its name
// now, "" if none has, and life is where that one is in its life.
func AbsentPod(m *RosterMember, uid string, life PodLife) string {
	switch {
	case uid == "":
		return fmt.Sprintf("there is no pod %s", m.Member)
	case uid != m.Instance:
		return fmt.Sprintf("pod %s has the UID %s now, and had %s", m.Member, uid, m.Instance)
	case life == PodEnded:
		return fmt.Sprintf("all containers of pod %s have ended", m.Member)
	}
	return ""
}

// of says whether an observation is of the processes that the pod runs now. What a pod reports of itself is of the pod;
// what was observed from outside is of the containers that ran then.
func (p *Pod) of(o *Observation, uid string) bool {
	if o.Kind == Acknowledgement {
		return o.Instance == uid
	}
	return p.Process != "" && o.Instance == p.Process
}

// samePod says whether two members of one name are the same pod, or neither is one.
func samePod(x, y *Member) bool {
	return (x.Pod == nil) == (y.Pod == nil) && (x.Pod == nil || x.Instance == y.Instance)
}

// Runs says whether an observation is of what the member runs now, and not of what it ran before a restart. What was seen of
// a pod from outside names the containers that ran then, which tells it without the clock of a node.
func (m *Member) Runs(o *Observation) bool {
	switch {
	case m.Pod == nil:
		return !o.ObservedAt.Before(m.RestartedAt)
	case o.Kind == Acknowledgement:
		return m.Pod.of(o, m.Instance) && !o.before(m.RestartedAt)
	}
	return m.Pod.of(o, m.Instance)
}

// before says whether what a pod has reported of itself may be from before one of its containers was started again. The API
// tells such a start in whole seconds: a report of the same second is of afterwards only if its process says so.
func (o *Observation) before(restart time.Time) bool {
	return o.ObservedAt.Before(restart) || o.StartedAt.Before(restart) && o.ObservedAt.Before(restart.Add(time.Second))
}

// hint is what a person has to know of a pod that a rotation waits for, "" if nothing.
func (p *Pod) hint() string {
	switch {
	case p == nil:
		return ""
	case p.Terminating:
		return "; it is terminating, and counts until it is gone"
	case p.Trouble != "":
		return "; " + p.Trouble
	}
	return ""
}

// unlisted stands against everything that a party of pods is asked for until it is known who they are.
func (p *Party) unlisted() []Blocker {
	if !p.Unlisted {
		return nil
	}
	return []Blocker{{Party: p.Name, Reason: ReasonNotObserved, Message: "is not known by its pods: they have not been listed yet, or certrotation may not list and watch pods here"}}
}

// unpopulated are the parties of pods of which no pod runs now.
func unpopulated(p *Party) bool { return p.OfPods && !p.Unlisted && len(p.Members) == 0 }

// scaledToZero is a party of pods of which none runs now and some did, as the roster says: whoever starts next loads what
// is published then. A selector that has never chosen a pod may choose the wrong ones, and proves that nobody is there as
// little as any other lack of an answer.
func (a *assessor) scaledToZero(p *Party) *Party {
	if !unpopulated(p) || a.d.Roster == nil || !slices.Contains(a.d.Roster.Populated, p.populatedName()) {
		return p
	}
	out := *p
	out.empty = true
	return &out
}

// populatedName is the name of a party of pods together with a hash of its selector: that one selector has chosen a pod
// once says nothing of another one that is written in its place.
func (p *Party) populatedName() string {
	if p.Selector == "" {
		return p.Name
	}
	sum := sha256.Sum256([]byte(p.Selector))
	return p.Name + "/" + hex.EncodeToString(sum[:4])
}

// populated are the names of the configured parties of pods of which a pod was seen, now or as the roster says.
func (a *assessor) populated() []string {
	var out []string
	for i := range a.d.Parties {
		p := &a.d.Parties[i]
		if p.OfPods && (len(p.Members) > 0 || a.d.Roster != nil && slices.Contains(a.d.Roster.Populated, p.populatedName())) {
			out = append(out, p.populatedName())
		}
	}
	return sortedSet(out)
}

// neverPopulated says which of parties has a selector that has never chosen a pod, "" for none.
func neverPopulated(parties []*Party) string {
	for _, p := range parties {
		if unpopulated(p) && !p.empty {
			return fmt.Sprintf("; relying party %s would, but its selector has never chosen a pod: put it right, or start a pod", p.Name)
		}
	}
	return ""
}

// withoutPods is a roster with the members that are no pods.
func (r *Roster) withoutPods() *Roster {
	if r == nil {
		return nil
	}
	out := *r
	out.Members = slices.DeleteFunc(slices.Clone(r.Members), func(m RosterMember) bool { return m.Pod })
	return &out
}

// twiceChosen are pods that two parties choose to verify the same leaf, one Problem for each two parties: the pod has to
// prove the same twice, and each party may have been meant to be somebody else. Different leaves, or addresses of their own
// at which it is probed, are two roles of one pod, and some kinds of evidence are asked for together (bothAskedFor). It stops
// nothing, as both count.
func (d *Domain) twiceChosen() []Problem {
	chosen := map[string][]place{}
	if !severalOfPods(d.Parties) {
		return nil
	}
	for i := range d.Parties {
		p := &d.Parties[i]
		for k := range p.Members {
			if m := &p.Members[k]; m.Pod != nil && !p.VerifiesNothing {
				chosen[m.Instance] = append(chosen[m.Instance], place{p, m})
			}
		}
	}
	type pair struct{ x, y string }
	shared := map[pair][]string{}
	for _, places := range chosen {
		for i, x := range places {
			for _, y := range places[i+1:] {
				if overlap(x.party.Verifies, y.party.Verifies) && !apart(x.member.Probes, y.member.Probes) && !bothAskedFor(x.party, y.party) {
					key := pair{x.party.Name, y.party.Name}
					shared[key] = append(shared[key], x.member.Name)
				}
			}
		}
	}
	var out []Problem
	for _, key := range slices.SortedFunc(maps.Keys(shared), func(a, b pair) int { return cmp.Or(cmp.Compare(a.x, b.x), cmp.Compare(a.y, b.y)) }) {
		pods := sortedSet(shared[key])
		others := ""
		if len(pods) > 1 {
			others = fmt.Sprintf(" (and %d more pods)", len(pods)-1)
		}
		out = append(out, Problem{Object: "Pod/" + pods[0], Reason: ReasonChosenTwice, Message: fmt.Sprintf(
			"is a member of relying party %s and of %s%s, which verify the same leaf: narrow one of the selectors, or let one of them verify it", key.x, key.y, others)})
	}
	return out
}

// bothAskedFor says whether two parties are the same pods, asked for what they began with and for what they show: the first
// is by their templates, and a program may read another file than the one that they name.
func bothAskedFor(x, y *Party) bool {
	began := func(p *Party) bool { return p.Kind == WorkloadRollout || p.Kind == Mounted }
	kinds := began(x) && y.Kind == TLSProbe || x.Kind == TLSProbe && began(y)
	return kinds && x.Selector == y.Selector
}

func severalOfPods(parties []Party) bool {
	first := slices.IndexFunc(parties, func(p Party) bool { return p.OfPods })
	return first >= 0 && slices.ContainsFunc(parties[first+1:], func(p Party) bool { return p.OfPods })
}

func overlap(x, y []string) bool {
	has := make(map[string]bool, len(x))
	for _, name := range x {
		has[name] = true
	}
	return slices.ContainsFunc(y, func(name string) bool { return has[name] })
}

// apart says whether both are probed, and at no address of the other.
func apart(x, y []Probe) bool {
	return len(x) > 0 && len(y) > 0 && !slices.ContainsFunc(x, func(p Probe) bool {
		return slices.ContainsFunc(y, func(q Probe) bool { return p.Address == q.Address })
	})
}
