// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes_test

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"certrotation.dev/test/cluster"
	"certrotation.dev/test/cluster/nodes"
)

// TestRegister starts nodes before their kube-apiserver and after it.
func TestRegister(t *testing.T) {
	t.Parallel()
	w := nodes.ForTest(t, nodes.Config{Names: []string{"early"}, Images: []string{buildWitness(t)}, Progress: t.Output()})
	early := w.Node("early")
	putManifest(t, early, witnessPod("witness", "static", "hostNetwork: true"))
	hears(t, early.IP(), "static")
	before, err := early.RunningContainer(t.Context(), "witness-early", "witness")
	if err != nil {
		t.Fatal(err)
	}

	c := cluster.ForTest(t, cluster.WithControllerManager, func(cfg *cluster.Config) { cfg.Address = w.Gateway().String() })
	t.Cleanup(func() { // Before kube-apiserver stops.
		if err := w.StopKubelets(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("stop the kubelets: %v", err)
		}
	})
	client := kubernetes.NewForConfigOrDie(c.AdminConfig())
	begun := time.Now()
	if err := w.Register(t.Context(), nodes.KubeconfigOf(c)); err != nil {
		t.Fatal(err)
	}
	if err := early.WaitReady(t.Context(), client); err != nil {
		t.Fatal(err)
	}
	t.Logf("Ready %.1f s after Register", time.Since(begun).Seconds())
	begun = time.Now()
	if err := w.Add(t.Context(), "late"); err != nil {
		t.Fatal(err)
	}
	late := w.Node("late")
	if err := late.WaitReady(t.Context(), client); err != nil {
		t.Fatal(err)
	}
	t.Logf("a new node is Ready after %.1f s", time.Since(begun).Seconds())

	t.Run("the static pod has a mirror and went on", func(t *testing.T) { testMirror(t, client, early, before) })
	t.Run("labels", func(t *testing.T) {
		if err := late.Label(t.Context(), client, map[string]string{"node-role.kubernetes.io/master": ""}); err != nil {
			t.Fatal(err)
		}
		found, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{LabelSelector: "node-role.kubernetes.io/master="})
		if err != nil || len(found.Items) != 1 || found.Items[0].Name != "late" {
			t.Errorf("nodes with the label: %v, %v", found, err)
		}
	})
	t.Run("a pod of the API with a secret and an address of its own", func(t *testing.T) { testPodOfAPI(t, client, early, late) })
}

func testMirror(t *testing.T, client kubernetes.Interface, n *nodes.Node, before nodes.Container) {
	t.Helper()
	eventually(t, "wait for the mirror pod", func() error {
		pod, err := client.CoreV1().Pods("kube-system").Get(t.Context(), "witness-early", metav1.GetOptions{})
		if err == nil && (pod.Status.Phase != corev1.PodRunning || pod.Status.HostIP != n.IP().String() || !ready(pod)) {
			err = fmt.Errorf("its status is %+v", pod.Status)
		}
		return err
	})
	if after, err := n.RunningContainer(t.Context(), "witness-early", "witness"); err != nil || after != before {
		t.Errorf("before %v, after %v, %v", before, after, err)
	}
	text, err := client.CoreV1().Pods("kube-system").GetLogs("witness-early", &corev1.PodLogOptions{}).DoRaw(t.Context())
	if err != nil || string(text) != "I say static\n" {
		t.Errorf("its log by the API: %q, %v", text, err)
	}
}

// testPodOfAPI creates a pod like an installer: bound to a node, with a Secret volume and without a token.
func testPodOfAPI(t *testing.T, client kubernetes.Interface, early, late *nodes.Node) {
	t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "material"}, StringData: map[string]string{"tls.crt": "x"}}
	if _, err := client.CoreV1().Secrets("kube-system").Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{}
	if err := yaml.Unmarshal([]byte(witnessPod("ordinary", "ordinary", "nodeName: late", "automountServiceAccountToken: false")), pod); err != nil {
		t.Fatal(err)
	}
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{
		Name: "material", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "material"}},
	})
	pod.Spec.Containers[0].VolumeMounts = append(pod.Spec.Containers[0].VolumeMounts, corev1.VolumeMount{Name: "material", MountPath: "/material"})
	eventually(t, "create the pod", func() error { // As soon as the namespace has its ServiceAccount.
		_, err := client.CoreV1().Pods("kube-system").Create(t.Context(), pod.DeepCopy(), metav1.CreateOptions{})
		return err
	})
	begun := time.Now()
	var ip string
	eventually(t, "wait for the pod", func() error {
		running, err := client.CoreV1().Pods("kube-system").Get(t.Context(), "ordinary", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if !ready(running) {
			return fmt.Errorf("its status is %+v", running.Status)
		}
		ip = running.Status.PodIP
		return nil
	})
	t.Logf("it runs after %.1f s", time.Since(begun).Seconds())
	if ip == late.IP().String() {
		t.Errorf("the pod has its node's address %s", ip)
	}
	hears(t, net.ParseIP(ip), "ordinary")
	hearsFrom(t, early, net.ParseIP(ip), "ordinary")
	begun = time.Now()
	if err := client.CoreV1().Pods("kube-system").Delete(t.Context(), "ordinary", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "wait until the pod is gone", func() error {
		_, err := client.CoreV1().Pods("kube-system").Get(t.Context(), "ordinary", metav1.GetOptions{})
		if err == nil {
			return fmt.Errorf("it is there")
		}
		return nil
	})
	t.Logf("it is gone after %.1f s", time.Since(begun).Seconds())
}

func ready(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
