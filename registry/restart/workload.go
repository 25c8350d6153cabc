// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"certrotation.dev/registry/podcontent"
	"certrotation.dev/registry/trust"
)

// Workload is the state of a Deployment, StatefulSet or DaemonSet.
type Workload struct {
	Kind            trust.WorkloadKind
	Name            string
	UID             types.UID
	ResourceVersion string
	// Configuration to which the workload consents, "" for none.
	Configuration string
	// Owner is the controller of the workload, nil if it has none.
	Owner *metav1.OwnerReference
	// Deleting is when its deletion began, nil if it is not being deleted.
	Deleting *metav1.Time
	// Selector chooses its pods.
	Selector labels.Selector
	// Labels and Annotations of its pod template, and the Secrets that its volumes mount.
	Labels, Annotations map[string]string
	Secrets             []string
	// Generation is the latest change, Observed the latest one that its controller has seen.
	Generation, Observed int64
	// Wanted is the number of desired pods. Updated pods are made of the newest template; Available pods are ready
	// for minReadySeconds.
	Wanted, Updated, Available int32
	// Former are the pods of former templates, as its controller counts them.
	Former int32
	Paused bool
	// OnDelete reports whether a pod is replaced only when it is deleted.
	OnDelete bool
	// Ordered reports whether no pod is replaced while one is not ready.
	Ordered bool
	// Partition is how many of the lowest ordinals keep their template. Ordinals begin with First.
	Partition, First int32
	// progress of a Deployment's rollout, and the failure that keeps it from creating pods; nil if it reports none.
	progress, failure *appsv1.DeploymentCondition
}

// OfDeployment reads a Deployment.
func OfDeployment(d *appsv1.Deployment) (*Workload, error) {
	w, err := of(trust.Deployment, &d.ObjectMeta, &d.Spec.Template, d.Spec.Selector)
	if err != nil {
		return nil, err
	}
	w.Observed, w.Paused, w.Wanted = d.Status.ObservedGeneration, d.Spec.Paused, wanted(d.Spec.Replicas)
	w.Updated, w.Available, w.Former = d.Status.UpdatedReplicas, d.Status.AvailableReplicas, d.Status.Replicas-d.Status.UpdatedReplicas
	for i := range d.Status.Conditions {
		switch condition := &d.Status.Conditions[i]; condition.Type {
		case appsv1.DeploymentProgressing:
			w.progress = condition
		case appsv1.DeploymentReplicaFailure:
			if condition.Status == corev1.ConditionTrue {
				w.failure = condition
			}
		case appsv1.DeploymentAvailable:
		}
	}
	return w, nil
}

// OfStatefulSet reads a StatefulSet.
func OfStatefulSet(s *appsv1.StatefulSet) (*Workload, error) {
	w, err := of(trust.StatefulSet, &s.ObjectMeta, &s.Spec.Template, s.Spec.Selector)
	if err != nil {
		return nil, err
	}
	w.Observed, w.Wanted = s.Status.ObservedGeneration, wanted(s.Spec.Replicas)
	w.Updated, w.Available = s.Status.UpdatedReplicas, s.Status.AvailableReplicas
	if s.Status.UpdateRevision != s.Status.CurrentRevision {
		w.Former = s.Status.Replicas - s.Status.UpdatedReplicas
	}
	w.OnDelete = s.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType
	w.Ordered = s.Spec.PodManagementPolicy != appsv1.ParallelPodManagement
	if rolling := s.Spec.UpdateStrategy.RollingUpdate; rolling != nil && rolling.Partition != nil {
		w.Partition = *rolling.Partition
	}
	if s.Spec.Ordinals != nil {
		w.First = s.Spec.Ordinals.Start
	}
	return w, nil
}

// OfDaemonSet reads a DaemonSet.
func OfDaemonSet(d *appsv1.DaemonSet) (*Workload, error) {
	w, err := of(trust.DaemonSet, &d.ObjectMeta, &d.Spec.Template, d.Spec.Selector)
	if err != nil {
		return nil, err
	}
	w.Observed, w.Wanted = d.Status.ObservedGeneration, d.Status.DesiredNumberScheduled
	w.Updated, w.Available, w.Former = d.Status.UpdatedNumberScheduled, d.Status.NumberAvailable, d.Status.CurrentNumberScheduled-d.Status.UpdatedNumberScheduled
	w.OnDelete = d.Spec.UpdateStrategy.Type == appsv1.OnDeleteDaemonSetStrategyType
	return w, nil
}

func of(kind trust.WorkloadKind, meta *metav1.ObjectMeta, template *corev1.PodTemplateSpec, selector *metav1.LabelSelector) (*Workload, error) {
	chosen, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return nil, fmt.Errorf("read the selector of %s/%s: %w", kind, meta.Name, err)
	}
	return &Workload{
		Kind: kind, Name: meta.Name, UID: meta.UID, ResourceVersion: meta.ResourceVersion, Generation: meta.Generation,
		Configuration: meta.Annotations[trust.AnnotationConfiguration], Owner: metav1.GetControllerOfNoCopy(meta), Deleting: meta.DeletionTimestamp,
		Selector: chosen, Labels: template.Labels, Annotations: template.Annotations, Secrets: podcontent.Secrets(&template.Spec),
	}, nil
}

// rolling reports whether pods are being replaced by any template, or fewer are available than wanted.
func (w *Workload) rolling() bool {
	return w.Observed < w.Generation || w.Former > 0 || w.Updated < w.Wanted || w.Available < w.Wanted
}

// progressed returns when a rollout last made progress, zero if unknown.
func (w *Workload) progressed() time.Time {
	if w.progress == nil {
		return time.Time{}
	}
	return w.progress.LastUpdateTime.Time
}

// wanted returns 1 for nil, which is the default of the API server.
func wanted(replicas *int32) int32 {
	if replicas == nil {
		return 1
	}
	return *replicas
}

func carries(annotations, content map[string]string) bool {
	for key, value := range content {
		if annotations[key] != value {
			return false
		}
	}
	return true
}
