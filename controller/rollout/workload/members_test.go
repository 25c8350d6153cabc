// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/quorum"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
	"certrotation.dev/test/apifake"
)

var etcd = trust.Workload{Kind: trust.StatefulSet, Name: "etcd"}

// clustered is a world with an etcd of three members that must restart. The API server answers evictions with
// refusal.
func clustered(t *testing.T, refusal *error) (w *world, evicted *[]string) {
	t.Helper()
	w, evicted = newWorld(t), &[]string{}
	w.due = []trust.Workload{etcd}
	w.quorums = map[inventory.NamedWorkload]*configv1alpha1.Quorum{{Configuration: "mesh", Workload: etcd}: {Strategy: configv1alpha1.QuorumAutomatic}}
	w.answers = func(pods []*corev1.Pod) (quorum.Observation, error) {
		var answers []quorum.Answer
		listed := []quorum.Listed{{ID: 1, Name: "etcd-0"}, {ID: 2, Name: "etcd-1"}, {ID: 3, Name: "etcd-2"}}
		for i, pod := range pods {
			a := quorum.Answer{Node: pod.Name, MemberID: uint64(i + 1), ClusterID: 7, Leader: 1, Healthy: true, Confirmed: true, Listed: listed, At: w.clock.Now()}
			for j := range pods {
				if j != i {
					a.Connected = append(a.Connected, uint64(j+1))
				}
			}
			answers = append(answers, a)
		}
		return quorum.Observe(answers), nil
	}
	labels := map[string]string{"app": "etcd"}
	w.put(&appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: "etcd", UID: "uid-etcd", Annotations: map[string]string{trust.AnnotationConfiguration: "mesh"}},
		Spec: appsv1.StatefulSetSpec{
			Replicas: new(int32(3)), Selector: &metav1.LabelSelector{MatchLabels: labels},
			UpdateStrategy: appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType},
			Template:       corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: map[string]string{contentKey: newestHash}}},
		},
		Status: appsv1.StatefulSetStatus{ObservedGeneration: 1, Replicas: 3, AvailableReplicas: 3},
	})
	for i := range 3 {
		w.member(i, formerHash)
	}
	w.api.Answer("pods/eviction", func(r *apifake.Request) (runtime.Object, error) {
		e := r.Object.(*policyv1.Eviction)
		if only := e.DeleteOptions.Preconditions; only == nil || only.UID == nil || only.ResourceVersion == nil {
			t.Errorf("%s is evicted in whatever version it is", e.Name)
		}
		if *refusal != nil {
			return nil, *refusal
		}
		*evicted = append(*evicted, e.Name)
		return &metav1.Status{}, nil
	})
	return w, evicted
}

// member puts an etcd pod that runs with a content.
func (w *world) member(ordinal int, hash string) {
	w.t.Helper()
	w.put(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: home, Name: fmt.Sprintf("etcd-%d", ordinal), Labels: map[string]string{"app": "etcd"}, Annotations: map[string]string{contentKey: hash},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "etcd", UID: "uid-etcd", Controller: new(true)}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	})
}

// TestMembersAreEvicted evicts one member at a time, at the observed resource version, and the leader last.
func TestMembersAreEvicted(t *testing.T) {
	var refusal error
	w, evicted := clustered(t, &refusal)
	c := w.controller()
	for _, ordinal := range []int{2, 1, 0} {
		if again := w.look(c); again != nextLook {
			t.Errorf("looks again after %s", again)
		}
		w.member(ordinal, newestHash)
	}
	if again := w.look(c); again != 0 {
		t.Errorf("done: looks again after %s", again)
	}
	if diff := cmp.Diff([]string{"etcd-2", "etcd-1", "etcd-0"}, *evicted); diff != "" {
		t.Errorf("evictions (-want +got):\n%s", diff)
	}
	if w.said("Normal WorkloadPodReplaced StatefulSet/etcd: pod etcd-2 was evicted") != 1 {
		t.Errorf("events %q", w.events)
	}
}

// TestMembersHold: what prevents the replacement of members is recorded and told, and no member is evicted.
func TestMembersHold(t *testing.T) {
	for name, tt := range map[string]struct {
		refusal error
		prepare func(*world)
		says    string
	}{
		"a budget": {refusal: apierrors.NewTooManyRequests("the budget needs 3", 0), says: "(DisruptionBudget)"},
		"nobody can be asked": {prepare: func(w *world) {
			w.answers = func([]*corev1.Pod) (quorum.Observation, error) {
				return quorum.Observation{}, errors.New("no such Secret")
			}
		}, says: "(QuorumNotSafe)"},
	} {
		t.Run(name, func(t *testing.T) {
			refusal := tt.refusal
			w, evicted := clustered(t, &refusal)
			if tt.prepare != nil {
				tt.prepare(w)
			}
			c := w.controller()
			w.look(c)
			w.clock.Step(patience)
			if again := w.look(c); again != nextAppeal || len(*evicted) != 0 {
				t.Errorf("looks again after %s, evicted %v", again, *evicted)
			}
			if diff := cmp.Diff(1, w.said(tt.says)); diff != "" {
				t.Errorf("events %q, held %v", w.events, w.held())
			}
		})
	}
}
