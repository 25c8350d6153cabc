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

// State is what is to be done with a workload.
type State string

// States.
const (
	// Done: its pods run with the content.
	Done State = "Done"
	// Write: the annotations of the template are to be written now.
	Write State = "Write"
	// Replace: the pods of the verdict are to be deleted. Nothing runs in them, and their controller does not replace them.
	Replace State = "Replace"
	// Ask: it depends on the members of the etcd cluster, who have to be asked first.
	Ask State = "Ask"
	// Evict: the pod of the verdict is to be replaced, which its etcd cluster can do without.
	Evict State = "Evict"
	// Wait: something has to happen that happens by itself.
	Wait State = "Wait"
	// Hold: a person has to act.
	Hold State = "Hold"
)

// Reasons of Wait and Hold, besides those of package trust.
const (
	// ReasonRestartsDisabled: certrotation was not told to restart anything.
	ReasonRestartsDisabled trust.Reason = "RestartsDisabled"
	// ReasonNoRight: the namespace does not give the right.
	ReasonNoRight trust.Reason = "NoRightToRestart"
	// ReasonForeignController: another object owns the workload and writes its template.
	ReasonForeignController trust.Reason = "ForeignController"
	// ReasonNotOfParty: its pods are not those that the relying party chooses.
	ReasonNotOfParty trust.Reason = "NotOfParty"
	// ReasonPaused, ReasonPartitioned and ReasonOnDelete are decisions of a person about a rollout.
	ReasonPaused      trust.Reason = "RolloutPaused"
	ReasonPartitioned trust.Reason = "RolloutPartitioned"
	ReasonOnDelete    trust.Reason = "UpdatedOnDelete"
	// ReasonUnreadyKept: a StatefulSet does not replace a pod that is not ready.
	ReasonUnreadyKept trust.Reason = "UnreadyPodKept"
	// ReasonNotOnDelete: the controller of the workload would replace members of an etcd cluster by their availability alone.
	ReasonNotOnDelete trust.Reason = "NotUpdatedOnDelete"
	// ReasonQuorum and ReasonNotRejoined say of a member what they say of one that is a static pod.
	ReasonQuorum      = trust.Reason(rollout.ReasonQuorum)
	ReasonNotRejoined = trust.Reason(rollout.ReasonNotRejoined)
	// ReasonDisruptionBudget: a PodDisruptionBudget does not permit the eviction.
	ReasonDisruptionBudget trust.Reason = "DisruptionBudget"
	// ReasonDeadlineExceeded: a rollout does not come to its end.
	ReasonDeadlineExceeded trust.Reason = "ProgressDeadlineExceeded"
	// ReasonUnknown: the workload cannot be read now.
	ReasonUnknown trust.Reason = "WorkloadUnknown"
	// ReasonNotSeen: the controllers of Kubernetes have not seen the latest change.
	ReasonNotSeen trust.Reason = "TemplateNotSeen"
	// ReasonRolling: pods are being replaced.
	ReasonRolling trust.Reason = "RolloutInProgress"
	// ReasonUnavailable: less pods are available than are wanted.
	ReasonUnavailable trust.Reason = "PodsUnavailable"
)

// Verdict of Assess.
type Verdict struct {
	State State
	// Reason and Message say what is waited for, or what a person has to do. Message of Evict says why that is safe; "" for the
	// other states.
	Reason  trust.Reason
	Message string
	// Since is since when that is so as far as the workload tells, zero if it does not.
	Since time.Time
	// Pods that are to be deleted, for Replace, and the one that is to be evicted.
	Pods []*corev1.Pod
}

// Disabled is the verdict on every workload where certrotation was not told to restart any.
func Disabled(o *Order) Verdict {
	return hold(ReasonRestartsDisabled, "has to be restarted and the controller runs without --restart-workloads: add manifests/components/workloads to the installation, "+
		"or give its template the annotations %s yourself", o.contentText())
}

// Unpermitted is the verdict on a workload that must not be read or written, as the API server has answered. The controller runs in
// the namespace system.
func Unpermitted(o *Order, system string, answer error) Verdict {
	return hold(ReasonNoRight, "has to be restarted and its namespace does not permit that: kubectl create rolebinding certrotation-rollout-workloads -n %s "+
		"--clusterrole=certrotation-rollout-workloads --serviceaccount=%s:certrotation-controller (%v)", o.Namespace, system, answer)
}

// Unknown is the verdict on a workload that could not be read.
func Unknown(answer error) Verdict {
	return wait(ReasonUnknown, "has to be restarted and cannot be read: %v", answer)
}

// Refused is the verdict on a workload whose restart the API server does not let us make.
func Refused(answer error) Verdict {
	return hold(trust.ReasonWriteRefused, "has to be restarted, and the API server refuses what that takes: %v", answer)
}

// Undisruptable is the verdict on a workload of which a pod may not be evicted now, as the API server has answered.
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
