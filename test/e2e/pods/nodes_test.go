// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/test/cluster/workernodes"
)

// otherWorkloads are of kinds that the sample does not have.
const otherWorkloads = `apiVersion: apps/v1
kind: StatefulSet
metadata: {name: ordered, namespace: default}
spec:
  replicas: 2
  serviceName: ordered
  selector: {matchLabels: {app: ordered}}
  template:
    metadata: {labels: {app: ordered}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: pause, image: "certrotation.dev/pause:1", imagePullPolicy: Never}]
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: everywhere, namespace: default}
spec:
  selector: {matchLabels: {app: everywhere}}
  template:
    metadata: {labels: {app: everywhere}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: pause, image: "certrotation.dev/pause:1", imagePullPolicy: Never}]
`

// TestPodsOnNodes tests the harness: a pod has what package workernodes promises.
func TestPodsOnNodes(t *testing.T) {
	s := theSystem(t)
	servers, err := s.ready(t.Context(), "server")
	if err != nil {
		t.Fatal(err)
	}
	on := map[string]bool{}
	for i := range servers {
		pod := &servers[i]
		on[pod.Spec.NodeName] = true
		if pod.Status.PodIP == pod.Status.HostIP {
			t.Errorf("pod %s has no address of its own", pod.Name)
		}
		for _, node := range s.Network.Nodes() {
			conn, err := node.Dial(t.Context(), "tcp", net.JoinHostPort(pod.Status.PodIP, "8443"))
			if err != nil {
				t.Errorf("pod %s from %s: %v", pod.Name, node.Name(), err)
				continue
			}
			conn.Close()
		}
		proxied := s.Client.CoreV1().Pods(namespace).ProxyGet("http", pod.Name, strconv.Itoa(workernodes.StatsPort), "/stats", nil)
		if _, err := proxied.DoRaw(t.Context()); err != nil {
			t.Errorf("pod %s from kube-apiserver: %v", pod.Name, err)
		}
	}
	if len(on) < 2 {
		// The scheduler spreads them as far as it can.
		t.Errorf("three servers are on the nodes %v", on)
	}
	// Clients reach the servers, and kube-apiserver with the tokens of their pods.
	until(t, "every pod is a member, and every client has reported", func(ctx context.Context) error {
		row, err := s.row(ctx)
		if err != nil {
			return err
		}
		if len(row.Status.Members) != 7 {
			return fmt.Errorf("there are %d members", len(row.Status.Members))
		}
		for _, m := range row.Status.Members {
			if m.Party != "server" && !m.Known {
				return fmt.Errorf("member %s of %s: %s", m.Member, m.Party, m.Message)
			}
		}
		return nil
	})
	s.measure(t).end(t)
	testOtherWorkloads(t, s)
}

func testOtherWorkloads(t *testing.T, s *system) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "workloads.yaml")
	if err := os.WriteFile(file, []byte(otherWorkloads), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Kubectl(t.Context(), "apply", "-f", file); err != nil {
		t.Fatal(err)
	}
	until(t, "a StatefulSet and a DaemonSet run", func(ctx context.Context) error {
		ordered, err := s.Client.AppsV1().StatefulSets("default").Get(ctx, "ordered", metav1.GetOptions{})
		if err != nil {
			return err
		}
		everywhere, err := s.Client.AppsV1().DaemonSets("default").Get(ctx, "everywhere", metav1.GetOptions{})
		if err != nil {
			return err
		}
		nodes, err := s.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		if ordered.Status.ReadyReplicas != 2 || int(everywhere.Status.NumberReady) != len(nodes.Items) {
			return fmt.Errorf("ready are %d of 2 and %d of %d", ordered.Status.ReadyReplicas, everywhere.Status.NumberReady, len(nodes.Items))
		}
		return nil
	})
	for _, kind := range []string{"statefulset/ordered", "daemonset/everywhere"} {
		if _, err := s.Kubectl(t.Context(), "delete", kind, "-n", "default"); err != nil {
			t.Error(err)
		}
	}
	until(t, "their pods are gone", func(ctx context.Context) error {
		pods, err := s.Client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
		if err == nil && len(pods.Items) > 0 {
			err = errors.New(pods.Items[0].Name + " is there")
		}
		return err
	})
}
