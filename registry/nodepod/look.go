// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodepod

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

const installerPrefix = "installer-"

// Facts is the input of Look about one node.
type Facts struct {
	// Rollout is the name of the static pod without the node's name. Companions are the names of the others that a
	// revision brings with it.
	Rollout    string
	Companions []string
	// Node is its name; NodeUID is its UID, "" if the node does not exist.
	Node    string
	NodeUID types.UID
	// Pods are the pods of the rollout's namespace; those of other nodes are ignored.
	Pods []corev1.Pod
	// Statuses are the status ConfigMaps of the rollout's revisions.
	Statuses []corev1.ConfigMap
}

// Revision is a revision that is complete by its record.
type Revision struct {
	Number                   int
	ContentHash, RestartHash string
	// installed means that the record says that it is installed on the node.
	installed bool
}

// Running is what a node runs.
type Running struct {
	// Instance identifies the process: the UID of the pod, and when its last container started. Those of several pods
	// are joined. It is "" if there is no pod.
	Instance string
	// Revision is the newest one on the node with the restart hash of the process.
	Revision Revision
	// StartedAt is when the last container started.
	StartedAt time.Time
}

// Look finds the revision that the static pods of a node run with. If it is unknown, failure says why and what to do
// next. The process is returned even then, if a pod of this node exists.
func Look(f Facts) (running Running, failure string) {
	if f.NodeUID == "" {
		return Running{}, "its node does not exist"
	}
	var first *corev1.Pod
	for _, name := range append([]string{f.Rollout}, f.Companions...) {
		pod, why := f.pod(PodName(name, f.Node))
		running = running.with(pod)
		if why == "" {
			if first == nil {
				first = pod
			}
			why = f.unlike(first, pod)
		}
		failure = cmp.Or(failure, why)
	}
	if failure != "" {
		return running, failure
	}
	hash := first.Annotations[AnnotationRestartHash]
	number, _ := ParseNumber(first.Annotations[AnnotationRevision])
	r := newest(f.revisions(), hash, number)
	if r == nil {
		return running, fmt.Sprintf(
			"no revision that is on the node has the content that its static pod %s runs with (restart hash %.12s): "+
				"it was pruned, deleted or changed; the next revision that is installed is known again%s", first.Name, hash, f.installer())
	}
	running.Revision = *r
	return running, ""
}

// unlike returns why a pod is not of the same revision as the first one, "" if it is.
func (f Facts) unlike(first, pod *corev1.Pod) string {
	for _, key := range []string{AnnotationRestartHash, AnnotationRevision} {
		switch {
		case key == AnnotationRestartHash && pod.Annotations[key] == "":
			return fmt.Sprintf("its static pod %s was not installed by a revision: the next one brings that%s", pod.Name, f.installer())
		case pod.Annotations[key] != first.Annotations[key]:
			return fmt.Sprintf("its static pods %s and %s are not of one revision: the next one brings that%s", first.Name, pod.Name, f.installer())
		}
	}
	return ""
}

func (r Running) with(pod *corev1.Pod) Running {
	if pod == nil {
		return r
	}
	started := startedAt(pod)
	if r.Instance != "" {
		r.Instance += ","
	}
	r.Instance += string(pod.UID) + "/" + started.Format(time.RFC3339)
	if started.After(r.StartedAt) {
		r.StartedAt = started
	}
	return r
}

// pod returns a static pod, nil if none is known to be of this node. Rely on it only if there is no failure.
func (f Facts) pod(name string) (pod *corev1.Pod, failure string) {
	at := slices.IndexFunc(f.Pods, func(p corev1.Pod) bool { return p.Name == name })
	if at < 0 {
		return nil, fmt.Sprintf("its static pod %s does not exist: %s", name, cmp.Or(strings.TrimPrefix(f.installer(), "; "),
			"no installer is at work, so look at what kubelet says on the node"))
	}
	pod = &f.Pods[at]
	if pod.Annotations[corev1.MirrorPodAnnotationKey] == "" || pod.Spec.NodeName != f.Node {
		return nil, fmt.Sprintf("the pod %s is no static pod of the node: delete it", name)
	}
	for _, owner := range pod.OwnerReferences {
		if owner.Kind == "Node" && owner.UID != f.NodeUID {
			return nil, fmt.Sprintf("its static pod %s is that of an earlier node of the same name: delete it if it does not go away", name)
		}
	}
	if pod.DeletionTimestamp != nil || pod.Status.Phase != corev1.PodRunning || !ready(pod) {
		return pod, fmt.Sprintf("its static pod %s is not ready (phase %s): %s", name, cmp.Or(pod.Status.Phase, "unknown"),
			cmp.Or(strings.TrimPrefix(f.installer(), "; "), "look at its events and its log"))
	}
	return pod, ""
}

func ready(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func startedAt(pod *corev1.Pod) time.Time {
	var last time.Time
	for i := range pod.Status.ContainerStatuses {
		if running := pod.Status.ContainerStatuses[i].State.Running; running != nil && running.StartedAt.After(last) {
			last = running.StartedAt.Time
		}
	}
	return last.UTC()
}

// installer describes the newest installer of the node that has not succeeded, "" if there is none.
func (f Facts) installer() string {
	var last *corev1.Pod
	for i := range f.Pods {
		p := &f.Pods[i]
		if strings.HasPrefix(p.Name, installerPrefix) && p.Spec.NodeName == f.Node &&
			(last == nil || last.CreationTimestamp.Before(&p.CreationTimestamp)) {
			last = p
		}
	}
	if last == nil {
		return ""
	}
	since := last.CreationTimestamp.UTC().Format(time.RFC3339)
	switch last.Status.Phase {
	case corev1.PodSucceeded:
		return ""
	case corev1.PodFailed:
		return fmt.Sprintf("; its installer %s has failed: look at its log", last.Name)
	case corev1.PodRunning:
		return fmt.Sprintf("; its installer %s is running since %s", last.Name, since)
	default:
		return fmt.Sprintf("; its installer %s is pending since %s%s", last.Name, since, waiting(last))
	}
}

func waiting(pod *corev1.Pod) string {
	for i := range pod.Status.ContainerStatuses {
		if w := pod.Status.ContainerStatuses[i].State.Waiting; w != nil && w.Reason != "" {
			return " (" + w.Reason + ")"
		}
	}
	return ""
}

// PodName is the name of the mirror pod of a node.
func PodName(rollout, node string) string { return rollout + "-" + node }

// Concerns reports whether a pod of the namespace matters for the node that it runs on. names are the static pods of
// a node.
func Concerns(names []string, pod *corev1.Pod) bool {
	return strings.HasPrefix(pod.Name, installerPrefix) ||
		slices.ContainsFunc(names, func(name string) bool { return pod.Name == PodName(name, pod.Spec.NodeName) })
}

// revisions returns the complete revisions of the rollout, ordered by number.
func (f Facts) revisions() []Revision {
	var out []Revision
	for i := range f.Statuses {
		status, ok := ReadStatus(&f.Statuses[i])
		if !ok || !status.Ready || status.Rollout != f.Rollout {
			continue
		}
		out = append(out, Revision{
			Number: status.Number, ContentHash: status.ContentHash, RestartHash: status.RestartHash,
			installed: status.Installed(f.Node) == string(f.NodeUID),
		})
	}
	slices.SortFunc(out, func(x, y Revision) int { return cmp.Compare(x.Number, y.Number) })
	return out
}

// newest returns the newest revision installed under the manifest with the given number and restart hash, nil if
// unknown. The manifest's own revision needs no record, because the pod shows it. Later revisions belong to the same
// manifest until one has another restart hash and so its own manifest.
func newest(revisions []Revision, hash string, number int) *Revision {
	var found *Revision
	for i := range revisions {
		r := &revisions[i]
		switch {
		case number == 0 || r.Number < number:
		case r.Number == number:
			if r.RestartHash == hash {
				found = r
			}
		case !r.installed:
		case r.RestartHash != hash:
			return found
		default:
			found = r
		}
	}
	return found
}
