// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/apis/certrotation/v1alpha1"
)

// goal is the end of a wait. It is checked on every change of the object.
type goal struct {
	// reached reports whether the wait ends.
	reached func(o *v1alpha1.CertificateRotation) bool
	// lost is why the goal can no longer be reached, "" if it can. started reports whether the domain was in flight
	// at any time since the wait began.
	lost func(o *v1alpha1.CertificateRotation, started bool) string
	// work is what continues after the command stops waiting.
	work string
	// done is the outcome once the goal is reached.
	done string
}

// rotated is reached when the certificate is new and usable: for a signer when the domain is Stable again, for a leaf
// when it is Ready.
func rotated(before *v1alpha1.CertificateRotation) goal {
	old := fingerprint(before)
	renewed := func(o *v1alpha1.CertificateRotation) bool { return fingerprint(o) != "" && fingerprint(o) != old }
	if before.Spec.Role != v1alpha1.RoleSigner {
		return goal{
			reached: func(o *v1alpha1.CertificateRotation) bool {
				return renewed(o) && meta.IsStatusConditionTrue(o.Status.Conditions, v1alpha1.ConditionReady)
			},
			lost: neverLost,
			work: "rotation",
			done: "is reissued",
		}
	}
	return goal{
		reached: func(o *v1alpha1.CertificateRotation) bool { return renewed(o) && stable(o) },
		lost: func(o *v1alpha1.CertificateRotation, started bool) string {
			if started && stable(o) && !renewed(o) && !progressing(o) {
				return "the rotation ended without a new CA: it was aborted"
			}
			return ""
		},
		work: "rotation",
		done: "is rotated",
	}
}

// aborted is reached when the domain is Stable with the CA that it had before.
func aborted(before *v1alpha1.CertificateRotation) goal {
	old := fingerprint(before)
	return goal{
		reached: func(o *v1alpha1.CertificateRotation) bool {
			return stable(o) && o.Status.Next == nil && fingerprint(o) == old
		},
		lost: func(o *v1alpha1.CertificateRotation, _ bool) string {
			if fingerprint(o) != old {
				return "the abort came too late: the new CA signs already"
			}
			return ""
		},
		work: "abort",
		done: "is back at its former CA",
	}
}

func parseGoal(text string) (goal, error) {
	kind, value, _ := strings.Cut(text, "=")
	switch {
	case kind == "stage":
		return stageGoal(value)
	case kind == "condition" && value != "":
		return conditionGoal(value), nil
	}
	return goal{}, fmt.Errorf("unknown value %q of --for: use stage=STAGE, condition=TYPE or condition=TYPE=STATUS", text)
}

func stageGoal(value string) (goal, error) {
	stages := []v1alpha1.Stage{
		v1alpha1.StageStable, v1alpha1.StageDistributing, v1alpha1.StageReissuing, v1alpha1.StageDraining, v1alpha1.StageRetiring,
	}
	for _, stage := range stages {
		if strings.EqualFold(value, string(stage)) {
			return goal{
				reached: func(o *v1alpha1.CertificateRotation) bool {
					return o.Status.Stage == stage && (stage != v1alpha1.StageStable || !progressing(o))
				},
				lost: neverLost,
				work: "rotation",
				done: "is " + string(stage),
			}, nil
		}
	}
	return goal{}, fmt.Errorf("unknown stage %q of --for: the stages are %v", value, stages)
}

func conditionGoal(value string) goal {
	kind, status, given := strings.Cut(value, "=")
	if !given {
		status = string(metav1.ConditionTrue)
	}
	return goal{
		reached: func(o *v1alpha1.CertificateRotation) bool {
			for _, c := range o.Status.Conditions {
				if strings.EqualFold(c.Type, kind) {
					return strings.EqualFold(string(c.Status), status)
				}
			}
			return false
		},
		lost: neverLost,
		work: "rotation",
		done: fmt.Sprintf("has the condition %s=%s", kind, status),
	}
}

func neverLost(*v1alpha1.CertificateRotation, bool) string { return "" }

func stable(o *v1alpha1.CertificateRotation) bool { return o.Status.Stage == v1alpha1.StageStable }

// progressing is also true while a request waits for the controller and the stage is still Stable.
func progressing(o *v1alpha1.CertificateRotation) bool {
	return meta.IsStatusConditionTrue(o.Status.Conditions, v1alpha1.ConditionProgressing)
}

func fingerprint(o *v1alpha1.CertificateRotation) string {
	if o.Status.Certificate == nil {
		return ""
	}
	return o.Status.Certificate.Fingerprint
}
