// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/registry/truncate"
	"certrotation.dev/registry/trust"
)

// census are the living pods of a workload by what they were made of, by name.
type census struct {
	// current were made of a template with the content, and former were not.
	current, former []string
	// terminating are those of former that were deleted already.
	terminating []string
	// unready say of each pod that is not Ready what it is, and kept are those of former that are so and were not deleted.
	unready, kept []string
	// gated are pods in which nothing runs and that name a content which was replaced since. stuck says that one of them waits
	// for ever at its start gate, as what is mounted will never say that it has replaced that content.
	gated []*corev1.Pod
	stuck bool
	// living are those that were not deleted, by name.
	living map[string]*corev1.Pod
	// leaving counts those that were deleted.
	leaving int
}

// count the pods of a workload. One whose containers have ended for good holds nothing and is not replaced.
func count(w *Workload, pods []corev1.Pod, o *Order) *census {
	out, content := &census{living: map[string]*corev1.Pod{}}, o.Content
	for i := range pods {
		pod := &pods[i]
		if !w.owns(pod) || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		if pod.DeletionTimestamp == nil {
			out.living[pod.Name] = pod
		} else {
			out.leaving++
		}
		switch {
		case !carries(pod.Annotations, content):
			out.former = append(out.former, pod.Name)
			if pod.DeletionTimestamp != nil {
				out.terminating = append(out.terminating, pod.Name)
			}
		case pod.DeletionTimestamp == nil:
			out.current = append(out.current, pod.Name)
		}
		trouble := troubleOf(pod)
		if trouble == "" {
			continue
		}
		out.unready = append(out.unready, pod.Name+" "+trouble)
		if pod.DeletionTimestamp != nil || carries(pod.Annotations, content) {
			continue
		}
		out.kept = append(out.kept, pod.Name)
		if pod.Status.Phase == corev1.PodPending && pod.Spec.NodeName != "" && trust.NamesOther(pod.Annotations, content, nil) {
			out.gated = append(out.gated, pod)
			out.stuck = out.stuck || trust.NamesOther(pod.Annotations, content, o.Superseded)
		}
	}
	for _, names := range [][]string{out.current, out.former, out.terminating, out.unready, out.kept} {
		slices.Sort(names)
	}
	return out
}

// owns says whether a pod is one of the workload. Those of a Deployment belong to its ReplicaSets.
func (w *Workload) owns(pod *corev1.Pod) bool {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil {
		return false
	}
	if w.Kind == trust.Deployment {
		return owner.Kind == "ReplicaSet"
	}
	return owner.UID == w.UID
}

// troubleOf says why a pod is not Ready, "" if it is.
func troubleOf(pod *corev1.Pod) string {
	if pod.DeletionTimestamp != nil {
		return "is terminating"
	}
	for i := range pod.Status.Conditions {
		switch condition := &pod.Status.Conditions[i]; {
		case condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue:
			return ""
		case condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse:
			return "has no node"
		}
	}
	for _, containers := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range containers {
			if waiting := containers[i].State.Waiting; waiting != nil && waiting.Reason != "" {
				return fmt.Sprintf("is not ready (container %s: %s)", containers[i].Name, waiting.Reason)
			}
		}
	}
	return "is not ready"
}

// unreadyText lists the pods that are not Ready behind a text, nothing if there are none.
func (c *census) unreadyText() string {
	if len(c.unready) == 0 {
		return ""
	}
	return ": pod " + truncate.Names(c.unready)
}

// without are the names that are not among others.
func without(names, others []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(others, name) })
}
