// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

// Several things that happen to a pod one right after the other, where one of them alone is seldom followed by the next
// before somebody looks.

// relapses restarts the container of a pod with the oldest that its kubelet may have cached, and the pod says nothing of it.
func (w *world) relapses() bool {
	p := w.anyPod()
	if p == nil || !p.up || !w.mayBeLate() || !w.startable(p) {
		return false
	}
	oldest := w.allMountable()[0]
	if !w.begins(p, oldest, oldest, true) {
		return false
	}
	w.say("the pod %s has crashed, and is started again", p.name)
	w.counts.event(relapse)
	return true
}

// followsByName deletes a pod of a workload whose pods have names of their own: the next one of its name starts with the
// oldest that its kubelet may have cached, and says nothing.
func (w *world) followsByName() bool {
	p := w.anyPod()
	if p == nil || !p.up || !w.topology.stateful || w.wrong || p.pod.unlabelled || !w.mayBeLate() || !w.followed(p) {
		return false
	}
	oldest := w.allMountable()[0]
	w.say("the pod %s is deleted, and another one of its name follows", p.name)
	p.pod.succeeded = true
	w.isGone(p)
	next := w.process(p.member)
	if w.startable(next) && w.begins(next, oldest, oldest, true) {
		w.counts.event(sameNameAgain)
	}
	return true
}

// joinsLate starts a pod more, with the oldest that its kubelet may have cached, and it says nothing: an informer that is
// behind does not know of it.
func (w *world) joinsLate() bool {
	l := one(w.dice, "workload", w.workloads)
	if w.wrong || !w.mayBeLate() || len(w.podsOf(l)) > 3 {
		return false
	}
	oldest, p := w.allMountable()[0], w.createPod(l)
	w.say("%s has the pod %s more", l.party, p.name)
	l.zero = false
	l.replicas++
	if w.startable(p) && w.begins(p, oldest, oldest, true) {
		w.counts.event(lateJoin)
	}
	return true
}
