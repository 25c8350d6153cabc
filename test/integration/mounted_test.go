// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/apis/certrotation/v1alpha1"
	"certrotation.dev/registry/contenthash"
	"certrotation.dev/registry/trust"
)

// mountedConfiguration is a PKI whose pods mount immutable copies of bundle and leaf.
const mountedConfiguration = `apiVersion: config.certrotation.dev/v1alpha1
kind: RotationConfiguration
metadata: {name: web}
spec:
  trustDomains:
  - name: web
    signer: {secretName: web-signer}
    bundle: {configMapName: web-bundle}
    leaves:
    - {secretName: web-server, dnsNames: [` + webServerName + `], usages: [ServerAuth]}
    relyingParties:
    - name: clients
      pods: {selector: {matchLabels: {app: client}}}
      evidence: {kind: mounted, mounted: {trustVolume: files}}
    - name: servers
      pods: {selector: {matchLabels: {app: server}}}
      verifies: {nothing: true}
      presents: [web-server]
      evidence: {kind: mounted, mounted: {leafVolumes: [files]}}
`

// gardener makes immutable copies named by their content, and runs one pod of each workload that mounts them, like
// Gardener.
type gardener struct{ *podStage }

// TestPodsThatMountImmutableObjects rotates a CA with the specs of pods as evidence. The rotation waits only until
// the operator has made the copies and replaced the pods.
func TestPodsThatMountImmutableObjects(t *testing.T) {
	t.Parallel()
	g := &gardener{workingPlane.use(t).podStage(t, "mounted")}
	configure(t, g.own, g.namespace, mountedConfiguration)
	eventually(t, "the pods mount what there is", g.work)
	g.stable(t, "")

	before := g.rotate(t)
	g.waitsFor(t, "the writer of the immutable objects of its pods has not brought the bundle there yet", "clients/"+g.mounting(t, "client"))
	eventually(t, "the rotation ends", func(ctx context.Context) error {
		if err := g.work(ctx); err != nil {
			return err
		}
		signer, err := g.own.CertrotationV1alpha1().CertificateRotations(g.namespace).Get(ctx, "web-signer", metav1.GetOptions{})
		if err == nil && (signer.Status.Stage != v1alpha1.StageStable || signer.Status.Certificate.Fingerprint == before) {
			err = fmt.Errorf("stage %s: %+v", signer.Status.Stage, signer.Status.Blockers)
		}
		return err
	})
	eventually(t, "the pods mount what there is in the end", g.work)
}

// mounting returns the name of the only pod of a workload.
func (g *gardener) mounting(t *testing.T, app string) string {
	t.Helper()
	list, err := g.client.CoreV1().Pods(g.namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app=" + app})
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("%d pods, %v", len(list.Items), err)
	}
	return list.Items[0].Name
}

// work makes the copies, replaces the pods that mount other copies, and deletes unused copies.
func (g *gardener) work(ctx context.Context) error {
	bundle, err := g.copyBundle(ctx)
	if err != nil {
		return err
	}
	leaf, err := g.copyLeaf(ctx)
	if err != nil {
		return err
	}
	if err := g.replace(ctx, "client", bundle, corev1.VolumeSource{
		ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: bundle}},
	}); err != nil {
		return err
	}
	if err := g.replace(ctx, "server", leaf, corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: leaf}}); err != nil {
		return err
	}
	return g.collect(ctx, bundle, leaf)
}

func copied(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: name, Labels: map[string]string{"copy": "immutable"}, Annotations: map[string]string{trust.AnnotationConfiguration: "web"},
	}
}

func (g *gardener) copyBundle(ctx context.Context) (string, error) {
	maps := g.client.CoreV1().ConfigMaps(g.namespace)
	from, err := maps.Get(ctx, "web-bundle", metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	name := "web-bundle-" + contenthash.OfConfigMap(from)[:10]
	_, err = maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: copied(name), Immutable: new(true), Data: from.Data, BinaryData: from.BinaryData}, metav1.CreateOptions{})
	return name, unlessThere(err)
}

func (g *gardener) copyLeaf(ctx context.Context) (string, error) {
	secrets := g.client.CoreV1().Secrets(g.namespace)
	from, err := secrets.Get(ctx, "web-server", metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	name := "web-server-" + contenthash.OfSecret(from)[:10]
	_, err = secrets.Create(ctx, &corev1.Secret{ObjectMeta: copied(name), Immutable: new(true), Type: from.Type, Data: from.Data}, metav1.CreateOptions{})
	return name, unlessThere(err)
}

func unlessThere(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// replace makes the pod that mounts a copy the only one of its workload, and sets its status as kubelet would.
func (g *gardener) replace(ctx context.Context, app, mounted string, source corev1.VolumeSource) error {
	pods, name := g.client.CoreV1().Pods(g.namespace), app+"-"+mounted
	pod, err := pods.Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": app}},
		Spec: corev1.PodSpec{
			NodeName: "node-1", ServiceAccountName: app,
			Containers: []corev1.Container{{Name: "program", Image: "example.com/program", VolumeMounts: []corev1.VolumeMount{{Name: "files", MountPath: "/files"}}}},
			Volumes:    []corev1.Volume{{Name: "files", VolumeSource: source}},
		},
	}, metav1.CreateOptions{})
	switch {
	case apierrors.IsAlreadyExists(err):
		return g.retire(ctx, app, name)
	case err != nil:
		return err
	}
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{
		Name: "program", ContainerID: "test://" + string(pod.UID), Ready: true, Started: new(true),
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}},
	}}}
	if _, err := pods.UpdateStatus(ctx, pod, metav1.UpdateOptions{}); err != nil {
		return err
	}
	return g.retire(ctx, app, name)
}

// retire deletes all pods of a workload but one.
func (g *gardener) retire(ctx context.Context, app, name string) error {
	pods := g.client.CoreV1().Pods(g.namespace)
	list, err := pods.List(ctx, metav1.ListOptions{LabelSelector: "app=" + app})
	if err != nil {
		return err
	}
	for i := range list.Items {
		if list.Items[i].Name == name {
			continue
		}
		if err := pods.Delete(ctx, list.Items[i].Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}); err != nil {
			return err
		}
	}
	return nil
}

func (g *gardener) collect(ctx context.Context, needed ...string) error {
	secrets, err := g.client.CoreV1().Secrets(g.namespace).List(ctx, metav1.ListOptions{LabelSelector: "copy=immutable"})
	if err != nil {
		return err
	}
	for i := range secrets.Items {
		if name := secrets.Items[i].Name; !slices.Contains(needed, name) {
			if err := g.client.CoreV1().Secrets(g.namespace).Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
				return err
			}
		}
	}
	maps, err := g.client.CoreV1().ConfigMaps(g.namespace).List(ctx, metav1.ListOptions{LabelSelector: "copy=immutable"})
	if err != nil {
		return err
	}
	for i := range maps.Items {
		if name := maps.Items[i].Name; !slices.Contains(needed, name) {
			if err := g.client.CoreV1().ConfigMaps(g.namespace).Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
				return err
			}
		}
	}
	return nil
}
