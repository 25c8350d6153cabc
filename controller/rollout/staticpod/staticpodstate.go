// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package staticpod

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/registry/nodepod"
	"certrotation.dev/registry/rollout"
)

// The kubelet sets these annotations on the mirror pod of a static pod.
const (
	annotationSource = "kubernetes.io/config.source"
	annotationMirror = "kubernetes.io/config.mirror"
	sourceFile       = "file"
)

// observePods lists the pods of the namespace once, so that mirror pods, installers and pruners are of one moment.
func (l *look) observePods(ctx context.Context) error {
	list, err := l.client.CoreV1().Pods(l.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list pods: %w", err)
	}
	for i := range list.Items {
		pod := &list.Items[i]
		if pod.Labels[nodepod.LabelRollout] == l.name && pod.Labels[labelApp] == appInstaller {
			l.observeInstaller(pod)
		}
		if pod.Labels[nodepod.LabelRollout] == l.name && pod.Labels[labelApp] == appPruner {
			l.observePruner(pod)
		}
		l.observeStaticPod(pod)
	}
	return nil
}

// observeStaticPod is library-go's StaticPodStateController. It reads static pods from their mirror pods.
func (l *look) observeStaticPod(pod *corev1.Pod) {
	_, mirror := pod.Annotations[annotationMirror]
	if !mirror || pod.Annotations[annotationSource] != sourceFile {
		return
	}
	for i := range l.state.Nodes {
		n := &l.state.Nodes[i]
		if pod.Spec.NodeName != n.Name {
			continue
		}
		if pod.Name == nodepod.PodName(l.name, n.Name) {
			n.Pod = staticPod(pod)
		}
		for j := range n.Companions {
			if c := &n.Companions[j]; pod.Name == nodepod.PodName(c.Name, n.Name) {
				c.Pod = staticPod(pod)
			}
		}
	}
}

func staticPod(pod *corev1.Pod) *rollout.StaticPod {
	out := &rollout.StaticPod{
		RestartHash: pod.Annotations[nodepod.AnnotationRestartHash],
		Phase:       string(pod.Status.Phase),
		Changed:     pod.CreationTimestamp.Time,
		Trouble:     trouble(pod),
	}
	out.Revision, _ = nodepod.ParseNumber(pod.Labels[nodepod.LabelRevision])
	if pod.Status.StartTime != nil {
		out.Started = pod.Status.StartTime.Time
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			out.Ready = c.Status == corev1.ConditionTrue && pod.Status.Phase == corev1.PodRunning
			out.Changed = c.LastTransitionTime.Time
		}
	}
	return out
}

func trouble(pod *corev1.Pod) string {
	var out []string
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range statuses {
			if text := containerTrouble(&statuses[i]); text != "" {
				out = append(out, text)
			}
		}
	}
	if len(out) == 0 && pod.Status.Phase == corev1.PodFailed {
		out = append(out, strings.TrimSuffix("it has failed: "+pod.Status.Reason+": "+pod.Status.Message, ": "))
	}
	return strings.Join(out, "; ")
}

// podInitializing is the reason of containers that wait for the init containers of their pod, which is no fault.
const podInitializing = "PodInitializing"

func containerTrouble(s *corev1.ContainerStatus) string {
	switch w, t := s.State.Waiting, s.State.Terminated; {
	case w != nil && w.Reason != podInitializing && w.Reason != "":
		return strings.TrimSuffix(fmt.Sprintf("container %s waits: %s: %s", s.Name, w.Reason, w.Message), ": ")
	case t != nil && t.ExitCode != 0:
		return strings.TrimSuffix(fmt.Sprintf("container %s has ended with exit code %d: %s: %s", s.Name, t.ExitCode, t.Reason, t.Message), ": ")
	}
	return ""
}

// Parts of how long the kubelet may take to run what an installer has written, as in library-go's
// MissingStaticPodController. The former process may take its grace period; on a single node the API is away for a
// while too.
const (
	defaultGrace     = 30 * time.Second
	missingPatience  = 150 * time.Second
	missingSingleAdd = 30 * time.Second
)

func missingAfter(template *corev1.Pod, nodes int) time.Duration {
	grace := defaultGrace
	if template != nil && template.Spec.TerminationGracePeriodSeconds != nil {
		grace = time.Duration(*template.Spec.TerminationGracePeriodSeconds) * time.Second
	}
	if nodes == 1 {
		return grace + missingPatience + missingSingleAdd
	}
	return grace + missingPatience
}
