// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/trust"
)

// workloadOf returns the workload that created a pod, zero if no restartable one did. The ReplicaSet of a Deployment
// is named after the Deployment and the hash of its template, which is a label of the pod.
func workloadOf(pod *corev1.Pod) trust.Workload {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil || !strings.HasPrefix(owner.APIVersion, appsv1.GroupName+"/") {
		return trust.Workload{}
	}
	switch kind := trust.WorkloadKind(owner.Kind); kind {
	case trust.StatefulSet, trust.DaemonSet:
		return trust.Workload{Kind: kind, Name: strings.Clone(owner.Name)}
	case "ReplicaSet":
		hash := pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
		if name, made := strings.CutSuffix(owner.Name, "-"+hash); made && hash != "" {
			return trust.Workload{Kind: trust.Deployment, Name: strings.Clone(name)}
		}
	case trust.Deployment:
	}
	return trust.Workload{}
}

// NamedWorkload is a workload, and the configuration that names it.
type NamedWorkload struct {
	Configuration string
	Workload      trust.Workload
}

// addQuorums adds the quorums of a configuration. Validation ensures that a workload has the same one wherever it is
// named.
func (n *Namespace) addQuorums(configuration string, domains []configv1alpha1.TrustDomain) {
	for i := range domains {
		for j := range domains[i].RelyingParties {
			cfg := domains[i].RelyingParties[j].Evidence.WorkloadRollout
			if cfg == nil {
				continue
			}
			for _, w := range cfg.Workloads {
				if w.Quorum == nil {
					continue
				}
				if n.Quorums == nil {
					n.Quorums = map[NamedWorkload]*configv1alpha1.Quorum{}
				}
				n.Quorums[NamedWorkload{configuration, workloadNamed(w.Workload)}] = w.Quorum
			}
		}
	}
}

func workloadNamed(w configv1alpha1.Workload) trust.Workload {
	return trust.Workload{Kind: trust.WorkloadKind(w.Kind), Name: w.Name}
}

// readStart copies how to check pods that read their files only when they start.
func readStart(out *trust.Party, cfg *configv1alpha1.WorkloadRollout) {
	if cfg == nil {
		return
	}
	out.StartAssumed = cfg.StartGate == configv1alpha1.StartGateAssumed
	for _, w := range cfg.Workloads {
		out.Workloads = append(out.Workloads, workloadNamed(w.Workload))
	}
}
