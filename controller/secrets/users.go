// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"certrotation.dev/registry/podcontent"
)

// users returns the pods of the namespaces that have not ended, by the Secrets that they use.
func (i *Instance) users(ctx context.Context, namespaces []string) (map[types.NamespacedName][]string, error) {
	out := map[types.NamespacedName][]string{}
	for _, namespace := range namespaces {
		pods, err := i.api.Pods(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, fmt.Errorf("list pods in namespace %s: %w", namespace, err)
		}
		for at := range pods.Items {
			pod := &pods.Items[at]
			if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
				continue
			}
			for name := range secretsOf(&pod.Spec) {
				key := types.NamespacedName{Namespace: namespace, Name: name}
				out[key] = append(out[key], "Pod/"+pod.Name)
			}
		}
	}
	return out, nil
}

// secretsOf returns the Secrets without which a pod cannot start, or restart its containers.
func secretsOf(spec *corev1.PodSpec) map[string]bool {
	out := map[string]bool{}
	for _, name := range podcontent.Secrets(spec) {
		out[name] = true
	}
	for _, pull := range spec.ImagePullSecrets {
		out[pull.Name] = true
	}
	take := func(from []corev1.EnvFromSource, env []corev1.EnvVar) {
		for _, all := range from {
			if all.SecretRef != nil {
				out[all.SecretRef.Name] = true
			}
		}
		for _, one := range env {
			if one.ValueFrom != nil && one.ValueFrom.SecretKeyRef != nil {
				out[one.ValueFrom.SecretKeyRef.Name] = true
			}
		}
	}
	for i := range spec.InitContainers {
		take(spec.InitContainers[i].EnvFrom, spec.InitContainers[i].Env)
	}
	for i := range spec.Containers {
		take(spec.Containers[i].EnvFrom, spec.Containers[i].Env)
	}
	for i := range spec.EphemeralContainers {
		take(spec.EphemeralContainers[i].EnvFrom, spec.EphemeralContainers[i].Env)
	}
	return out
}
