// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"certrotation.dev/registry/contenthash"
	"certrotation.dev/registry/trust"
)

// startedConfiguration is a PKI whose verifiers read its bundle only at start.
const startedConfiguration = `apiVersion: config.certrotation.dev/v1alpha1
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
      evidence: {kind: workloadRollout, workloadRollout: {workloads: [{kind: Deployment, name: client}]}}
    - name: servers
      members: [s]
      verifies: {nothing: true}
      presents: [web-server]
      evidence: {kind: gracePeriod, gracePeriod: 1s}
`

// gateStage is a Deployment whose pods wait at a start gate for the bundle that their template names.
type gateStage struct{ *podStage }

// mountDelay is how long a pod stays at its gate at least.
const mountDelay = 3 * time.Second

// TestProgramsThatNeverReload rotates a CA for pods that read their files only at start. They restart once for the
// new CA. A pod that starts later finds a later bundle than its template names, and starts with it. The template
// changes again only if a pod would wait forever, because the bundle no longer names its superseded contents.
func TestProgramsThatNeverReload(t *testing.T) {
	t.Parallel()
	s := &gateStage{podStage: workingPlane.use(t).podStage(t, "started")}
	s.mustKubectl(t, "create", "rolebinding", restartRole, "-n", s.namespace, "--clusterrole="+restartRole, "--serviceaccount="+systemNamespace+":certrotation-controller")
	configure(t, s.own, s.namespace, startedConfiguration)
	s.deploy(t)
	s.start(t)
	s.stable(t, "")
	s.changed(t, "the PKI is made", 1)

	before := s.rotate(t)
	s.stable(t, before)
	s.changed(t, "the CA is rotated", 2)

	s.deleteOne(t)
	s.changed(t, "a pod is deleted, and its successor has started", 2)

	s.scale(t, 3)
	eventually(t, "the pod that starts later is available", func(ctx context.Context) error { return s.available(ctx, 3) })
	s.changed(t, "it is scaled", 3)

	forget := fmt.Appendf(nil, `{"data":{%q:null}}`, contenthash.SupersededKey)
	if _, err := s.client.CoreV1().ConfigMaps(s.namespace).Patch(t.Context(), "web-bundle", types.MergePatchType, forget, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	s.scale(t, 4)
	eventually(t, "the pod that would wait for ever is available", func(ctx context.Context) error { return s.available(ctx, 4) })
	s.changed(t, "it is scaled and its template brought up to date", 5)
}

// deleteOne deletes a pod, and returns when its successor is available.
func (s *gateStage) deleteOne(t *testing.T) {
	t.Helper()
	pods := s.client.CoreV1().Pods(s.namespace)
	list, err := pods.List(t.Context(), metav1.ListOptions{LabelSelector: "app=client"})
	if err != nil || len(list.Items) == 0 {
		t.Fatalf("%d pods, %v", len(list.Items), err)
	}
	former := list.Items[0].Name
	if err := pods.Delete(t.Context(), former, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the successor of "+former+" is available", func(ctx context.Context) error {
		if _, err := pods.Get(ctx, former, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("pod %s: %w", former, err)
		}
		return s.available(ctx, 2)
	})
}

// deploy creates the Deployment once a bundle exists, as a person would.
func (s *gateStage) deploy(t *testing.T) {
	t.Helper()
	hash := ""
	eventually(t, "there is a bundle", func(ctx context.Context) error {
		content, err := s.published(ctx)
		hash = content.Hash
		return err
	})
	key := trust.ContentAnnotation(trust.ConfigMapKind, "web-bundle")
	labels := map[string]string{"app": "client"}
	mount := []corev1.VolumeMount{{Name: "trust", MountPath: "/trust", ReadOnly: true}}
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "client", Annotations: map[string]string{trust.AnnotationConfiguration: "web"}},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(2)), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: map[string]string{key: hash}},
				Spec: corev1.PodSpec{
					InitContainers: []corev1.Container{{
						Name: "gate", Image: "example.com/certrotation", Args: []string{"wait", "--for-content=$(CONTENT)", "/trust"}, VolumeMounts: mount,
						Env: []corev1.EnvVar{{Name: "CONTENT", ValueFrom: &corev1.EnvVarSource{
							FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.annotations['" + key + "']"},
						}}},
					}},
					Containers: []corev1.Container{{Name: "program", Image: "example.com/program", VolumeMounts: mount}},
					Volumes: []corev1.Volume{{Name: "trust", VolumeSource: corev1.VolumeSource{
						ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "web-bundle"}},
					}}},
				},
			},
		},
	}
	if _, err := s.client.AppsV1().Deployments(s.namespace).Create(t.Context(), d, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func (s *gateStage) published(ctx context.Context) (contenthash.Content, error) {
	bundle, err := s.client.CoreV1().ConfigMaps(s.namespace).Get(ctx, "web-bundle", metav1.GetOptions{})
	if err != nil {
		return contenthash.Content{}, err
	}
	return contenthash.ContentOfConfigMap(bundle), nil
}

// start runs the scheduler and the kubelets until the test ends.
func (s *gateStage) start(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ticker := time.NewTicker(200 * time.Millisecond); ctx.Err() == nil; {
			// The next turn retries writes that conflict with another client.
			_ = s.turn(ctx)
			select {
			case <-ctx.Done():
				ticker.Stop()
			case <-ticker.C:
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
}

// turn binds pods, and starts those whose gate finds the bundle that their template names, or a later one. It ends
// deleted pods.
func (s *gateStage) turn(ctx context.Context) error {
	pods := s.client.CoreV1().Pods(s.namespace)
	content, err := s.published(ctx)
	if err != nil {
		return err
	}
	list, err := pods.List(ctx, metav1.ListOptions{LabelSelector: "app=client"})
	if err != nil {
		return err
	}
	var errs []error
	for i := range list.Items {
		pod := &list.Items[i]
		switch {
		case pod.DeletionTimestamp != nil:
			errs = append(errs, pods.Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}))
		case pod.Spec.NodeName == "":
			errs = append(errs, pods.Bind(ctx, &corev1.Binding{
				ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: pod.Name}, Target: corev1.ObjectReference{Kind: "Node", Name: "node-1"},
			}, metav1.CreateOptions{}))
		case pod.Status.Phase == corev1.PodPending && time.Since(pod.CreationTimestamp.Time) > mountDelay &&
			content.Reaches(pod.Annotations[trust.ContentAnnotation(trust.ConfigMapKind, "web-bundle")]):
			now := metav1.Now()
			pod.Status = corev1.PodStatus{
				Phase:      corev1.PodRunning,
				Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: now}},
				InitContainerStatuses: []corev1.ContainerStatus{{
					Name: "gate", ContainerID: "test://gate/" + string(pod.UID),
					State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed", FinishedAt: now, ContainerID: "test://gate/" + string(pod.UID)}},
				}},
				ContainerStatuses: []corev1.ContainerStatus{{
					Name: "program", ContainerID: "test://program/" + string(pod.UID), Ready: true, Started: new(true),
					State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
				}},
			}
			_, err := pods.UpdateStatus(ctx, pod, metav1.UpdateOptions{})
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (s *gateStage) available(ctx context.Context, want int32) error {
	d, err := s.client.AppsV1().Deployments(s.namespace).Get(ctx, "client", metav1.GetOptions{})
	if err != nil {
		return err
	}
	if d.Status.ObservedGeneration != d.Generation || d.Status.AvailableReplicas != want || d.Status.UpdatedReplicas != want || d.Status.Replicas != want {
		return fmt.Errorf("generation %d, status %+v", d.Generation, d.Status)
	}
	return nil
}

// changed asserts how often the spec of the Deployment was written, including its creation.
func (s *gateStage) changed(t *testing.T, when string, want int64) {
	t.Helper()
	d, err := s.client.AppsV1().Deployments(s.namespace).Get(t.Context(), "client", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if d.Generation != want {
		t.Fatalf("after %s the generation is %d, want %d", when, d.Generation, want)
	}
}

func (s *gateStage) scale(t *testing.T, replicas int) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
	if _, err := s.client.AppsV1().Deployments(s.namespace).Patch(t.Context(), "client", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}
