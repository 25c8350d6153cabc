// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package staticpod

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/registry/revision"
	"certrotation.dev/registry/rollout"
)

// The InstallerStateController of library-go: what the installer pods are like.
func (l *look) observeInstaller(pod *corev1.Pod) {
	number, ok := revision.ParseNumber(pod.Labels[revision.LabelRevision])
	if !ok {
		return
	}
	attempt, err := strconv.Atoi(pod.Annotations[annotationAttempt])
	if err != nil || attempt < 0 {
		attempt = 0
	}
	out := rollout.Installer{
		Name: pod.Name, Node: pod.Spec.NodeName, NodeUID: pod.Annotations[annotationNodeUID],
		Revision: number, Attempt: attempt, Restarts: pod.Annotations[annotationRestarts] == "true",
		Started:  pod.Status.Phase != corev1.PodPending && pod.Status.Phase != "",
		Finished: finished(pod), Succeeded: pod.Status.Phase == corev1.PodSucceeded,
		Deleting: pod.DeletionTimestamp != nil, Created: pod.CreationTimestamp.Time, FinishedAt: l.notLater(endedAt(pod)),
	}
	if len(pod.Spec.Containers) > 0 {
		out.Image = pod.Spec.Containers[0].Image
	}
	out.Waiting, out.Message = progress(pod)
	l.state.Installers = append(l.state.Installers, out)
	l.memory.with(l.id(), func(r *remembered) { r.installers[out.Node] = pod.Name })
}

func finished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// endedAt is when the last container of a pod ended. A pod that kubelet refused has none that did.
func endedAt(pod *corev1.Pod) time.Time {
	at := pod.CreationTimestamp.Time
	for i := range pod.Status.ContainerStatuses {
		if t := pod.Status.ContainerStatuses[i].State.Terminated; t != nil && t.FinishedAt.After(at) {
			at = t.FinishedAt.Time
		}
	}
	return at
}

// progress says what a pod waits for, or how it has ended.
func progress(pod *corev1.Pod) (waiting, message string) {
	for i := range pod.Status.ContainerStatuses {
		s := &pod.Status.ContainerStatuses[i]
		if w := s.State.Waiting; w != nil && w.Reason != podInitializing {
			return w.Reason, w.Message
		}
		if t := s.State.Terminated; t != nil {
			return "", ending(pod, t)
		}
	}
	return "", strings.TrimSuffix(pod.Status.Reason+": "+pod.Status.Message, ": ")
}

func ending(pod *corev1.Pod, t *corev1.ContainerStateTerminated) string {
	text := cmp.Or(outcome(t.Message), t.Reason)
	if pod.Status.Reason != "" {
		text = pod.Status.Reason + ": " + text
	}
	return "exit code " + strconv.Itoa(int(t.ExitCode)) + ": " + text
}

// notLater bounds a time that a node has written, whose clock may be wrong.
func (l *look) notLater(at time.Time) time.Time {
	if at.After(l.now) {
		return l.now
	}
	return at
}

// outcome is what an installer says of its end: a line of JSON, or the end of its log if it did not come to that.
func outcome(message string) string {
	message = strings.TrimSpace(message)
	var said struct{ Reason, Error string }
	if json.Unmarshal([]byte(message[strings.LastIndexByte(message, '\n')+1:]), &said) != nil || said.Error == "" {
		return message
	}
	return said.Reason + ": " + said.Error
}
