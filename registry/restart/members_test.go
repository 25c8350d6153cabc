// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/quorum"
	"certrotation.dev/registry/trust"
	"certrotation.dev/test/property"
)

// members returns an order whose pods are the members of an etcd cluster.
func members() *Order {
	o := due(trust.StatefulSet)
	o.Quorum = &configv1alpha1.Quorum{Strategy: configv1alpha1.QuorumAutomatic}
	return o
}

func onDelete(s *appsv1.StatefulSet) {
	s.Spec.UpdateStrategy.Type = appsv1.OnDeleteStatefulSetStrategyType
}

// answering returns a cluster with one member for each letter: h is healthy, d is down. The leader is the last
// healthy one.
func answering(states string) *Cluster {
	var listed []quorum.Listed
	leader := uint64(strings.LastIndexByte(states, 'h') + 1)
	for i := range states {
		listed = append(listed, quorum.Listed{ID: uint64(i + 1), Name: fmt.Sprintf("web-%d", i)})
	}
	var answers []quorum.Answer
	for i, state := range states {
		a := quorum.Answer{Node: fmt.Sprintf("web-%d", i), At: noon}
		if state != 'h' {
			a.Failure = "it cannot be reached"
			answers = append(answers, a)
			continue
		}
		a.MemberID, a.ClusterID, a.Leader, a.Listed = uint64(i+1), 7, leader, listed
		a.Healthy = strings.Count(states, "h") > len(states)/2
		a.Confirmed = a.Healthy
		for j, other := range states {
			if j != i && other == 'h' {
				a.Connected = append(a.Connected, uint64(j+1))
			}
		}
		answers = append(answers, a)
	}
	return &Cluster{Observation: quorum.Observe(answers)}
}

func TestMembersOneAtATime(t *testing.T) {
	const kind = trust.StatefulSet
	available := func(n int32) func(*appsv1.StatefulSet) {
		return func(s *appsv1.StatefulSet) { s.Status.AvailableReplicas = n }
	}
	of := func(hashes string, edits ...func(*corev1.Pod)) []corev1.Pod {
		var out []corev1.Pod
		for i, letter := range hashes {
			hash, edit := map[rune]string{'f': formerHash, 'n': newestHash}[letter], func(*corev1.Pod) {}
			if i < len(edits) && edits[i] != nil {
				edit = edits[i]
			}
			out = append(out, pod(kind, i, hash, edit))
		}
		return out
	}
	for name, tt := range map[string]struct {
		set     *appsv1.StatefulSet
		pods    []corev1.Pod
		cluster *Cluster
		order   func(*Order)
		want    State
		why     trust.Reason
		says    string
	}{
		"its controller would replace them": {
			set: statefulSet(formerHash), pods: of("fff"), want: Hold, why: ReasonNotOnDelete, says: `kubectl patch -n demo statefulset web`,
		},
		"... also when the template is written": {set: statefulSet(newestHash), pods: of("fff"), want: Hold, why: ReasonNotOnDelete},
		"the template disturbs nobody":          {set: with(statefulSet(formerHash), onDelete, available(1)), pods: of("fff", crashing, crashing), want: Write},
		"its controller has not seen the template": {
			set: with(statefulSet(newestHash), onDelete, func(s *appsv1.StatefulSet) { s.Status.ObservedGeneration = 2 }), pods: of("fff"), cluster: answering("hhh"),
			want: Wait, why: ReasonNotSeen,
		},
		"nobody was asked": {set: with(statefulSet(newestHash), onDelete), pods: of("fff"), want: Ask},
		"they cannot be asked": {
			set: with(statefulSet(newestHash), onDelete), pods: of("fff"), cluster: &Cluster{Failure: "no such Secret"}, want: Hold, why: ReasonQuorum, says: "no such Secret",
		},
		"the first, which is not the leader": {set: with(statefulSet(newestHash), onDelete), pods: of("fff"), cluster: answering("hhh"), want: Evict, says: "web-1: "},
		"the leader at last":                 {set: with(statefulSet(newestHash), onDelete), pods: of("nnf"), cluster: answering("hhh"), want: Evict, says: "web-2: "},
		"one that is broken first":           {set: with(statefulSet(newestHash), onDelete, available(2)), pods: of("fff", crashing), cluster: answering("dhh"), want: Evict, says: "web-0: "},
		"one whose pod is not ready":         {set: with(statefulSet(newestHash), onDelete, available(2)), pods: of("fff", crashing), cluster: answering("hhh"), want: Evict, says: "web-0: "},
		"two are broken": {
			set: with(statefulSet(newestHash), onDelete, available(1)), pods: of("fff", crashing, crashing), cluster: answering("ddh"), want: Hold, why: ReasonQuorum,
			says: "may not be: ",
		},
		"one that was replaced terminates": {
			set: with(statefulSet(newestHash), onDelete), pods: of("fff", nil, terminating), cluster: answering("hhh"), want: Wait, why: ReasonRolling, says: "web-1 is terminating",
		},
		"... while another one is broken, which five could repair": {
			set:  with(statefulSet(newestHash), onDelete, available(3), func(s *appsv1.StatefulSet) { *s.Spec.Replicas = 5 }),
			pods: of("fffff", crashing, terminating), cluster: answering("ddhhh"), want: Wait, why: ReasonRolling,
		},
		"one is missing, which is not made before one that is broken": {
			set:  with(statefulSet(newestHash), onDelete, available(3), func(s *appsv1.StatefulSet) { *s.Spec.Replicas = 5 }),
			pods: of("ffff", crashing), cluster: answering("dhhhd"), want: Evict, says: "web-0: ",
		},
		"one that was replaced is not there yet": {
			set: with(statefulSet(newestHash), onDelete, available(2)), pods: of("ff"), cluster: answering("hhd"), want: Wait, why: ReasonRolling,
		},
		"... and another one is broken": {
			set: with(statefulSet(newestHash), onDelete, available(1)), pods: of("ff", crashing), cluster: answering("dhd"), want: Hold, why: ReasonQuorum,
		},
		"one that was replaced is not ready": {
			set: with(statefulSet(newestHash), onDelete, available(2)), pods: of("ffn", nil, nil, crashing), cluster: answering("hhd"), want: Wait, why: ReasonRolling,
			says: "web-2 is not ready",
		},
		"... not for long enough": {
			set: with(statefulSet(newestHash), onDelete, available(2)), pods: of("ffn"), cluster: answering("hhh"), want: Wait, why: ReasonRolling,
		},
		"one that was replaced is available and does not take part": {
			set: with(statefulSet(newestHash), onDelete), pods: of("ffn"), cluster: answering("hhd"), want: Wait, why: ReasonNotRejoined, says: "web-2",
		},
		"all were replaced": {set: with(statefulSet(newestHash), onDelete), pods: of("nnn"), cluster: answering("hhh"), want: Done},
		"all were replaced, and one does not take part": {
			set: with(statefulSet(newestHash), onDelete), pods: of("nnn"), cluster: answering("hdh"), want: Wait, why: ReasonNotRejoined, says: "web-1",
		},
		"scaled to zero":    {set: with(statefulSet(newestHash), onDelete, func(s *appsv1.StatefulSet) { *s.Spec.Replicas = 0 }), want: Done},
		"a pod at its gate": {set: with(statefulSet(newestHash), onDelete, available(2)), pods: of("fff", nil, nil, gated), cluster: answering("hhd"), want: Replace},
		"the only member":   {set: with(statefulSet(newestHash), onDelete, func(s *appsv1.StatefulSet) { *s.Spec.Replicas = 1 }), pods: of("f"), cluster: answering("h"), want: Evict, says: "web-0: "},
		"a strategy for more": {
			set: with(statefulSet(newestHash), onDelete), pods: of("fff"), cluster: answering("hhh"), want: Hold, why: ReasonQuorum, says: "does not fit",
			order: func(o *Order) { o.Quorum.Strategy = configv1alpha1.QuorumSingleNode },
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := members()
			if tt.order != nil {
				tt.order(o)
			}
			v := Assess(o, read(t, tt.set), tt.pods, tt.cluster)
			if v.State == Evict {
				v.Message = v.Pods[0].Name + ": " + v.Message
			}
			if v.State != tt.want || v.Reason != tt.why || !strings.Contains(v.Message, tt.says) {
				t.Errorf("%s %s: %s\nwant %s %s: %s", v.State, v.Reason, v.Message, tt.want, tt.why, tt.says)
			}
		})
	}
}

// TestNeverTwoMembersAway restarts clusters in which pods break, recover and are deleted by others at any time. At
// each eviction the other members have a quorum. No healthy member is evicted while an earlier evicted one is
// away.
func TestNeverTwoMembersAway(t *testing.T) {
	property.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5).Draw(t, "members")
		hash, state := make([]string, n), make([]byte, n)
		for i := range n {
			hash[i], state[i] = formerHash, 'h'
		}
		ours := map[int]bool{}
		for range 30 {
			if rapid.IntRange(0, 2).Draw(t, "meddle") == 0 {
				// h runs, d is broken, t terminates, g is gone.
				state[rapid.IntRange(0, n-1).Draw(t, "who")] = rapid.SampledFrom([]byte("hhdg")).Draw(t, "how")
			}
			maps.DeleteFunc(ours, func(who int, _ bool) bool { return state[who] == 'h' })
			w, pods := clusterOf(hash, state)
			well := strings.Map(func(r rune) rune {
				if r == 'h' {
					return 'h'
				}
				return 'd'
			}, string(state))
			v := Assess(members(), w, pods, answering(well))
			switch v.State {
			case Evict:
				who := ordinalOf(v.Pods[0].Name)
				others := strings.Count(well[:who]+well[who+1:], "h")
				if n > 2 && others <= n/2 {
					t.Fatalf("%s is evicted, and %d of %d others are well: %s", v.Pods[0].Name, others, n, v.Message)
				}
				if len(ours) > 0 && state[who] == 'h' {
					t.Fatalf("%s is evicted while %v are away by our hand", v.Pods[0].Name, ours)
				}
				if hash[who] == newestHash || len(v.Pods) != 1 {
					t.Fatalf("%v are evicted", v.Pods)
				}
				ours[who], hash[who], state[who] = true, newestHash, rapid.SampledFrom([]byte("tgd")).Draw(t, "then")
			case Done:
				if slices.Contains(hash, formerHash) || strings.Contains(well, "d") {
					t.Fatalf("done with %q of %q", hash, state)
				}
			case Write, Replace, Ask:
				t.Fatalf("%s", v.State)
			case Wait, Hold:
			}
			if at := slices.Index(state, 't'); at >= 0 && rapid.Bool().Draw(t, "gone") {
				state[at] = 'h'
			}
		}
	})
}

// clusterOf returns a StatefulSet whose pods have the given contents and states.
func clusterOf(hash []string, state []byte) (*Workload, []corev1.Pod) {
	w := &Workload{
		Kind: trust.StatefulSet, Name: "web", UID: "uid-web", Labels: map[string]string{"app": "web"}, Annotations: map[string]string{contentKey: newestHash},
		Configuration: "mesh", Generation: 3, Observed: 3, Wanted: int32(len(hash)), OnDelete: true, Ordered: true,
	}
	var pods []corev1.Pod
	for i := range hash {
		switch state[i] {
		case 'h':
			w.Available++
			pods = append(pods, pod(w.Kind, i, hash[i]))
		case 'd':
			pods = append(pods, pod(w.Kind, i, hash[i], crashing))
		case 't':
			// A terminating pod was made from the former template.
			pods = append(pods, pod(w.Kind, i, formerHash, terminating))
		}
	}
	return w, pods
}
