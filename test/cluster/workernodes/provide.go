// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package workernodes

import (
	"context"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// makeHostedPKI makes the Secret that the sample hosted-etcd requires from its user.
func (c *Cluster) makeHostedPKI(ctx context.Context, namespace string) error {
	files, err := c.readHostedPKI(namespace)
	if err != nil {
		return err
	}
	_, err = c.Client.CoreV1().Secrets(namespace).Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "kube-apiserver-pki"}, Data: files,
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("write the certificates of kube-apiserver: %w", err)
	}
	return nil
}

// makeVolumes gives each member of an etcd a directory on its own node. The member returns with its data, and only
// there.
func (c *Cluster) makeVolumes(ctx context.Context, namespace string) error {
	const members = 3
	if len(c.cfg.Nodes) < members {
		return fmt.Errorf("there are %d nodes for %d members of etcd", len(c.cfg.Nodes), members)
	}
	for i, node := range c.cfg.Nodes[:members] {
		path := "/var/lib/" + namespace
		if err := os.MkdirAll(c.Network.Node(node).Path(path), 0o755); err != nil {
			return fmt.Errorf("make a directory on %s: %w", node, err)
		}
		_, err := c.Client.CoreV1().PersistentVolumes().Create(ctx, volume(namespace, i, node, path), metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("make a volume on %s: %w", node, err)
		}
	}
	return nil
}

// volume returns a PersistentVolume for the claim of one member.
func volume(namespace string, member int, node, path string) *corev1.PersistentVolume {
	pod := fmt.Sprintf("etcd-%d", member)
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: namespace + "-" + pod},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			AccessModes:                   []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			ClaimRef:                      &corev1.ObjectReference{Namespace: namespace, Name: "data-" + pod},
			PersistentVolumeSource:        corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: path}},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{node}}},
			}}}},
		},
	}
}
