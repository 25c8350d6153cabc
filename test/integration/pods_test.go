// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/apis/certrotation/v1alpha1"
	"certrotation.dev/registry/trust"
)

// podsConfiguration is a PKI with the pods of one workload as verifiers and the pods of another as holders.
const podsConfiguration = `apiVersion: config.certrotation.dev/v1alpha1
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
      reporters: {serviceAccounts: [client]}
      evidence: {kind: acknowledgement}
    - name: servers
      pods: {selector: {matchLabels: {app: server}}}
      verifies: {nothing: true}
      presents: [web-server]
      reporters: {serviceAccounts: [server]}
      evidence: {kind: acknowledgement}
`

// podStage is a namespace with pods as members. There is no kubelet: the test writes the status of the pods.
type podStage struct {
	*plane

	namespace string
}

// TestPods rotates trust domains whose members are pods, on a real kube-apiserver, with serve and the controller
// as processes. Pods report with the tokens that kubelet would give them.
func TestPods(t *testing.T) {
	t.Parallel()
	p := workingPlane.use(t)
	for name, play := range map[string]func(*testing.T, *podStage){
		"one that lags":           testPodThatLags,
		"one that is deleted":     testPodThatIsDeleted,
		"one that restarts":       testPodThatRestarts,
		"one that is replaced":    testPodThatIsReplaced,
		"scaled to zero":          testPodsScaledToZero,
		"relabelled in flight":    testPodsRelabelled,
		"one that has not begun":  testPodThatHasNotBegun,
		"none was ever seen":      testPodsNeverSeen,
		"two that come in flight": testPodsThatCome,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play(t, p.podStage(t, "pods-"+strings.ReplaceAll(name, " ", "-")))
		})
	}
}

// podStage makes a namespace with the accounts of its workloads.
func (p *plane) podStage(t *testing.T, namespace string) *podStage {
	t.Helper()
	makeNamespace(t, p.client, namespace)
	role := &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: "reporter"},
		Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{"certrotation.dev"}, Resources: []string{"certificaterotations/acknowledge"},
			ResourceNames: []string{"web-signer"}, Verbs: []string{"create"},
		}},
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
	}
	for _, name := range []string{"client", "server"} {
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if _, err := p.client.CoreV1().ServiceAccounts(namespace).Create(t.Context(), account, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		binding.Subjects = append(binding.Subjects, rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name})
	}
	if _, err := p.client.RbacV1().Roles(namespace).Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.client.RbacV1().RoleBindings(namespace).Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return &podStage{plane: p, namespace: namespace}
}

// configured creates the PKI, and reports for the given pods until it is complete.
func (s *podStage) configured(t *testing.T, pods ...*runningPod) {
	t.Helper()
	configure(t, s.own, s.namespace, podsConfiguration)
	s.stable(t, "", pods...)
}

// rotate requests a rotation and waits until the next CA is published. It returns the fingerprint of the active
// CA.
func (s *podStage) rotate(t *testing.T) (before string) {
	t.Helper()
	rotations := s.own.CertrotationV1alpha1().CertificateRotations(s.namespace)
	before = s.signer(t).Status.Certificate.Fingerprint
	eventually(t, "a rotation is asked for", func(ctx context.Context) error {
		_, err := rotations.Rotate(ctx, "web-signer", &v1alpha1.RotationRequest{Reason: "test"}, metav1.CreateOptions{})
		return err
	})
	eventually(t, "the next CA is published", func(ctx context.Context) error {
		anchors, err := s.anchors(ctx)
		if err == nil && len(anchors) != 2 {
			err = fmt.Errorf("%d anchors are published", len(anchors))
		}
		return err
	})
	return before
}

func (s *podStage) signer(t *testing.T) *v1alpha1.CertificateRotation {
	t.Helper()
	signer, err := s.own.CertrotationV1alpha1().CertificateRotations(s.namespace).Get(t.Context(), "web-signer", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return signer
}

// waitsFor waits until exactly these members block the rotation, and the messages of the blockers contain a text.
func (s *podStage) waitsFor(t *testing.T, says string, members ...string) {
	t.Helper()
	eventually(t, fmt.Sprintf("the rotation holds for %v", members), func(ctx context.Context) error {
		signer, err := s.own.CertrotationV1alpha1().CertificateRotations(s.namespace).Get(ctx, "web-signer", metav1.GetOptions{})
		if err != nil {
			return err
		}
		var held []string
		said := ""
		for _, b := range signer.Status.Blockers {
			held = append(held, trust.MemberName(b.Party, b.Member))
			said += b.Message
		}
		if slices.Sort(held); !slices.Equal(slices.Compact(held), members) || !strings.Contains(said, says) {
			return fmt.Errorf("in the stage %s it holds for %q: %+v", signer.Status.Stage, held, signer.Status.Blockers)
		}
		return nil
	})
}

// stable waits until a CA other than before is the only one, while pods report what they load.
func (s *podStage) stable(t *testing.T, before string, pods ...*runningPod) {
	t.Helper()
	eventually(t, "the trust domain is stable", func(ctx context.Context) error {
		for _, pod := range pods {
			if err := pod.acknowledge(ctx); err != nil {
				return err
			}
		}
		signer, err := s.own.CertrotationV1alpha1().CertificateRotations(s.namespace).Get(ctx, "web-signer", metav1.GetOptions{})
		if err != nil {
			return err
		}
		anchors, err := s.anchors(ctx)
		if err != nil {
			return err
		}
		status := &signer.Status
		if status.Stage != v1alpha1.StageStable || len(anchors) != 1 || status.Certificate == nil || status.Certificate.Fingerprint == before {
			return fmt.Errorf("stage %s, %d anchors, blockers %+v, conditions %+v", status.Stage, len(anchors), status.Blockers, status.Conditions)
		}
		for _, m := range status.Members {
			if !m.Trusted && !m.VerifiesNothing || !m.Delivered {
				return fmt.Errorf("member %+v", m)
			}
		}
		return nil
	})
}
