// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package staticpod

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/controller/internal/apply"
	"certrotation.dev/registry/nodepod"
	"certrotation.dev/registry/rollout"
)

// runInstaller is library-go's InstallerController. AlreadyExists means that an earlier pass has created the pod.
func (l *look) runInstaller(ctx context.Context, action *rollout.Action) error {
	node, r := l.node(action.Node, action.NodeUID), l.latest()
	if node == nil || r == nil || r.Number != action.Revision {
		return apply.ErrStale
	}
	if err := l.ensureServiceAccount(ctx); err != nil {
		return err
	}
	hash, err := l.prepareNode(ctx, node, r)
	if err != nil {
		return err
	}
	if _, err := l.pods().Create(ctx, l.installerPod(node, r, action, hash)); err != nil {
		return err
	}
	l.metrics.started(l.id(), action)
	return nil
}

// node returns the node of this pass, nil if the name now belongs to another UID.
func (l *look) node(name, uid string) *rollout.Node {
	for i := range l.state.Nodes {
		if n := &l.state.Nodes[i]; n.Name == name && n.UID == uid {
			return n
		}
	}
	return nil
}

// deletePod deletes an installer or pruner pod. Its grace period applies, and it stays visible until the kubelet
// reports its end.
func (l *look) deletePod(ctx context.Context, name string) error {
	if err := apply.Gone(l.pods().Delete(ctx, name, "", "")); err != nil {
		return fmt.Errorf("delete pod %s: %w", name, err)
	}
	return nil
}

func (l *look) markInstalled(ctx context.Context, action *rollout.Action) error {
	name := nodepod.StatusName(action.Revision)
	empty := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
	_, _, err := l.configMaps().Write(ctx, empty, apply.Any, func(live *corev1.ConfigMap, exists bool) error {
		if !exists {
			return apply.ErrStale
		}
		metav1.SetMetaDataAnnotation(&live.ObjectMeta, nodepod.InstalledAnnotation(action.Node), action.NodeUID)
		return nil
	})
	return err
}

// observeInstaller is library-go's InstallerStateController.
func (l *look) observeInstaller(pod *corev1.Pod) {
	number, ok := nodepod.ParseNumber(pod.Labels[nodepod.LabelRevision])
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

// endedAt is when the last container of a pod ended. A pod that the kubelet refused has none; its creation counts.
func endedAt(pod *corev1.Pod) time.Time {
	at := pod.CreationTimestamp.Time
	for i := range pod.Status.ContainerStatuses {
		if t := pod.Status.ContainerStatuses[i].State.Terminated; t != nil && t.FinishedAt.After(at) {
			at = t.FinishedAt.Time
		}
	}
	return at
}

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

// notLater caps a time at now, because a node wrote it and its clock may be wrong.
func (l *look) notLater(at time.Time) time.Time {
	if at.After(l.now) {
		return l.now
	}
	return at
}

// outcome returns what an installer reports of its end: its last line of JSON, or else the end of its log.
func outcome(message string) string {
	message = strings.TrimSpace(message)
	var said struct{ Reason, Error string }
	if json.Unmarshal([]byte(message[strings.LastIndexByte(message, '\n')+1:]), &said) != nil || said.Error == "" {
		return message
	}
	return said.Reason + ": " + said.Error
}

// serviceAccount is the ServiceAccount of installers and pruners. It has no rights, because they make no API request.
const serviceAccount = "installer-sa"

// ensureServiceAccount is library-go's BackingResourceController. It runs before each pod that needs the
// ServiceAccount.
func (l *look) ensureServiceAccount(ctx context.Context) error {
	err := l.writeServiceAccount(ctx)
	l.memory.failed(l.id(), rollout.BackingResourceController, err)
	return err
}

func (l *look) writeServiceAccount(ctx context.Context) error {
	accounts := apply.To(l.client.CoreV1().ServiceAccounts(l.namespace), "serviceaccounts", l.by)
	_, _, err := accounts.Write(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: serviceAccount}}, apply.Any,
		func(account *corev1.ServiceAccount, exists bool) error {
			if !exists {
				account.Labels = map[string]string{nodepod.LabelRollout: l.name}
			}
			// An existing one without the label stays as it is: the pods mount no token in any case.
			if account.Labels[nodepod.LabelRollout] == l.name {
				account.AutomountServiceAccountToken = new(false)
			}
			return nil
		})
	if err != nil {
		return fmt.Errorf("service account %s/%s: %w", l.namespace, serviceAccount, err)
	}
	return nil
}
