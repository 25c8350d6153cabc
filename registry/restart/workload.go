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

	"certrotation.dev/registry/mounted"
	"certrotation.dev/registry/trust"
)

// Workload is what a Deployment, StatefulSet or DaemonSet says of itself.
type Workload struct {
	Kind            trust.WorkloadKind
	Name            string
	UID             types.UID
	ResourceVersion string
	// Configuration that it consents to, "" for none.
	Configuration string
	// Owner is the object that controls it, nil if none does.
	Owner *metav1.OwnerReference
	// Deleting is since when it is being deleted, nil if it is not.
	Deleting *metav1.Time
	// Selector chooses its pods.
	Selector labels.Selector
	// Labels and Annotations of the pods of its template, and the Secrets that their volumes show.
	Labels, Annotations map[string]string
	Secrets             []string
	// Generation is of the latest change, and Observed that which its controller has seen.
	Generation, Observed int64
	// Wanted are the pods that there are to be. Updated are made of the newest template, and Available are so for
	// minReadySeconds.
	Wanted, Updated, Available int32
	// Former are pods of former templates, as its controller counts them.
	Former int32
	Paused bool
	// OnDelete says that a pod is replaced only when somebody deletes it.
	OnDelete bool
	// Ordered says that nothing of it is replaced while a pod is not ready.
	Ordered bool
	// Partition is how many of the lowest ordinals, which begin with First, keep their template.
	Partition, First int32
	// progress of the rollout of a Deployment, and what keeps it from making pods; nil where it says nothing.
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
		Selector: chosen, Labels: template.Labels, Annotations: template.Annotations, Secrets: mounted.Secrets(&template.Spec),
	}, nil
}

// progressed is when a rollout has last come on, zero where nothing says so.
func (w *Workload) progressed() time.Time {
	if w.progress == nil {
		return time.Time{}
	}
	return w.progress.LastUpdateTime.Time
}

// wanted is 1 where nothing is said, as the API server has it.
func wanted(replicas *int32) int32 {
	if replicas == nil {
		return 1
	}
	return *replicas
}

// carries says whether annotations have a content.
func carries(annotations, content map[string]string) bool {
	for key, value := range content {
		if annotations[key] != value {
			return false
		}
	}
	return true
}
