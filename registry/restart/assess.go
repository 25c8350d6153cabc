// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/registry/display"
	"certrotation.dev/registry/trust"
)

// Assess returns what to do with a due workload; w is nil if it does not exist. pods are the pods that its selector
// chooses. If they are the members of an etcd cluster, cluster is their current answers, nil if they were not asked.
// If these answers matter, the verdict is Ask.
func Assess(o *Order, w *Workload, pods []corev1.Pod, cluster *Cluster) Verdict {
	if v := refused(o, w); v != nil {
		return *v
	}
	c := count(w, pods, o)
	if !carries(w.Annotations, o.Content) {
		return begin(w, c)
	}
	if o.Quorum != nil {
		return followMembers(o, w, c, cluster)
	}
	return follow(w, c)
}

// refused returns the verdict on a workload that must not be written, nil if it may be.
func refused(o *Order, w *Workload) *Verdict {
	said := func(v Verdict) *Verdict { return &v }
	if w == nil {
		return said(hold(trust.ReasonMissing, "does not exist: create it, or take it out of workloads of relying party %s", o.For[0].Party))
	}
	if w.Deleting != nil {
		return said(wait(trust.ReasonDeleting, "is being deleted").since(w.Deleting.Time))
	}
	for i := range o.For {
		n := &o.For[i]
		switch {
		case w.Configuration == "":
			return said(hold(trust.ReasonNotAdopted, "has to be restarted and does not consent to RotationConfiguration/%s: kubectl annotate -n %s %s %s %s=%s",
				n.Configuration, o.Namespace, w.Kind, w.Name, trust.AnnotationConfiguration, n.Configuration))
		case w.Configuration != n.Configuration:
			return said(hold(trust.ReasonNotAdopted, "has to be restarted and consents to RotationConfiguration/%s, not to RotationConfiguration/%s: only one can have it restarted",
				w.Configuration, n.Configuration))
		case !n.chooses(w):
			return said(hold(ReasonNotOfParty, "is none of relying party %s, whose selector %q does not choose its pods: put the selector right, or the workloads of the party",
				n.Party, n.Selector))
		}
	}
	if w.Owner != nil {
		return said(hold(ReasonForeignController, "is written by %s/%s, which would take a change of its template back: have that write the annotations %s into the template, or restart the pods yourself",
			w.Owner.Kind, w.Owner.Name, o.contentText()))
	}
	if o.Quorum != nil && !w.OnDelete {
		return said(w.notOnDelete(o.Namespace))
	}
	return nil
}

// begin decides whether to write a template that does not have the content.
func begin(w *Workload, c *census) Verdict {
	switch {
	case w.Paused:
		return w.paused()
	case w.Wanted == 0 || w.OnDelete:
		// The new template disturbs no pod.
		return Verdict{State: Write}
	case w.Partition > 0:
		return w.partitioned()
	case w.Observed < w.Generation:
		return w.unseen()
	case c.stuck:
		// No matter who began this rollout: it cannot end before the template names the published content.
		return Verdict{State: Write}
	case w.overdue():
		return w.exceeded()
	case w.Former > 0 || w.Updated < w.Wanted:
		return wait(ReasonRolling, "is in a rollout that certrotation did not start, %d of %d pods have the newest template%s; its restart begins when that has ended",
			w.Updated, w.Wanted, c.unreadyText()).since(w.progressed())
	case w.Available < w.Wanted:
		return wait(ReasonUnavailable, "has to be restarted and only %d of %d pods are available%s; its restart would take one more", w.Available, w.Wanted, c.unreadyText())
	}
	return Verdict{State: Write}
}

// follow assesses the pods of a workload whose template has the content.
func follow(w *Workload, c *census) Verdict {
	deletable := len(c.former) - len(c.terminating)
	switch {
	case len(c.former) == 0 && w.Observed >= w.Generation && len(c.current) >= int(w.Wanted) && w.Available >= w.Wanted:
		return Verdict{State: Done}
	case w.Paused && deletable > 0:
		return w.paused()
	case w.Observed < w.Generation:
		return w.unseen()
	case w.OnDelete && deletable > 0:
		return hold(ReasonOnDelete, "is updated OnDelete, and pods started before its template was changed: delete %s", display.Names(without(c.former, c.terminating)))
	case w.Partition > 0 && deletable > 0 && w.keepsBack(c):
		return w.partitioned()
	case w.Ordered && len(c.gated) > 0:
		return Verdict{State: Replace, Pods: c.gated}
	case w.Ordered && len(c.kept) > 0:
		return hold(ReasonUnreadyKept, "replaces none of its pods while one is not ready, and %s is not and was made of a former template: delete it", display.Names(c.kept))
	case w.overdue():
		return w.exceeded()
	}
	return wait(ReasonRolling, "is being restarted: %d of %d pods were made of the newest template, %d are available, %d of former ones are left%s%s",
		len(c.current), w.Wanted, w.Available, len(c.former), c.unreadyText(), w.failureText()).since(w.progressed())
}

func (w *Workload) paused() Verdict {
	return hold(ReasonPaused, "has to be restarted and its rollout is paused: kubectl rollout resume %s/%s", w.Kind, w.Name)
}

func (w *Workload) partitioned() Verdict {
	var kept []string
	for i := range min(w.Partition, w.Wanted) {
		kept = append(kept, w.ordinal(i))
	}
	return hold(ReasonPartitioned, "has to be restarted and its updateStrategy has the partition %d, which keeps %s: set the partition to 0", w.Partition, display.Names(kept))
}

func (w *Workload) ordinal(i int32) string { return fmt.Sprintf("%s-%d", w.Name, w.First+i) }

// keepsBack reports whether the partition keeps all former pods that are left.
func (w *Workload) keepsBack(c *census) bool {
	kept := map[string]bool{}
	for i := range min(w.Partition, w.Wanted) {
		kept[w.ordinal(i)] = true
	}
	for _, name := range c.former {
		if !kept[name] {
			return false
		}
	}
	return true
}

func (w *Workload) unseen() Verdict {
	return wait(ReasonNotSeen, "has been changed, and its controller has not seen that yet (generation %d, observed %d): if that lasts, look at kube-controller-manager", w.Generation, w.Observed)
}

func (w *Workload) overdue() bool {
	return w.progress != nil && w.progress.Status == corev1.ConditionFalse && w.progress.Reason == string(ReasonDeadlineExceeded)
}

func (w *Workload) exceeded() Verdict {
	return hold(ReasonDeadlineExceeded, "has a rollout that does not end (%s)%s: put right what keeps its pods from becoming available, or kubectl rollout undo %s/%s; certrotation undoes nothing",
		w.progress.Message, w.failureText(), w.Kind, w.Name).since(w.progress.LastTransitionTime.Time)
}

func (w *Workload) failureText() string {
	if w.failure == nil {
		return ""
	}
	return "; " + w.failure.Message
}
