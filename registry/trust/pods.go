// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"
)

// Pod is the life cycle of a member that is a pod, as the API server knows it.
type Pod struct {
	// Started says that a container was ever started, running or not.
	Started bool
	// Ended says that the phase is final and no container runs: none is started again.
	Ended bool
	// Terminating says that the pod was deleted and its containers have not all stopped.
	Terminating bool
	// Process identifies the running containers, "" if there are none. A restarted container is another process.
	Process string
	// Trouble says what keeps the pod from running as it should, such as "its container web is in CrashLoopBackOff",
	// "" if nothing does.
	Trouble string
}

// PodLife is where a pod is between its creation and its end. It decides whether the pod counts.
type PodLife string

// Stages of the life of a pod.
const (
	// PodPending: no container was ever started, so nothing was loaded. No rotation waits for the pod: it loads what
	// is published when it starts.
	PodPending PodLife = "Pending"
	// PodRunning: the pod verifies and presents, also between two starts of a crashing container.
	PodRunning PodLife = "Running"
	// PodTerminating: the pod was deleted, still holds connections, and counts until it is gone. This includes pods
	// of a node that does not answer: only the deletion of the Pod object proves that they are gone.
	PodTerminating PodLife = "Terminating"
	// PodEnded: no process of the pod runs or will run. It does not count although its object exists.
	PodEnded PodLife = "Ended"
)

// Life returns where the pod is in its life.
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

// AbsentPod returns the proof that a pod of the roster is gone, "" if there is none. uid and life are of the pod that
// has its name now; uid is "" if there is none.
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

// of reports whether an observation is of the running processes of the pod. A pod's own report is of the pod. An
// observation from outside is of the containers that ran then.
func (p *Pod) of(o *Observation, uid string) bool {
	if o.Kind.traits().reported {
		return o.Instance == uid
	}
	return p.Process != "" && o.Instance == p.Process
}

// samePod reports whether two members of one name are the same pod, or neither is a pod.
func samePod(x, y *Member) bool {
	return (x.Pod == nil) == (y.Pod == nil) && (x.Pod == nil || x.Instance == y.Instance)
}

// Runs reports whether an observation is of what the member runs now, and not from before a restart. An observation
// of a pod from outside names the containers, so it needs no clock of a node.
func (m *Member) Runs(o *Observation) bool {
	switch {
	case m.Pod == nil:
		return !o.ObservedAt.Before(m.RestartedAt)
	case o.Kind.traits().reported:
		return m.Pod.of(o, m.Instance) && !o.before(m.RestartedAt)
	}
	return m.Pod.of(o, m.Instance)
}

// before reports whether a pod's own report may be from before the restart of a container. The API has restarts in
// whole seconds. A report of the same second is from afterwards only if its process started afterwards.
func (o *Observation) before(restart time.Time) bool {
	return o.ObservedAt.Before(restart) || o.StartedAt.Before(restart) && o.ObservedAt.Before(restart.Add(time.Second))
}

// hint is what an operator must know of a pod that a rotation waits for, "" if nothing.
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

// unlisted blocks everything that is required of a party of pods until its pods are known.
func (p *Party) unlisted() []Blocker {
	if !p.Unlisted {
		return nil
	}
	return []Blocker{{Party: p.Name, Reason: ReasonNotObserved, Message: "is not known by its pods: they have not been listed yet, or certrotation may not list and watch pods here"}}
}

// unpopulated reports whether no pod of a party of pods runs now.
func unpopulated(p *Party) bool { return p.OfPods && !p.Unlisted && len(p.Members) == 0 }

// populatedName is the name of a party of pods with a hash of its selector. That one selector has selected a pod
// proves nothing for another selector in its place.
func (p *Party) populatedName() string {
	if p.Selector == "" {
		return p.Name
	}
	sum := sha256.Sum256([]byte(p.Selector))
	return p.Name + "/" + hex.EncodeToString(sum[:4])
}

// neverPopulated names a party whose selector has never selected a pod, "" for none.
func neverPopulated(parties []*Party) string {
	for _, p := range parties {
		if unpopulated(p) && !p.empty {
			return fmt.Sprintf("; relying party %s would, but its selector has never chosen a pod: put it right, or start a pod", p.Name)
		}
	}
	return ""
}
