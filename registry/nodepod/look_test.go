// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodepod

import (
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"certrotation.dev/test/property"
)

// status returns the record of a revision of the rollout etcd.
func status(number int, hash string, change ...func(*corev1.ConfigMap)) corev1.ConfigMap {
	cm := corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name: StatusName(number), Labels: map[string]string{LabelRollout: "etcd"},
			Annotations: map[string]string{AnnotationReady: "true"},
		},
		Data: map[string]string{StatusKeyRestartHash: hash, StatusKeyContentHash: hash + strconv.Itoa(number)},
	}
	for _, fn := range change {
		fn(&cm)
	}
	return cm
}

func installedOn(uid types.UID) func(*corev1.ConfigMap) {
	return func(cm *corev1.ConfigMap) { cm.Annotations[InstalledAnnotation("a")] = string(uid) }
}

func pod(number, hash string) corev1.Pod {
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "etcd-a", Annotations: map[string]string{
			corev1.MirrorPodAnnotationKey: "x", AnnotationRestartHash: hash, AnnotationRevision: number,
		}},
		Spec: corev1.PodSpec{NodeName: "a"},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		},
	}
}

func TestLookChoosesARevision(t *testing.T) {
	on := installedOn("uid")
	unready := func(cm *corev1.ConfigMap) { cm.Annotations[AnnotationReady] = "false" }
	foreign := func(cm *corev1.ConfigMap) { cm.Labels[LabelRollout] = "other" }
	for _, test := range []struct {
		name     string
		pod      corev1.Pod
		statuses []corev1.ConfigMap
		want     int
	}{
		{"its own", pod("1", "x"), []corev1.ConfigMap{status(1, "x")}, 1},
		{"its own, incomplete", pod("1", "x"), []corev1.ConfigMap{status(1, "x", unready)}, 0},
		{"its own, of another rollout", pod("1", "x"), []corev1.ConfigMap{status(1, "x", foreign)}, 0},
		{"a pod without a number", pod("", "x"), []corev1.ConfigMap{status(1, "x", on)}, 0},
		{"a pod with a strange number", pod("01", "x"), []corev1.ConfigMap{status(1, "x", on)}, 0},
		{"an older one with its content", pod("2", "x"), []corev1.ConfigMap{status(1, "x", on), status(2, "y")}, 0},
		{"leaves, by number and not by name", pod("9", "x"), []corev1.ConfigMap{status(10, "x", on), status(9, "x")}, 10},
		{"leaves twice", pod("1", "x"), []corev1.ConfigMap{status(1, "x"), status(2, "x", on), status(3, "x", on), status(4, "x")}, 3},
		{"leaves that skip a revision", pod("1", "x"), []corev1.ConfigMap{status(1, "x"), status(2, "y"), status(3, "x", on)}, 3},
		{"leaves after another manifest", pod("1", "x"), []corev1.ConfigMap{status(1, "x"), status(2, "y", on), status(3, "x", on)}, 1},
		{"nothing that is known", pod("1", "x"), nil, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, failure := Look(Facts{Rollout: "etcd", Node: "a", NodeUID: "uid", Pods: []corev1.Pod{test.pod}, Statuses: test.statuses})
			if got.Revision.Number != test.want || (failure == "") != (test.want > 0) {
				t.Errorf("revision %d (%s), want %d", got.Revision.Number, failure, test.want)
			}
		})
	}
}

// TestLookNeverGuesses: for any records, the revision found has the restart hash of the pod. It is the pod's own,
// or one recorded as installed on this very node.
func TestLookNeverGuesses(t *testing.T) {
	property.Check(t, func(t *rapid.T) {
		hash := rapid.SampledFrom([]string{"x", "y"})
		uid := rapid.SampledFrom([]types.UID{"", "uid", "old"})
		f := Facts{Rollout: "etcd", Node: "a", NodeUID: "uid"}
		records := map[int]corev1.ConfigMap{}
		for number := range rapid.IntRange(0, 7).Draw(t, "revisions") {
			s := status(number+1, hash.Draw(t, "hash"))
			if on := uid.Draw(t, "installed"); on != "" {
				installedOn(on)(&s)
			}
			records[number+1] = s
			f.Statuses = append(f.Statuses, s)
		}
		own := rapid.IntRange(1, 7).Draw(t, "own")
		runs := hash.Draw(t, "runs")
		f.Pods = []corev1.Pod{pod(strconv.Itoa(own), runs)}
		got, failure := Look(f)
		if failure != "" {
			if records[own].Data[StatusKeyRestartHash] == runs {
				t.Fatalf("revision %d of the manifest is there: %s", own, failure)
			}
			return
		}
		r := records[got.Revision.Number]
		if got.Revision.RestartHash != runs || r.Data[StatusKeyRestartHash] != runs {
			t.Fatalf("revision %d has another restart hash", got.Revision.Number)
		}
		if got.Revision.Number < own {
			t.Fatalf("revision %d is older than the manifest of %d", got.Revision.Number, own)
		}
		if got.Revision.Number != own && r.Annotations[InstalledAnnotation("a")] != "uid" {
			t.Fatalf("revision %d was not installed on the node", got.Revision.Number)
		}
	})
}

func TestConcerns(t *testing.T) {
	for name, want := range map[string]bool{
		"etcd-a": true, "kube-apiserver-a": true, "kube-apiserver-b": false, "installer-3-a": true, "installer-3-retry-1-a": true, "etcd-b": false, "etcd": false, "revision-pruner-3-a": false,
	} {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{NodeName: "a"}}
		if got := Concerns([]string{"etcd", "kube-apiserver"}, p); got != want {
			t.Errorf("%s concerns the node: %t, want %t", name, got, want)
		}
	}
}

// TestLookAtSeveral: all static pods of a node must run the same revision.
func TestLookAtSeveral(t *testing.T) {
	companion := func(number, hash string) *corev1.Pod {
		p := pod(number, hash)
		p.Name, p.UID = "kube-apiserver-a", "u2"
		return &p
	}
	unready := companion("1", "x")
	unready.Status.Conditions = nil
	for name, tc := range map[string]struct {
		companion *corev1.Pod
		want      int
		instance  string
		failure   string
	}{
		"the same revision":    {companion("1", "x"), 1, "u1/0001-01-01T00:00:00Z,u2/0001-01-01T00:00:00Z", ""},
		"another content":      {companion("1", "y"), 0, "u1/0001-01-01T00:00:00Z,u2/0001-01-01T00:00:00Z", "etcd-a and kube-apiserver-a are not of one revision"},
		"another directory":    {companion("2", "x"), 0, "u1/0001-01-01T00:00:00Z,u2/0001-01-01T00:00:00Z", "etcd-a and kube-apiserver-a are not of one revision"},
		"one of somebody else": {companion("", ""), 0, "u1/0001-01-01T00:00:00Z,u2/0001-01-01T00:00:00Z", "kube-apiserver-a was not installed by a revision"},
		"not ready":            {unready, 0, "u1/0001-01-01T00:00:00Z,u2/0001-01-01T00:00:00Z", "kube-apiserver-a is not ready"},
		"gone":                 {nil, 0, "u1/0001-01-01T00:00:00Z", "kube-apiserver-a does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			etcd := pod("1", "x")
			etcd.UID = "u1"
			f := Facts{
				Rollout: "etcd", Companions: []string{"kube-apiserver"}, Node: "a", NodeUID: "uid", Pods: []corev1.Pod{etcd},
				Statuses: []corev1.ConfigMap{status(1, "x"), status(2, "x")},
			}
			if tc.companion != nil {
				f.Pods = append(f.Pods, *tc.companion)
			}
			got, failure := Look(f)
			if got.Revision.Number != tc.want || got.Instance != tc.instance || (failure == "") != (tc.failure == "") || !strings.Contains(failure, tc.failure) {
				t.Errorf("revision %d, instance %s, failure %q; want %d, %s, %q", got.Revision.Number, got.Instance, failure, tc.want, tc.instance, tc.failure)
			}
		})
	}
}
