// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/registry/display"
	"certrotation.dev/registry/trust"
)

// census groups the living pods of a workload by their template. All lists are names.
type census struct {
	// current were made of a template with the content, former were not.
	current, former []string
	// terminating are the pods of former that are being deleted.
	terminating []string
	// unready describes each pod that is not Ready. kept are the pods of former that are not Ready and not being
	// deleted.
	unready, kept []string
	// gated are pods in which nothing runs and whose content was replaced since. stuck reports whether one of them
	// waits forever at its start gate, because the mounted content does not name its content as superseded.
	gated []*corev1.Pod
	stuck bool
	// living are the pods that are not being deleted, by name.
	living map[string]*corev1.Pod
	// leaving counts the pods that are being deleted.
	leaving int
}

// count groups the pods of a workload. It skips pods that have Succeeded or Failed: they hold nothing and are not
// replaced.
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

// owns reports whether a pod belongs to the workload. The pods of a Deployment belong to its ReplicaSets.
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

// troubleOf returns why a pod is not Ready, "" if it is.
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

func (c *census) unreadyText() string {
	if len(c.unready) == 0 {
		return ""
	}
	return ": pod " + display.Names(c.unready)
}

func without(names, others []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(others, name) })
}
