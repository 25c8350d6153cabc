// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

// These events combine several things that happen to a pod in a row. Single events seldom follow each other before
// an observation.

// relapses restarts the container of a pod with the oldest content that its kubelet may have cached. The pod does
// not report.
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

// followsByName deletes a pod of a stateful workload. The next pod of that name starts with the oldest content that
// its kubelet may have cached, and does not report.
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

// joinsLate starts one more pod with the oldest content that its kubelet may have cached. It does not report, and
// an informer that lags does not show it.
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
