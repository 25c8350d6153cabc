// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"certrotation.dev/test/cluster/installation"
)

const (
	serve, controller = "certrotation-serve", "certrotation-controller"
	sampleBundle      = "service-ca-bundle"
	ownSigner         = "certrotation-signer"
)

// lifecycle is what happens to a component of a cluster.
var lifecycle = []struct {
	name string
	do   func(*system, *testing.T)
	// repeats means that an edit whose review was interrupted is retried, as users do.
	repeats bool
}{
	{name: "the next build, and back in a rotation", do: (*system).upgradeAndBack},
	{name: "drain of the node of a replica of serve", do: (*system).drainServe},
	{name: "a rotation while the leader is killed", do: (*system).killLeader},
	{name: "a rotation of its own CA", do: (*system).rotateOwn},
	{name: "a rotation while kube-apiserver restarts", do: (*system).restartAPIServer, repeats: true},
}

// TestInstalledUnderLoad takes certrotation through its lifecycle while clients list and watch its API, edits are
// reviewed, and the sample connects. Then it kills a replica of serve. Requests in flight there fail, but no watch
// misses, repeats or reverts an event.
func TestInstalledUnderLoad(t *testing.T) {
	s := theSystem(t)
	traffic := s.measure(t)
	watched := s.watchRows(t)
	var table strings.Builder
	fmt.Fprintf(&table, "%-42s %6s %9s %9s %7s\n", "", "s", "requests", "repeated", "failed")
	for _, step := range lifecycle {
		t.Run(step.name, func(t *testing.T) {
			begun, load := time.Now(), s.useInstalled(t, step.repeats)
			step.do(s, t)
			load.end(t)
			fmt.Fprintf(&table, "%-42s %6.0f %9d %9d %7d\n", step.name, time.Since(begun).Seconds(), load.requests, load.repeated, len(load.failures))
		})
	}
	s.killServe(t)
	watched.end(t)
	traffic.end(t)
	t.Logf("what happened to certrotation\n%s", table.String())
}

func (s *system) available(t *testing.T, deployment string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := installation.WaitDeployments(ctx, s.Client, installation.Namespace, deployment); err != nil {
		t.Fatal(err)
	}
}

// upgradeAndBack begins a rotation with another build, and ends it with this one.
func (s *system) upgradeAndBack(t *testing.T) {
	t.Helper()
	s.runImage(t, s.nextBuild(t))
	before := s.rotate(t)
	s.runImage(t, s.Image)
	s.rotated(t, before)
}

// runImage changes the image of both Deployments, and waits until their former pods are gone.
func (s *system) runImage(t *testing.T, image string) {
	t.Helper()
	for _, deployment := range []string{controller, serve} {
		container := strings.TrimPrefix(deployment, "certrotation-")
		patch := fmt.Appendf(nil, `{"spec":{"template":{"spec":{"containers":[{"name":%q,"image":%q}]}}}}`, container, image)
		if _, err := s.Client.AppsV1().Deployments(installation.Namespace).Patch(t.Context(), deployment, types.StrategicMergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	s.available(t, controller)
	s.available(t, serve)
	until(t, "the former replicas are gone", func(ctx context.Context) error {
		pods, err := s.Client.CoreV1().Pods(installation.Namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for i := range pods.Items {
			if pods.Items[i].DeletionTimestamp != nil {
				return fmt.Errorf("%s ends", pods.Items[i].Name)
			}
		}
		return nil
	})
}

func (s *system) ofServe(t *testing.T) *corev1.Pod {
	t.Helper()
	pods, err := s.Client.CoreV1().Pods(installation.Namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/component=serve"})
	if err != nil || len(pods.Items) == 0 {
		t.Fatalf("find a pod of serve: %d, %v", len(pods.Items), err)
	}
	return &pods.Items[0]
}

func (s *system) drainServe(t *testing.T) {
	t.Helper()
	node := s.ofServe(t).Spec.NodeName
	cordon(t, s, node, true)
	defer cordon(t, s, node, false)
	until(t, node+" is drained of certrotation", func(ctx context.Context) error {
		pods, err := s.Client.CoreV1().Pods(installation.Namespace).List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + node})
		if err != nil {
			return err
		}
		for i := range pods.Items {
			pod := &pods.Items[i]
			if pod.DeletionTimestamp == nil {
				if err := s.evict(ctx, pod); err != nil && !apierrors.IsTooManyRequests(err) && !apierrors.IsNotFound(err) {
					return err
				}
			}
		}
		if len(pods.Items) > 0 {
			return fmt.Errorf("%d pods are there", len(pods.Items))
		}
		return nil
	})
	s.available(t, serve)
	s.available(t, controller)
}

func (s *system) killServe(t *testing.T) {
	t.Helper()
	pod := s.ofServe(t)
	s.kill(t, pod.Name, pod.Spec.NodeName, "serve")
	s.available(t, serve)
}

// kill kills a container with kill -9, and returns when its successor runs.
func (s *system) kill(t *testing.T, pod, on, container string) {
	t.Helper()
	node := s.Network.Node(on)
	running, err := node.RunningContainer(t.Context(), pod, container)
	if err != nil {
		t.Fatal(err)
	}
	if err := node.KillContainer(t.Context(), pod, container); err != nil {
		t.Fatal(err)
	}
	if _, err := node.WaitContainer(t.Context(), pod, container, running.ID); err != nil {
		t.Fatal(err)
	}
}

func (s *system) leader(t *testing.T) *corev1.Pod {
	t.Helper()
	lease, err := s.Client.CoordinationV1().Leases(installation.Namespace).Get(t.Context(), controller, metav1.GetOptions{})
	if err != nil || lease.Spec.HolderIdentity == nil {
		t.Fatalf("find the leader: %v, %v", lease, err)
	}
	name, _, _ := strings.Cut(*lease.Spec.HolderIdentity, "_")
	pod, err := s.Client.CoreV1().Pods(installation.Namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return pod
}

func (s *system) killLeader(t *testing.T) {
	t.Helper()
	leader := s.leader(t)
	before := s.rotate(t)
	s.kill(t, leader.Name, leader.Spec.NodeName, "controller")
	s.rotated(t, before)
	if now := s.leader(t); now.UID == leader.UID {
		t.Logf("%s leads again", now.Name)
	}
	s.available(t, controller)
}

// rotateOwn rotates the CA by which kube-apiserver verifies serve. It shortens the waiting times to seconds.
func (s *system) rotateOwn(t *testing.T) {
	t.Helper()
	own := s.of(installation.Namespace, ownSigner)
	s.hasten(t, "3s", "5s")
	defer s.hasten(t, "1m", "5m")
	before := own.rotate(t)
	own.rotated(t, before)
}

// hasten sets the waiting times of the system's own trust domain.
func (s *system) hasten(t *testing.T, grace, drain string) {
	t.Helper()
	patch := fmt.Sprintf(`[{"op":"replace","path":"/spec/trustDomains/0/relyingParties/0/evidence/gracePeriod","value":%q},`+
		`{"op":"replace","path":"/spec/trustDomains/0/unlistedLeaves/drain","value":%q}]`, grace, drain)
	if _, err := s.Kubectl(t.Context(), "patch", "rotationconfiguration", "certrotation", "-n", installation.Namespace, "--type=json", "-p", patch); err != nil {
		t.Fatal(err)
	}
}

func (s *system) restartAPIServer(t *testing.T) {
	t.Helper()
	before := s.rotate(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := s.Installation.Cluster.RestartAPIServer(ctx); err != nil {
		t.Fatal(err)
	}
	s.rotated(t, before)
}
