// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"context"
	"fmt"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/apis/certrotation/v1alpha1"
)

// replicasConfiguration is a PKI whose verifiers are the pods of a workload, which report what they have loaded.
const replicasConfiguration = `apiVersion: config.certrotation.dev/v1alpha1
kind: RotationConfiguration
metadata: {name: pki}
spec:
  trustDomains:
  - name: pki
    signer: {secretName: pki-signer}
    bundle: {configMapName: pki-ca-bundle}
    leaves:
    - {secretName: pki-server, usages: [ServerAuth], dnsNames: [pki.example]}
    relyingParties:
    - name: replicas
      pods: {selector: {matchLabels: {app: replica}}}
      reporters: {serviceAccounts: [replica]}
      evidence: {kind: acknowledgement}
    - {name: server, verifies: {nothing: true}, presents: [pki-server], evidence: {kind: none, reason: no process runs in this test}}
`

// attackPodEvidence tries to report for a neighbour with the same service account, without a pod, and for the pod
// that replaced the reporting one.
func attackPodEvidence(t *testing.T, w *world) string {
	namespace := w.namespace(t, true)
	acknowledge := may("certrotation.dev", []string{"certificaterotations/acknowledge"}, "create")
	acknowledge.ResourceNames = []string{"pki-signer"}
	account := w.tenant(t, namespace, "replica", acknowledge)
	a, b := w.replica(t, namespace, "a"), w.replica(t, namespace, "b")
	w.complete(t, namespace, replicasConfiguration)
	signer, err := w.own.CertrotationV1alpha1().CertificateRotations(namespace).Get(t.Context(), "pki-signer", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	report := func(ctx context.Context, who *tenant, as *corev1.Pod) error {
		_, err := who.own.CertrotationV1alpha1().CertificateRotations(namespace).Acknowledge(ctx, "pki-signer", &v1alpha1.Acknowledgement{
			Party: "replicas", Member: as.Name, Instance: string(as.UID), Trusts: []string{signer.Status.Certificate.Fingerprint},
			StartedAt: metav1.NowMicro(), ObservedAt: metav1.NowMicro(),
		}, metav1.CreateOptions{})
		return err
	}
	ofA := w.inPod(t, a)
	// The view of serve may lag.
	eventually(t, "a pod reports for itself", func(ctx context.Context) error { return report(ctx, ofA, a) })
	eventually(t, "its report counts", func(ctx context.Context) error { return w.trusting(ctx, namespace, "a", true) })
	if err := report(t.Context(), ofA, b); err == nil {
		return "pod a has reported for pod b"
	}
	if err := report(t.Context(), account, b); err == nil {
		return "whoever has the service account has reported for pod b"
	}
	// Reports are distinguished by the UID of their pod.
	later := w.replaced(t, a)
	if err := report(t.Context(), ofA, later); err == nil {
		return "the former pod a has reported for the present one"
	}
	eventually(t, "what the former pod a has reported proves nothing", func(ctx context.Context) error { return w.trusting(ctx, namespace, "a", false) })
	if err := report(t.Context(), ofA, later); err == nil {
		return "the former pod a has reported for the present one, which is known"
	}
	if err := report(t.Context(), ofA, a); err == nil {
		return "the former pod a has reported for itself"
	}
	if err := w.trusting(t.Context(), namespace, "a", false); err != nil {
		return err.Error()
	}
	ofLater := w.inPod(t, later)
	eventually(t, "the present pod a reports for itself", func(ctx context.Context) error { return report(ctx, ofLater, later) })
	eventually(t, "its report counts", func(ctx context.Context) error { return w.trusting(ctx, namespace, "a", true) })
	return ""
}

func (w *world) replica(t *testing.T, namespace, name string) *corev1.Pod {
	t.Helper()
	pods := w.admin.CoreV1().Pods(namespace)
	pod, err := pods.Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "replica"}},
		Spec: corev1.PodSpec{
			ServiceAccountName: "replica",
			// Without a node, no kubelet overwrites the status below.
			SchedulerName: "nobody",
			Containers:    []corev1.Container{{Name: "program", Image: "example.com/program"}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pod.Status.Phase = corev1.PodRunning
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "program", ContainerID: "test://" + string(pod.UID), Ready: true, Started: new(true),
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}},
	}}
	if pod, err = pods.UpdateStatus(t.Context(), pod, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	return pod
}

// replaced replaces a pod by another one of its name, as a StatefulSet does.
func (w *world) replaced(t *testing.T, pod *corev1.Pod) *corev1.Pod {
	t.Helper()
	if err := w.admin.CoreV1().Pods(pod.Namespace).Delete(t.Context(), pod.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}); err != nil {
		t.Fatal(err)
	}
	return w.replica(t, pod.Namespace, pod.Name)
}

// inPod returns a client with the token that kubelet mounts in a pod.
func (w *world) inPod(t *testing.T, pod *corev1.Pod) *tenant {
	t.Helper()
	token, err := w.admin.CoreV1().ServiceAccounts(pod.Namespace).CreateToken(t.Context(), pod.Spec.ServiceAccountName, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{BoundObjectRef: &authenticationv1.BoundObjectReference{
			APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID,
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return w.account(t, pod.Name, token.Status.Token)
}

// trusting returns an error unless a pod counts, or does not count, as having loaded the CA.
func (w *world) trusting(ctx context.Context, namespace, pod string, want bool) error {
	signer, err := w.own.CertrotationV1alpha1().CertificateRotations(namespace).Get(ctx, "pki-signer", metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, m := range signer.Status.Members {
		if m.Member == pod && m.Trusted == want {
			return nil
		}
	}
	return fmt.Errorf("that pod %s trusts the CA has to be %t: %+v", pod, want, signer.Status.Members)
}
