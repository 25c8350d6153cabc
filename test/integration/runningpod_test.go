// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"certrotation.dev/apis/certrotation/v1alpha1"
	"certrotation.dev/generated/clientset/versioned"
	"certrotation.dev/registry/view/inventory"
)

// runningPod is a pod with one container. The test writes its status.
type runningPod struct {
	stage *podStage
	pod   *corev1.Pod
	// own reports with the token of the pod.
	own versioned.Interface
	// starts counts the starts of its container.
	starts int
}

// pod creates a pod of a workload that is bound to a node but not started.
func (s *podStage) pod(t *testing.T, app, name string) *runningPod {
	t.Helper()
	pod, err := s.client.CoreV1().Pods(s.namespace).Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": app}},
		Spec: corev1.PodSpec{
			NodeName: "node-1", ServiceAccountName: app, Containers: []corev1.Container{{Name: "program", Image: "example.com/program"}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	token, err := s.client.CoreV1().ServiceAccounts(s.namespace).CreateToken(t.Context(), app, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{BoundObjectRef: &authenticationv1.BoundObjectReference{
			APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID,
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	config := rest.AnonymousClientConfig(s.AdminConfig())
	config.BearerToken, config.QPS = token.Status.Token, -1
	own, err := versioned.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return &runningPod{stage: s, pod: pod, own: own}
}

func (s *podStage) run(t *testing.T, app, name string) *runningPod {
	t.Helper()
	out := s.pod(t, app, name)
	out.start(t)
	return out
}

// start writes a status with a started container.
func (p *runningPod) start(t *testing.T) {
	t.Helper()
	pods := p.stage.client.CoreV1().Pods(p.stage.namespace)
	pod, err := pods.Get(t.Context(), p.pod.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	// A status has a resolution of seconds. The order of a report and a start in the same second would be
	// ambiguous.
	eventually(t, "another second", func(context.Context) error {
		if now := time.Now(); p.starts > 0 && now.Truncate(time.Second).Equal(p.startedAt().Truncate(time.Second)) {
			return fmt.Errorf("it is %s", now)
		}
		return nil
	})
	status := corev1.ContainerStatus{
		Name: "program", ContainerID: fmt.Sprintf("test://%s/%d", pod.UID, p.starts), RestartCount: int32(p.starts), Ready: true, Started: new(true),
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}},
	}
	pod.Status.Phase, pod.Status.ContainerStatuses = corev1.PodRunning, []corev1.ContainerStatus{status}
	if p.pod, err = pods.UpdateStatus(t.Context(), pod, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	p.starts++
}

func (p *runningPod) startedAt() time.Time {
	return p.pod.Status.ContainerStatuses[0].State.Running.StartedAt.Time
}

// acknowledge reports, as the pod, that it has loaded what is published now.
func (p *runningPod) acknowledge(ctx context.Context) error {
	anchors, err := p.stage.anchors(ctx)
	if err != nil {
		return err
	}
	report := &v1alpha1.Acknowledgement{
		Party: p.pod.Labels["app"] + "s", Member: p.pod.Name, Instance: string(p.pod.UID),
		StartedAt: metav1.NewMicroTime(p.startedAt()), ObservedAt: metav1.NowMicro(), Trusts: anchors,
	}
	if p.pod.Labels["app"] == "server" {
		secret, err := p.stage.client.CoreV1().Secrets(p.stage.namespace).Get(ctx, "web-server", metav1.GetOptions{})
		if err != nil {
			return err
		}
		chain, err := certificates(secret.Data[corev1.TLSCertKey])
		if err != nil {
			return err
		}
		report.Presents = []string{string(fingerprintOf(chain[0]))}
	}
	_, err = p.own.CertrotationV1alpha1().CertificateRotations(p.stage.namespace).Acknowledge(ctx, "web-signer", report, metav1.CreateOptions{})
	return err
}

func (p *runningPod) acknowledged(t *testing.T) {
	t.Helper()
	eventually(t, "pod "+p.pod.Name+" reports", p.acknowledge)
}

// anchors returns the fingerprints of the anchors in the bundle.
func (s *podStage) anchors(ctx context.Context) ([]string, error) {
	bundle, err := s.client.CoreV1().ConfigMaps(s.namespace).Get(ctx, "web-bundle", metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	anchors, err := certificates([]byte(bundle.Data[inventory.BundleKey]))
	if err != nil {
		return nil, err
	}
	var out []string
	for _, anchor := range anchors {
		out = append(out, string(fingerprintOf(anchor)))
	}
	return out, nil
}

// deleted deletes the pod. Its node must still confirm the end.
func (p *runningPod) deleted(t *testing.T) {
	t.Helper()
	if err := p.stage.client.CoreV1().Pods(p.stage.namespace).Delete(t.Context(), p.pod.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// gone confirms the end of the pod, as its node does.
func (p *runningPod) gone(t *testing.T) {
	t.Helper()
	now := metav1.DeleteOptions{GracePeriodSeconds: new(int64(0)), Preconditions: &metav1.Preconditions{UID: &p.pod.UID}}
	if err := p.stage.client.CoreV1().Pods(p.stage.namespace).Delete(t.Context(), p.pod.Name, now); err != nil {
		t.Fatal(err)
	}
}

func (p *runningPod) relabel(t *testing.T) {
	t.Helper()
	patch := []byte(`{"metadata":{"labels":{"app":"removed"}}}`)
	if _, err := p.stage.client.CoreV1().Pods(p.stage.namespace).Patch(t.Context(), p.pod.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}
