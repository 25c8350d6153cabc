// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package kubeadm

import (
	"fmt"
	"net/netip"
	"net/url"
	"path"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/nodepod"
	"certrotation.dev/registry/trust"
)

// Names of kubeadm's manifests in kubelet's directory.
const (
	EtcdManifest      = "etcd.yaml"
	APIServerManifest = "kube-apiserver.yaml"
)

// Manifests are kubeadm's manifests of one node.
type Manifests struct {
	Etcd, APIServer []byte
}

// Adoption is what the owner of the nodes applies.
type Adoption struct {
	Class     *configv1alpha1.StaticPodClass
	Templates *corev1.ConfigMap
}

// Adopt converts the manifests into templates, for the RotationConfiguration with that name. image is the image of
// certrotation, by digest.
func Adopt(in Manifests, configuration, image string) (*Adoption, error) {
	etcd, err := nodepod.ParsePod(in.Etcd)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", EtcdManifest, err)
	}
	apiServer, err := nodepod.ParsePod(in.APIServer)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", APIServerManifest, err)
	}
	node, err := nodeOf(etcd)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", EtcdManifest, err)
	}
	class := classOf(image)
	if class.Spec.Pod, err = adoptEtcd(etcd); err != nil {
		return nil, fmt.Errorf("%s: %w", EtcdManifest, err)
	}
	if class.Spec.Companions[0].Pod, err = adoptAPIServer(apiServer); err != nil {
		return nil, fmt.Errorf("%s: %w", APIServerManifest, err)
	}
	out := &Adoption{Class: class, Templates: &corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{
			Name: configv1alpha1.KubeadmTemplates, Namespace: configv1alpha1.KubeadmNamespace,
			Annotations: map[string]string{trust.AnnotationConfiguration: configuration},
		},
		Data: map[string]string{},
	}}
	for key, pod := range map[string]*corev1.Pod{
		configv1alpha1.PodKey: etcd, configv1alpha1.CompanionKey(configv1alpha1.KubeadmCompanion): apiServer,
	} {
		if out.Templates.Data[key], err = node.template(pod); err != nil {
			return nil, err
		}
	}
	return out, out.check(node)
}

// check renders the manifests of the node from the templates, as an installer would.
func (a *Adoption) check(node node) error {
	class, err := configv1alpha1.LoadClass(&a.Class.Spec)
	if err != nil {
		return fmt.Errorf("what the manifests have cannot be permitted: %w", err)
	}
	const number = 1 // stands for any
	for _, name := range []string{configv1alpha1.KubeadmStaticPod, configv1alpha1.KubeadmCompanion} {
		key := configv1alpha1.CompanionKey(name)
		if name == configv1alpha1.KubeadmStaticPod {
			key = configv1alpha1.PodKey
		}
		if _, err := nodepod.RenderManifest([]byte(a.Templates.Data[key]), nodepod.Values{
			Revision: number, NodeName: node.name, NodeIP: node.address.String(), RestartHash: "any", Permitted: class.Permitted(name),
			Directory: path.Join(class.ResourceDirectory, nodepod.DirectoryName(configv1alpha1.KubeadmStaticPod, number)),
		}); err != nil {
			return fmt.Errorf("the manifest of %s cannot be brought by a rollout: %w", name, err)
		}
	}
	return nil
}

type node struct {
	name    string
	address netip.Addr
}

// nodeOf reads name and address from the command line of etcd.
func nodeOf(etcd *corev1.Pod) (node, error) {
	c, err := container(etcd, configv1alpha1.KubeadmStaticPod)
	if err != nil {
		return node{}, err
	}
	name, err := c.value("name")
	if err != nil {
		return node{}, err
	}
	text, err := c.value("advertise-client-urls")
	if err != nil {
		return node{}, err
	}
	parsed, err := url.Parse(text)
	if err != nil {
		return node{}, fmt.Errorf("--advertise-client-urls=%s: %w", text, err)
	}
	address, err := netip.ParseAddr(parsed.Hostname())
	if err != nil {
		return node{}, fmt.Errorf("--advertise-client-urls=%s: want a URL with the address of the node", text)
	}
	return node{name: name, address: address}, nil
}
