// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package kubeadm

import (
	"fmt"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/nodepod"
)

const (
	// localEtcd is the member on the same node.
	localEtcd = "https://127.0.0.1:2379"
	// volume is the name of the volume with the directory of the revision; mounted is its path in containers.
	volume  = "certrotation"
	mounted = configv1alpha1.DefaultResourceDirectory
)

// adoptEtcd makes etcd use the leaves and the trust of its revision, and returns the permissions that the pod needs.
func adoptEtcd(pod *corev1.Pod) (configv1alpha1.PermittedPod, error) {
	c, err := container(pod, configv1alpha1.KubeadmStaticPod)
	if err != nil {
		return configv1alpha1.PermittedPod{}, err
	}
	// The directory of etcd's certificates depends on kubeadm's certificatesDir.
	authority, err := c.value("trusted-ca-file")
	if err != nil {
		return configv1alpha1.PermittedPod{}, err
	}
	err = c.replace(map[string]string{
		"name":      nodepod.PlaceholderNodeName,
		"cert-file": certificate(configv1alpha1.KubeadmServerLeaf), "key-file": key(configv1alpha1.KubeadmServerLeaf), "trusted-ca-file": bundle(),
		"peer-cert-file": certificate(configv1alpha1.KubeadmPeerLeaf), "peer-key-file": key(configv1alpha1.KubeadmPeerLeaf), "peer-trusted-ca-file": bundle(),
	})
	if err != nil {
		return configv1alpha1.PermittedPod{}, err
	}
	// A member with data ignores both. One without must not found a cluster of its own, even if kubeadm's flags on
	// the first node say so.
	c.set("initial-cluster", nodepod.PlaceholderNodeName+"=https://"+nodepod.PlaceholderNodeIP+":2380")
	c.set("initial-cluster-state", "existing")
	return mountRevision(pod, c, path.Dir(authority)), nil
}

// adoptAPIServer makes kube-apiserver use its leaf and the trust of the revision towards the etcd of its node.
func adoptAPIServer(pod *corev1.Pod) (configv1alpha1.PermittedPod, error) {
	c, err := container(pod, configv1alpha1.KubeadmCompanion)
	if err != nil {
		return configv1alpha1.PermittedPod{}, err
	}
	servers, err := c.value("etcd-servers")
	if err != nil {
		return configv1alpha1.PermittedPod{}, err
	}
	if servers != localEtcd {
		return configv1alpha1.PermittedPod{}, fmt.Errorf("--etcd-servers=%s: want %s, the member that kubeadm runs on the same node", servers, localEtcd)
	}
	err = c.replace(map[string]string{
		"etcd-cafile": bundle(), "etcd-certfile": certificate(configv1alpha1.KubeadmAPIServerLeaf), "etcd-keyfile": key(configv1alpha1.KubeadmAPIServerLeaf),
	})
	return mountRevision(pod, c, ""), err
}

func current(elements ...string) string {
	return path.Join(append([]string{mounted, nodepod.PointerName}, elements...)...)
}

func certificate(leaf string) string { return ofLeaf(leaf, ".crt") }

func key(leaf string) string { return ofLeaf(leaf, ".key") }

func ofLeaf(leaf, ending string) string {
	name := strings.ReplaceAll(leaf, configv1alpha1.NodePlaceholder, nodepod.PlaceholderNodeName)
	return current("secrets", configv1alpha1.KubeadmCertsSecret, name+ending)
}

func bundle() string {
	return current("configmaps", configv1alpha1.KubeadmBundlesConfigMap, configv1alpha1.KubeadmBundleKey)
}

// mountRevision mounts the directory of the revision in place of the host path inPlaceOf ("" for none). It returns
// the permissions that the rest of the pod needs.
func mountRevision(pod *corev1.Pod, c commandLine, inPlaceOf string) configv1alpha1.PermittedPod {
	former := map[string]bool{}
	permitted := configv1alpha1.PermittedPod{HostNetwork: pod.Spec.HostNetwork}
	for _, v := range pod.Spec.Volumes {
		switch {
		case v.HostPath == nil:
		case path.Clean(v.HostPath.Path) == inPlaceOf:
			former[v.Name] = true
		default:
			permitted.HostPaths = append(permitted.HostPaths, v.HostPath.Path)
		}
	}
	pod.Spec.Volumes = slices.DeleteFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return former[v.Name] })
	for i := range pod.Spec.Containers {
		each := &pod.Spec.Containers[i]
		each.VolumeMounts = slices.DeleteFunc(each.VolumeMounts, func(m corev1.VolumeMount) bool { return former[m.Name] })
		permitted.Images = append(permitted.Images, each.Image)
	}
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{
		Path: path.Join(mounted, nodepod.TemplateName(configv1alpha1.KubeadmStaticPod)+"-"+nodepod.PlaceholderRevision), Type: new(corev1.HostPathDirectory),
	}}})
	c.container.VolumeMounts = append(c.container.VolumeMounts, corev1.VolumeMount{Name: volume, MountPath: mounted, ReadOnly: true})
	if class := pod.Spec.PriorityClassName; class != "" {
		permitted.PriorityClassNames = []string{class}
	}
	slices.Sort(permitted.Images)
	permitted.Images = slices.Compact(permitted.Images)
	return permitted
}

func classOf(image string) *configv1alpha1.StaticPodClass {
	return &configv1alpha1.StaticPodClass{
		TypeMeta:   metav1.TypeMeta{APIVersion: configv1alpha1.SchemeGroupVersion.String(), Kind: "StaticPodClass"},
		ObjectMeta: metav1.ObjectMeta{Name: configv1alpha1.KubeadmClass},
		Spec: configv1alpha1.StaticPodClassSpec{
			Namespaces: []string{configv1alpha1.KubeadmNamespace}, PodName: configv1alpha1.KubeadmStaticPod, Image: image, ManifestFile: EtcdManifest,
			Companions: []configv1alpha1.PermittedCompanion{{PodName: configv1alpha1.KubeadmCompanion, ManifestFile: APIServerManifest}},
		},
	}
}
