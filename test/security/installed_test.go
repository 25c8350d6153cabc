// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"context"
	"fmt"
	"net"
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/test/cluster"
	"certrotation.dev/test/cluster/installation"
	"certrotation.dev/test/cluster/nodes"
	"certrotation.dev/test/cluster/workernodes"
)

// ofProcesses are the claims that need certrotation as a process of this machine: a pod has its own loopback.
var ofProcesses = map[string]bool{"dial": true}

// TestInstalledClaims makes each attack on certrotation as docs/install.md installs it. A second installation comes
// last, as it takes over from the first.
func TestInstalledClaims(t *testing.T) {
	w, c := newInstalledWorld(t)
	for _, b := range borders() {
		for _, claimed := range b.claims {
			if !ofProcesses[claimed.name] {
				claimed.fails(t, w)
			}
		}
	}
	claim{"stolen token", attackStolenToken}.fails(t, w)
	t.Run("second installation", func(t *testing.T) { secondInstallation(t, c) })
}

// newInstalledWorld starts a control plane with an audit log and nodes, and certrotation in pods.
func newInstalledWorld(t *testing.T) (*world, *workernodes.Cluster) {
	t.Helper()
	nodes.Require(t)
	dir, err := cluster.MkdirTemp("certrotation-claims-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	audit, flags := newAuditLog(t)
	c, err := workernodes.Start(t.Context(), workernodes.Config{Dir: dir, APIServerFlags: flags, Progress: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			c.KeepLogs(t)
		}
		if err := c.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("stop the cluster: %v", err)
		}
	})
	w := worldOf(t, c.Installation, audit)
	w.listens = c.Network.Gateway().String()
	w.serve = func(t *testing.T) []string { return w.urls(t, "serve", "api") }
	w.controller = func(t *testing.T) []string { return w.urls(t, "controller", "metrics") }
	w.logs = w.podLogs
	return w, c
}

func (w *world) pods(t *testing.T, component string) []corev1.Pod {
	t.Helper()
	list, err := w.admin.CoreV1().Pods(installation.Namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/component=" + component})
	if err != nil || len(list.Items) == 0 {
		t.Fatalf("find the pods of %s: %d, %v", component, len(list.Items), err)
	}
	return list.Items
}

func (w *world) urls(t *testing.T, component, port string) []string {
	t.Helper()
	var out []string
	for _, pod := range w.pods(t, component) {
		for _, p := range pod.Spec.Containers[0].Ports {
			if p.Name == port {
				out = append(out, "https://"+net.JoinHostPort(pod.Status.PodIP, fmt.Sprint(p.ContainerPort)))
			}
		}
	}
	if len(out) == 0 {
		t.Fatalf("%s has no port %s", component, port)
	}
	return out
}

func (w *world) podLogs(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, component := range []string{"serve", "controller"} {
		for _, pod := range w.pods(t, component) {
			text, err := w.admin.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{}).DoRaw(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if len(text) == 0 {
				t.Fatalf("%s has logged nothing", pod.Name)
			}
			out["the log of "+pod.Name] = string(text)
		}
	}
	return out
}
