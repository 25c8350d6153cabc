// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"testing"

	"pgregory.net/rapid"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/registry/trust"
	"certrotation.dev/test/property"
)

// drawn returns any Deployment or StatefulSet that the API may show, with any pods.
func drawn(t *rapid.T) (*Order, *Workload, []corev1.Pod) {
	count := func(name string) int32 { return int32(rapid.IntRange(0, 4).Draw(t, name)) }
	hash := rapid.SampledFrom([]string{formerHash, supersededHash, newestHash})
	o := due(rapid.SampledFrom([]trust.WorkloadKind{trust.Deployment, trust.StatefulSet}).Draw(t, "kind"))
	w := &Workload{
		Kind: o.Workload.Kind, Name: "web", UID: "uid-web", Labels: map[string]string{"app": "web"},
		Annotations:   map[string]string{contentKey: hash.Draw(t, "template")},
		Configuration: rapid.SampledFrom([]string{"mesh", "mesh", "", "other"}).Draw(t, "consent"),
		Generation:    3, Observed: int64(rapid.IntRange(2, 3).Draw(t, "observed")),
		Wanted: count("wanted"), Updated: count("updated"), Available: count("available"), Former: count("former"),
		Paused: rapid.Bool().Draw(t, "paused"), OnDelete: rapid.Bool().Draw(t, "onDelete"), Ordered: rapid.Bool().Draw(t, "ordered"),
		Partition: int32(rapid.SampledFrom([]int{0, 0, 1, 9}).Draw(t, "partition")),
	}
	if rapid.Bool().Draw(t, "owned") {
		w.Owner = &metav1.OwnerReference{Kind: "Etcd", Name: "main"}
	}
	if rapid.Bool().Draw(t, "overdue") {
		w.progress = &appsv1.DeploymentCondition{Status: corev1.ConditionFalse, Reason: "ProgressDeadlineExceeded"}
	}
	edits := rapid.SampledFrom([]func(*corev1.Pod){func(*corev1.Pod) {}, terminating, evicted, crashing, unscheduled, gated})
	var pods []corev1.Pod
	for i := range rapid.IntRange(0, 5).Draw(t, "pods") {
		pods = append(pods, pod(w.Kind, i, hash.Draw(t, "content"), edits.Draw(t, "state")))
	}
	return o, w, pods
}

// TestAssessProperties: for anything the API shows, only a consenting, unpaused workload without an owner is
// written. Only a finished one is done, and every wait has a reason.
func TestAssessProperties(t *testing.T) {
	property.Check(t, func(t *rapid.T) {
		o, w, pods := drawn(t)
		has := w.Annotations[contentKey] == newestHash
		v := Assess(o, w, pods, nil)
		switch v.State {
		case Write:
			if has || w.Configuration != "mesh" || w.Owner != nil || w.Paused {
				t.Fatalf("%+v is written", w)
			}
			if waits := count(w, pods, o).stuck; w.Wanted > 0 && !w.OnDelete && (w.Partition > 0 || !waits && (w.Available < w.Wanted || w.Former > 0 || w.overdue())) {
				t.Fatalf("%+v is written while it is not at rest", w)
			}
			w.Annotations = map[string]string{contentKey: newestHash}
			if after := Assess(o, w, pods, nil); after.State == Write {
				t.Fatal("it is written twice")
			}
		case Done:
			if !has || w.Available < w.Wanted {
				t.Fatalf("%+v is done", w)
			}
			for i := range pods {
				p := &pods[i]
				if p.Status.Phase != corev1.PodFailed && p.Annotations[contentKey] != newestHash {
					t.Fatalf("done, and %s lives", p.Name)
				}
			}
		case Replace:
			for _, p := range v.Pods {
				if !has || !w.Ordered || p.Status.Phase != corev1.PodPending || p.DeletionTimestamp != nil || p.Annotations[contentKey] == newestHash {
					t.Fatalf("%s is deleted", p.Name)
				}
			}
		case Wait, Hold:
			if v.Reason == "" || v.Message == "" {
				t.Fatalf("%+v", v)
			}
		}
	})
}
