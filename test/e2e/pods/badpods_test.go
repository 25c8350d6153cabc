// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/apis/certrotation/v1alpha1"
	"certrotation.dev/test/cluster/workernodes"
)

// badPod is a pod that cannot prove what it has loaded.
type badPod struct {
	party string
	edit  func(*corev1.Pod)
	// says is a part of the blocker's message if the pod blocks the rotation. log is a part of its agent's log.
	says, log string
}

// badPods by name. Those with an empty says do not block the rotation, because none of their processes verifies
// anything.
var badPods = map[string]badPod{
	"host-network": {party: "probed", edit: func(pod *corev1.Pod) {
		pod.Spec.HostNetwork = true
		pod.Spec.Containers[0].Args[1], pod.Spec.Containers[0].Ports[0].ContainerPort = "--listen=:18443", 18443
	}, says: "it uses the network of its node"},
	"no-such-port": {party: "probed", edit: func(pod *corev1.Pod) { pod.Spec.Containers[0].Ports = nil }, says: "none of its containers has a port named mtls"},
	"crashes":      {party: "probed", edit: func(pod *corev1.Pod) { pod.Spec.Containers[0].Args[2] = "--leaf-dir=/nowhere" }, says: "its container server is in CrashLoopBackOff"},
	"deaf": {party: "probed", edit: func(pod *corev1.Pod) {
		pod.Spec.Containers[0].Args = []string{"totals", "--listen=127.0.0.1:8443"}
	}, says: "answers there"},
	// kubelet does the same when it evicts a pod.
	"ended":        {party: "probed", edit: func(pod *corev1.Pod) { pod.Spec.ActiveDeadlineSeconds = new(int64(1)) }},
	"never-placed": {party: "probed", edit: func(pod *corev1.Pod) { pod.Spec.NodeSelector = map[string]string{"example.com/no": "such"} }},
	"wrong-path": {party: "beside-an-agent", edit: func(pod *corev1.Pod) {
		besideAnAgent(pod, "--anchors=/trust/no-such.crt")
		pod.Spec.ServiceAccountName = "agent"
	}, says: "acknowledge", log: "FilesUnreadable"},
	"no-rights": {party: "beside-an-agent", edit: func(pod *corev1.Pod) { besideAnAgent(pod, "--anchors=/trust/ca-bundle.crt") }, says: "acknowledge", log: "Forbidden"},
}

// TestPodsThatProveNothing: each running pod without evidence blocks the rotation, and a blocker names it with the
// reason. So does a workload that is not restarted. Nothing else blocks, and another trust domain of the
// configuration rotates meanwhile. The rotation ends once all are repaired.
func TestPodsThatProveNothing(t *testing.T) {
	s := scenario(t, "bad-pods", "web-signer")
	s.apply(t, "badpods.yaml")
	hash, _ := s.hashes(t, "web-ca-bundle", "web-server")
	s.makeBadPods(t)
	s.apply(t, "badpods-workloads.yaml", "HASH_OF_BUNDLE", hash, "UID_OF_OPERATOR", s.operator(t))
	until(t, "the pods are as bad as they are meant to be", s.badPodsRun)

	before := s.rotate(t)
	s.pauseMidway(t)
	until(t, "all are named, with the reason", s.allAreNamed)
	calm := *s
	calm.signer = "calm-signer"
	calm.rotated(t, calm.rotate(t))
	if row, err := s.row(t.Context()); err != nil || row.Status.Certificate.Fingerprint != before {
		t.Fatalf("the rotation has not held: %v", err)
	}
	until(t, "all are named still", s.allAreNamed)
	s.agentsSay(t)

	s.putRight(t)
	s.rotated(t, before)
}

func (s *system) makeBadPods(t *testing.T) {
	t.Helper()
	pods := maps.Clone(badPods)
	pods["good"] = badPod{party: "probed", edit: func(*corev1.Pod) {}}
	for name, bad := range pods {
		pod := s.server(name, bad.party)
		bad.edit(pod)
		s.create(t, pod)
	}
}

func (s *system) create(t *testing.T, pod *corev1.Pod) *corev1.Pod {
	t.Helper()
	made, err := s.Client.CoreV1().Pods(s.namespace).Create(t.Context(), pod, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func (s *system) server(name, party string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: s.namespace, Labels: map[string]string{"app": party}},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: new(int64(1)),
			Containers: []corev1.Container{{
				Name: "server", Image: workernodes.SampleImage, ImagePullPolicy: corev1.PullNever,
				Args:  []string{"server", "--listen=:8443", "--leaf-dir=/tls", "--bundle-dir=/trust"},
				Ports: []corev1.ContainerPort{{Name: "mtls", ContainerPort: 8443}},
				VolumeMounts: []corev1.VolumeMount{
					{Name: "tls", MountPath: "/tls", ReadOnly: true}, {Name: "trust", MountPath: "/trust", ReadOnly: true},
				},
			}},
			Volumes: []corev1.Volume{
				{Name: "tls", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "web-server"}}},
				{Name: "trust", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
					LocalObjectReference: corev1.LocalObjectReference{Name: "web-ca-bundle"},
				}}},
			},
		},
	}
}

// besideAnAgent adds an agent that reports for the pod, as in docs/pods.md.
func besideAnAgent(pod *corev1.Pod, anchors string) {
	field := func(variable, path string) corev1.EnvVar {
		return corev1.EnvVar{Name: variable, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}}
	}
	always := corev1.ContainerRestartPolicyAlways
	pod.Spec.InitContainers = []corev1.Container{{
		Name: "agent", Image: workernodes.SampleImage, ImagePullPolicy: corev1.PullNever, RestartPolicy: &always,
		Command: []string{
			"/certrotation", "agent", "--signer=web-signer", "--party=" + pod.Labels["app"], "--certificate=/tls/tls.crt", anchors, "--prove=localhost:8443",
		},
		Env:          []corev1.EnvVar{field("POD_NAMESPACE", "metadata.namespace"), field("POD_NAME", "metadata.name"), field("POD_UID", "metadata.uid")},
		EnvFrom:      []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "environment"}}}},
		VolumeMounts: pod.Spec.Containers[0].VolumeMounts,
	}}
}

// operator returns the UID of the ConfigMap that owns one of the workloads.
func (s *system) operator(t *testing.T) string {
	t.Helper()
	operator, err := s.Client.CoreV1().ConfigMaps(s.namespace).Get(t.Context(), "operator", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return string(operator.UID)
}

func (s *system) badPodsRun(ctx context.Context) error {
	for name, bad := range badPods {
		pod, err := s.Client.CoreV1().Pods(s.namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		started := len(pod.Status.ContainerStatuses) > 0 && (pod.Status.ContainerStatuses[0].RestartCount > 0 || pod.Status.ContainerStatuses[0].State.Running != nil)
		if bad.says != "" && !started || name == "ended" && pod.Status.Phase != corev1.PodFailed {
			return fmt.Errorf("pod %s is %s", name, pod.Status.Phase)
		}
	}
	for name := range heldWorkloads {
		d, err := s.Client.AppsV1().Deployments(s.namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if d.Status.AvailableReplicas != *d.Spec.Replicas {
			return fmt.Errorf("of %s %d pods are available", name, d.Status.AvailableReplicas)
		}
	}
	return nil
}

// heldWorkloads are the Deployments that are not restarted, with a part of the blocker's message for each.
var heldWorkloads = map[string]string{
	"paused":   "kubectl rollout resume Deployment/paused",
	"operated": "is written by ConfigMap/operator",
}

// pauseMidway pauses a rollout once its first pod is replaced.
func (s *system) pauseMidway(t *testing.T) {
	t.Helper()
	until(t, "the restart has begun", func(ctx context.Context) error {
		d, err := s.Client.AppsV1().Deployments(s.namespace).Get(ctx, "paused", metav1.GetOptions{})
		if err == nil && (d.Status.ObservedGeneration < 2 || d.Status.UpdatedReplicas == 0) {
			err = errors.New("no pod is new")
		}
		return err
	})
	s.patch(t, "deployment", "paused", `{"spec":{"paused":true}}`)
}

func (s *system) patch(t *testing.T, kind, name, patch string) {
	t.Helper()
	if _, err := s.Kubectl(t.Context(), "patch", kind, name, "-n", s.namespace, "--type=merge", "-p", patch); err != nil {
		t.Fatal(err)
	}
}

// allAreNamed returns nil if the blockers name exactly the pods and workloads that hold the rotation, with the
// reason.
func (s *system) allAreNamed(ctx context.Context) error {
	row, err := s.row(ctx)
	if err != nil {
		return err
	}
	said := map[string]string{}
	for _, b := range row.Status.Blockers {
		switch bad, ok := badPods[b.Member]; {
		case ok && b.Party != bad.party, !ok && b.Party == "probed":
			return fmt.Errorf("%s of %s is named: %s", b.Member, b.Party, b.Message)
		case ok:
			said[b.Member] += b.Message
		default:
			said[b.Object] += b.Message
		}
	}
	for name, bad := range badPods {
		if text, named := said[name]; named != (bad.says != "") || !strings.Contains(text, bad.says) {
			return fmt.Errorf("of pod %s is said %q, want %q", name, text, bad.says)
		}
	}
	for name, says := range heldWorkloads {
		if text := said["Deployment/"+name]; !strings.Contains(text, says) {
			return fmt.Errorf("of Deployment %s is said %q, want %q", name, text, says)
		}
	}
	if row.Status.Stage != v1alpha1.StageDistributing {
		return fmt.Errorf("the stage is %s", row.Status.Stage)
	}
	return nil
}

func (s *system) agentsSay(t *testing.T) {
	t.Helper()
	for name, bad := range badPods {
		if bad.log == "" {
			continue
		}
		log, err := s.Client.CoreV1().Pods(s.namespace).GetLogs(name, &corev1.PodLogOptions{Container: "agent"}).DoRaw(t.Context())
		if err != nil || !strings.Contains(string(log), bad.log) {
			t.Errorf("the agent of %s does not say %s (%v):\n%s", name, bad.log, err, log)
		}
	}
}

// putRight deletes the pods without evidence, and unblocks the restart of the workloads.
func (s *system) putRight(t *testing.T) {
	t.Helper()
	for name := range badPods {
		if err := s.Client.CoreV1().Pods(s.namespace).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	s.patch(t, "deployment", "paused", `{"spec":{"paused":false}}`)
	s.patch(t, "deployment", "operated", `{"metadata":{"ownerReferences":null}}`)
}
