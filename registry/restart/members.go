// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/registry/quorum"
)

// Cluster holds the answers of an etcd cluster whose members are the pods of a StatefulSet.
type Cluster struct {
	Observation quorum.Observation
	// Failure is why no member could be asked, "" if they were asked.
	Failure string
}

// Members returns the pods to ask, ordered by name: the workload's living pods that are not being deleted.
func Members(o *Order, w *Workload, pods []corev1.Pod) []*corev1.Pod {
	c := count(w, pods, o)
	var out []*corev1.Pod
	for _, pod := range c.living {
		out = append(out, pod)
	}
	slices.SortFunc(out, func(x, y *corev1.Pod) int { return cmp.Compare(x.Name, y.Name) })
	return out
}

func (w *Workload) notOnDelete(namespace string) Verdict {
	return hold(ReasonNotOnDelete, "has a quorum and is not updated OnDelete: its controller would go on to the next member when the one before is available, "+
		"whether it takes part or not: kubectl patch -n %s statefulset %s --type=merge -p '%s'",
		namespace, w.Name, `{"spec":{"updateStrategy":{"type":"OnDelete","rollingUpdate":null}}}`)
}

// followMembers decides which member is replaced next, once the template has the content. Only certrotation replaces
// members: one at a time, when the previous one takes part again.
func followMembers(o *Order, w *Workload, c *census, cluster *Cluster) Verdict {
	former := without(c.former, c.terminating)
	switch {
	case w.Observed < w.Generation:
		return w.unseen()
	case len(c.gated) > 0:
		// Nothing runs in them, so this disturbs no member.
		return Verdict{State: Replace, Pods: c.gated}
	case w.Wanted == 0 && len(c.former)+len(c.current) == 0:
		return Verdict{State: Done}
	case !c.settled(w, former):
		return w.replacing(c)
	case cluster == nil:
		return Verdict{State: Ask}
	case cluster.Failure != "":
		return hold(ReasonQuorum, "has to be restarted, and its members cannot be asked: %s", cluster.Failure)
	}
	for _, name := range c.current {
		if v := quorum.Rejoined(cluster.Observation, name); !v.Safe {
			return wait(ReasonNotRejoined, "is being restarted, and the next member waits for %s: %s", name, v.Message)
		}
	}
	if len(former) == 0 {
		return Verdict{State: Done}
	}
	return replaceNext(o, c, cluster, former)
}

// settled reports whether every replaced member is ready and no pod is on its way. It does not wait for a broken
// former pod, even if its StatefulSet creates no other pod before that one is ready.
func (c *census) settled(w *Workload, former []string) bool {
	for _, name := range c.current {
		if troubleOf(c.living[name]) != "" {
			return false
		}
	}
	switch {
	case c.leaving > 0:
		return false
	case len(former) == 0:
		return len(c.current) >= int(w.Wanted) && w.Available >= w.Wanted
	case len(c.kept) > 0:
		return true
	}
	return len(c.living) >= int(w.Wanted) && w.Available >= w.Wanted
}

func (w *Workload) replacing(c *census) Verdict {
	return wait(ReasonRolling, "is being restarted, one member at a time: %d of %d pods were made of the newest template, %d are available, %d of former ones are left%s",
		len(c.current), w.Wanted, w.Available, len(c.former), c.unreadyText())
}

// replaceNext evicts the next former member, if quorum permits it.
func replaceNext(o *Order, c *census, cluster *Cluster, former []string) Verdict {
	name := slices.MinFunc(former, func(x, y string) int {
		return cmp.Or(cmp.Compare(c.rank(cluster, x), c.rank(cluster, y)), -cmp.Compare(ordinalOf(x), ordinalOf(y)))
	})
	v := quorum.Assess(o.Quorum.Strategy, cluster.Observation, name)
	if !v.Safe {
		return hold(ReasonQuorum, "has to be restarted, and %s may not be: %s", name, v.Message)
	}
	return Verdict{State: Evict, Pods: []*corev1.Pod{c.living[name]}, Message: v.Message}
}

// rank orders members: first those that do not take part, then those with an unready pod, then healthy ones, and the
// leader last.
func (c *census) rank(cluster *Cluster, name string) int {
	m := cluster.Observation.Member(name)
	switch {
	case m == nil || !m.Healthy:
		return 0
	case troubleOf(c.living[name]) != "":
		return 1
	case m.MemberID != cluster.Observation.Leader:
		return 2
	}
	return 3
}

func ordinalOf(pod string) int {
	ordinal, err := strconv.Atoi(pod[strings.LastIndexByte(pod, '-')+1:])
	if err != nil {
		return 0
	}
	return ordinal
}
