// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package podcontent

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/registry/trust"
)

func fromConfigMap(name string, keys ...string) corev1.VolumeProjection {
	return corev1.VolumeProjection{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: name}, Items: items(keys)}}
}

func fromSecret(name string, keys ...string) corev1.VolumeProjection {
	return corev1.VolumeProjection{Secret: &corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: name}, Items: items(keys)}}
}

func items(keys []string) (out []corev1.KeyToPath) {
	for _, key := range keys {
		out = append(out, corev1.KeyToPath{Key: key, Path: "x/" + key})
	}
	return out
}

func leafIn(secret string) Reference {
	return Reference{Kind: trust.SecretKind, Name: secret, Key: corev1.TLSCertKey, Leaf: true}
}

func anchorsIn(kind trust.ObjectKind, name, key string) Reference {
	return Reference{Kind: kind, Name: name, Key: key}
}

func TestReferences(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	projected := func(sources ...corev1.VolumeProjection) func(pod *corev1.Pod) {
		return func(pod *corev1.Pod) {
			pod.Spec.Volumes[0].VolumeSource = corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: sources}}
		}
	}
	token := corev1.VolumeProjection{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"}}
	both := []Reference{anchorsIn(trust.ConfigMapKind, "bundle", bundleKey), leafIn("leaf")}
	for name, tt := range map[string]struct {
		edit  func(pod *corev1.Pod)
		asked func(a *MountRequirement)
		want  []Reference
		fault string
	}{
		"a ConfigMap and a Secret": {want: both},
		"it presents nothing":      {asked: func(a *MountRequirement) { a.Leaves = nil }, want: []Reference{anchorsIn(trust.ConfigMapKind, "bundle", bundleKey)}},
		"it verifies nothing":      {asked: func(a *MountRequirement) { a.Trust = "" }, want: []Reference{leafIn("leaf")}},
		"anchors in a Secret": {asked: func(a *MountRequirement) { a.Trust, a.TrustKey = "tls", "ca.crt" },
			want: []Reference{anchorsIn(trust.SecretKind, "leaf", "ca.crt"), leafIn("leaf")}},
		"a projected volume": {edit: projected(token, fromConfigMap("other", "x"), fromConfigMap("projected")),
			want: []Reference{anchorsIn(trust.ConfigMapKind, "projected", bundleKey), leafIn("leaf")}},
		"a projected key": {edit: projected(fromSecret("other", "x"), fromConfigMap("projected", "x", bundleKey)),
			want: []Reference{anchorsIn(trust.ConfigMapKind, "projected", bundleKey), leafIn("leaf")}},
		"two objects may show the key":    {edit: projected(fromConfigMap("a"), fromSecret("b")), fault: "may show the key ca-bundle.crt of 2 objects"},
		"a projected token":               {edit: projected(token), fault: "shows no Secret and no ConfigMap"},
		"a projected key that is another": {edit: projected(fromConfigMap("a", "x")), fault: "ca-bundle.crt is none of them"},
		"another key of the ConfigMap":    {edit: func(pod *corev1.Pod) { pod.Spec.Volumes[0].ConfigMap.Items = items([]string{"x"}) }, fault: "ca-bundle.crt is none of them"},
		"no such volume":                  {edit: func(pod *corev1.Pod) { pod.Spec.Volumes[0].Name = "certs" }, fault: "it has no volume trust"},
		"a volume of something else": {edit: func(pod *corev1.Pod) {
			pod.Spec.Volumes[0].VolumeSource = corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
		}, fault: "its volume trust shows no Secret and no ConfigMap"},
		"an optional ConfigMap": {edit: func(pod *corev1.Pod) { pod.Spec.Volumes[0].ConfigMap.Optional = new(true) }, fault: "is optional for ConfigMap/bundle"},
		"an optional Secret":    {edit: func(pod *corev1.Pod) { pod.Spec.Volumes[1].Secret.Optional = new(true) }, fault: "is optional for Secret/leaf"},
		"not optional":          {edit: func(pod *corev1.Pod) { pod.Spec.Volumes[1].Secret.Optional = new(false) }, want: both},
		"an optional projection": {edit: func(pod *corev1.Pod) {
			source := fromConfigMap("a")
			source.ConfigMap.Optional = new(true)
			projected(source)(pod)
		}, fault: "is optional for ConfigMap/a"},
		"nobody mounts it": {edit: func(pod *corev1.Pod) { pod.Spec.Containers[0].VolumeMounts = nil }, fault: "none of its containers mounts the volume trust"},
		"an init container mounts it": {edit: func(pod *corev1.Pod) {
			pod.Spec.InitContainers, pod.Spec.Containers[0].VolumeMounts = []corev1.Container{pod.Spec.Containers[0]}, nil
		}, fault: "none of its containers mounts the volume trust"},
		"a sidecar mounts it": {edit: func(pod *corev1.Pod) {
			pod.Spec.InitContainers = []corev1.Container{*pod.Spec.Containers[0].DeepCopy()}
			pod.Spec.InitContainers[0].RestartPolicy, pod.Spec.Containers[0].VolumeMounts = &always, nil
		}, want: both},
		"a leaf in a ConfigMap": {asked: func(a *MountRequirement) { a.Leaves = []string{"trust"} }, fault: "its volume trust shows ConfigMap/bundle, and a leaf is in a Secret"},
	} {
		t.Run(name, func(t *testing.T) {
			pod, asked := podOf("bundle", "leaf"), asked()
			if tt.edit != nil {
				tt.edit(pod)
			}
			if tt.asked != nil {
				tt.asked(asked)
			}
			got, fault := asked.References(pod)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("references (-want +got):\n%s", diff)
			}
			if (fault == "") != (tt.fault == "") || !strings.Contains(fault, tt.fault) {
				t.Errorf("fault %q, want one with %q", fault, tt.fault)
			}
		})
	}
}

func TestSecrets(t *testing.T) {
	pod := podOf("bundle", "leaf")
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "more", VolumeSource: corev1.VolumeSource{
		Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{fromSecret("b"), fromConfigMap("a"), fromSecret("leaf", "tls.crt")}},
	}})
	if diff := cmp.Diff([]string{"b", "leaf"}, Secrets(&pod.Spec)); diff != "" {
		t.Errorf("Secrets (-want +got):\n%s", diff)
	}
	if got := Secrets(&corev1.PodSpec{}); got != nil {
		t.Errorf("a pod without volumes mounts %q", got)
	}
}
