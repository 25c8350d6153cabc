// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/registry/rollout"
	"certrotation.dev/registry/trust"
)

// State is what to do with a workload.
type State string

// States.
const (
	// Done: its pods run with the content.
	Done State = "Done"
	// Write: write the annotations of the template now.
	Write State = "Write"
	// Replace: delete the pods of the verdict. Nothing runs in them, and their controller does not replace them.
	Replace State = "Replace"
	// Ask: the decision needs answers of the etcd members.
	Ask State = "Ask"
	// Evict: evict the pod of the verdict; its etcd cluster can do without it.
	Evict State = "Evict"
	// Wait: wait for something that happens by itself.
	Wait State = "Wait"
	// Hold: an operator must act.
	Hold State = "Hold"
)

// Reasons of Wait and Hold, besides those of package trust.
const (
	// ReasonRestartsDisabled: the controller runs without --restart-workloads.
	ReasonRestartsDisabled trust.Reason = "RestartsDisabled"
	// ReasonNoRight: the namespace does not grant the permission.
	ReasonNoRight trust.Reason = "NoRightToRestart"
	// ReasonForeignController: another object owns the workload and writes its template.
	ReasonForeignController trust.Reason = "ForeignController"
	// ReasonNotOfParty: the relying party does not choose its pods.
	ReasonNotOfParty trust.Reason = "NotOfParty"
	// ReasonPaused, ReasonPartitioned and ReasonOnDelete: an operator restricts the rollout.
	ReasonPaused      trust.Reason = "RolloutPaused"
	ReasonPartitioned trust.Reason = "RolloutPartitioned"
	ReasonOnDelete    trust.Reason = "UpdatedOnDelete"
	// ReasonUnreadyKept: a StatefulSet does not replace a pod that is not ready.
	ReasonUnreadyKept trust.Reason = "UnreadyPodKept"
	// ReasonNotOnDelete: the workload's controller would replace etcd members by availability alone.
	ReasonNotOnDelete trust.Reason = "NotUpdatedOnDelete"
	// ReasonQuorum and ReasonNotRejoined have the same meaning as for a member that is a static pod.
	ReasonQuorum      = trust.Reason(rollout.ReasonQuorum)
	ReasonNotRejoined = trust.Reason(rollout.ReasonNotRejoined)
	// ReasonDisruptionBudget: a PodDisruptionBudget does not permit the eviction.
	ReasonDisruptionBudget trust.Reason = "DisruptionBudget"
	// ReasonDeadlineExceeded: a rollout does not end.
	ReasonDeadlineExceeded trust.Reason = "ProgressDeadlineExceeded"
	// ReasonUnknown: the workload cannot be read now.
	ReasonUnknown trust.Reason = "WorkloadUnknown"
	// ReasonNotSeen: the controllers of Kubernetes have not seen the latest change.
	ReasonNotSeen trust.Reason = "TemplateNotSeen"
	// ReasonRolling: pods are being replaced.
	ReasonRolling trust.Reason = "RolloutInProgress"
	// ReasonUnavailable: fewer pods are available than wanted.
	ReasonUnavailable trust.Reason = "PodsUnavailable"
)

// Verdict of Assess.
type Verdict struct {
	State State
	// Reason and Message explain a Wait or a Hold: what is missing, or what an operator must do. The Message of Evict
	// is why it is safe; "" for other states.
	Reason  trust.Reason
	Message string
	// Since is since when the verdict holds, as far as the workload shows it, zero if it does not.
	Since time.Time
	// Pods are the pods to delete for Replace, or the one to evict for Evict.
	Pods []*corev1.Pod
}

// Disabled is the verdict on every workload of a controller that may not restart any.
func Disabled(o *Order) Verdict {
	return hold(ReasonRestartsDisabled, "has to be restarted and the controller runs without --restart-workloads: add manifests/components/workloads to the installation, "+
		"or give its template the annotations %s yourself", o.contentText())
}

// Unpermitted is the verdict on a workload that the API server does not let the controller read or write. The
// controller runs in namespace system.
func Unpermitted(o *Order, system string, answer error) Verdict {
	return hold(ReasonNoRight, "has to be restarted and its namespace does not permit that: kubectl create rolebinding certrotation-rollout-workloads -n %s "+
		"--clusterrole=certrotation-rollout-workloads --serviceaccount=%s:certrotation-controller (%v)", o.Namespace, system, answer)
}

// Unknown is the verdict on a workload that could not be read.
func Unknown(answer error) Verdict {
	return wait(ReasonUnknown, "has to be restarted and cannot be read: %v", answer)
}

// Refused is the verdict on a workload whose restart the API server refuses.
func Refused(answer error) Verdict {
	return hold(trust.ReasonWriteRefused, "has to be restarted, and the API server refuses what that takes: %v", answer)
}

// Undisruptable is the verdict on a workload whose pod the API server does not let us evict now.
func Undisruptable(pod *corev1.Pod, answer error) Verdict {
	return hold(ReasonDisruptionBudget, "has to be restarted, and pod %s may not be evicted now: %v; it is tried again, so see what the PodDisruptionBudget of these pods waits for",
		pod.Name, answer)
}

func hold(reason trust.Reason, format string, args ...any) Verdict {
	return Verdict{State: Hold, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

func wait(reason trust.Reason, format string, args ...any) Verdict {
	return Verdict{State: Wait, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

func (v Verdict) since(at time.Time) Verdict {
	v.Since = at
	return v
}
