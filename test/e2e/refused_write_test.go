// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"certrotation.dev/apis/certrotation/v1alpha1"
	"certrotation.dev/registry/record"
	"certrotation.dev/registry/trust"
)

// heldByTheTest is the message of the test's admission policy.
const heldByTheTest = "held by the test"

// forbidUpdates makes the API server refuse updates of a Secret or ConfigMap until allow is called.
func (s *system) forbidUpdates(t *testing.T, namespace, resource, object string) (allow func()) {
	t.Helper()
	policies, bindings := s.kube.AdmissionregistrationV1().ValidatingAdmissionPolicies(), s.kube.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings()
	name := namespace + "-" + object
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: new(admissionregistrationv1.Fail),
			MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
				ResourceNames: []string{object},
				RuleWithOperations: admissionregistrationv1.RuleWithOperations{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
					Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{resource}},
				},
			}}},
			Validations: []admissionregistrationv1.Validation{{Expression: "false", Message: heldByTheTest}},
		},
	}
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: name, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
			MatchResources: &admissionregistrationv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}},
			},
		},
	}
	if _, err := policies.Create(t.Context(), policy, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := bindings.Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	allow = func() {
		ctx := context.WithoutCancel(t.Context())
		for _, err := range []error{bindings.Delete(ctx, name, metav1.DeleteOptions{}), policies.Delete(ctx, name, metav1.DeleteOptions{})} {
			if err != nil && !apierrors.IsNotFound(err) {
				t.Errorf("allow updates of %s/%s: %v", namespace, object, err)
			}
		}
	}
	t.Cleanup(allow)
	eventually(t, "updates are refused", func(ctx context.Context) (bool, string) {
		err := s.kube.CoreV1().RESTClient().Patch(types.MergePatchType).Namespace(namespace).Resource(resource).Name(object).Param("dryRun", metav1.DryRunAll).
			Body([]byte(`{"metadata":{"annotations":{"example.com/try":"1"}}}`)).Do(ctx).Error()
		return err != nil && strings.Contains(err.Error(), heldByTheTest), fmt.Sprint(err)
	})
	return allow
}

// blockedByWrites reports whether a rotation waits for writes of an object.
func blockedByWrites(c *v1alpha1.CertificateRotation, object string, contains ...string) bool {
	return slices.ContainsFunc(c.Status.Blockers, func(b v1alpha1.Blocker) bool {
		return b.Object == object && !slices.ContainsFunc(contains, func(text string) bool { return !strings.Contains(b.Message, text) })
	})
}

// TestRefusedWriteIsABlocker: one leaf cannot be written. Conditions and events say which write is refused and
// why. The other leaf gets the next CA beside it, and the rotation ends when the write is permitted again.
func TestRefusedWriteIsABlocker(t *testing.T) {
	t.Parallel()
	s := theSystem(t)
	const namespace = "refused"
	a, b := s.startReaders(t, namespace)
	before := fingerprintOf(s.rotation(t.Context(), t, namespace, signer))
	server := fingerprintOf(s.rotation(t.Context(), t, namespace, "service-server"))
	allow := s.forbidUpdates(t, namespace, "secrets", "service-server")
	s.must(t, "certrotation", "rotate", "-n", namespace, signer)
	eventually(t, "the refusal is a blocker, and the other leaf goes on", func(ctx context.Context) (bool, string) {
		problems := []string{s.load(ctx, t, namespace, a), s.load(ctx, t, namespace, b)}
		c := s.rotation(ctx, t, namespace, signer)
		mirror, err := s.kube.CoreV1().Secrets(namespace).Get(ctx, "service-mirror", metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		moved := bytes.Count(mirror.Data[corev1.ServiceAccountRootCAKey], []byte("BEGIN CERTIFICATE")) == 2
		return moved && blockedByWrites(c, "Secret/service-server", "update", heldByTheTest), fmt.Sprintf("moved %t, %+v, %q", moved, c.Status, problems)
	})
	if got := fingerprintOf(s.rotation(t.Context(), t, namespace, "service-server")); got != server {
		t.Errorf("the leaf that cannot be written is %s, want %s", got, server)
	}
	s.configurationShows(t, namespace, "service", "True", "False", "Secret/service-server", heldByTheTest)
	s.event(t, namespace, "WriteRefused", object{"Secret", "service-server"}, heldByTheTest)
	tried := s.refusedWrites(t)
	eventually(t, "the write is tried again and again", func(context.Context) (bool, string) {
		now := s.refusedWrites(t)
		return now >= tried+2, fmt.Sprintf("%d refused writes, %d before", now, tried)
	})
	if c := s.rotation(t.Context(), t, namespace, signer); !blockedByWrites(c, "Secret/service-server", heldByTheTest) || c.Status.Stage == v1alpha1.StageStable {
		t.Errorf("it did not stay: %+v", c.Status)
	}
	if got := s.emitted(t, namespace, "WriteRefused"); got != 1 {
		t.Errorf("%d events WriteRefused on one refusal", got)
	}
	allow()
	s.rotated(t, namespace, before, a, b)
	s.configurationShows(t, namespace, "service", "True", "True")
	eventually(t, "nothing is left of the refusal", func(ctx context.Context) (bool, string) {
		out := s.must(t, "get", "rotationrecords", "-n", namespace)
		return !strings.Contains(out, "refusal."), out
	})
}

// refusedUpdates matches the counter of the controller's updates of Secrets that failed without a conflict.
var refusedUpdates = regexp.MustCompile(`(?m)^certrotation_writes_total\{resource="secrets",result="error",verb="update"\} (\d+)$`)

func (s *system) refusedWrites(t *testing.T) int {
	t.Helper()
	found := refusedUpdates.FindStringSubmatch(s.controllerMetrics(t))
	if found == nil {
		t.Fatal("the controller counts no refused update of a Secret")
	}
	n, err := strconv.Atoi(found[1])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func (s *system) emitted(t *testing.T, namespace, reason string) int {
	t.Helper()
	events, err := s.kube.EventsV1().Events(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for i := range events.Items {
		if e := &events.Items[i]; e.Reason == reason {
			total++
			if e.Series != nil {
				total += int(e.Series.Count) - 1
			}
		}
	}
	return total
}

// TestOlderDefinitionsAreNamed: the CustomResourceDefinitions lack a field of a record, like those of an earlier
// version. The controller then writes no record and makes no key, and a blocker says what to install. After that
// the controller makes everything. The test is not parallel, because all tests share the definitions.
func TestOlderDefinitionsAreNamed(t *testing.T) {
	s := theSystem(t)
	const namespace = "older"
	s.namespace(t, namespace, nil)
	install := func() { s.must(t, "apply", "--server-side=false", "-k", manifest(t, "crds")) }
	defer install()
	s.must(t, "patch", "crd", "rotationrecords.config.certrotation.dev", "--type=json", "-p",
		`[{"op":"remove","path":"/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/roster/properties/members/items/properties/started"}]`)
	eventually(t, "the API server goes by the older definitions", func(ctx context.Context) (bool, string) {
		roster := &trust.Roster{Members: []trust.RosterMember{{Party: "reader", Member: "a", Kind: trust.Acknowledgement, Started: true}}}
		made, err := record.OfRoster(namespace, "service", roster)
		if err == nil {
			_, err = s.rot.ConfigV1alpha1().RotationRecords(namespace).Create(ctx, made, record.CreateOptions("test", []string{metav1.DryRunAll}))
		}
		return err != nil && strings.Contains(err.Error(), "unknown field"), fmt.Sprint(err)
	})
	s.mustConfigure(t, namespace, readers)
	eventually(t, "a blocker says what to install", func(ctx context.Context) (bool, string) {
		c, err := s.rot.CertrotationV1alpha1().CertificateRotations(namespace).Get(ctx, signer, metav1.GetOptions{})
		return err == nil && blockedByWrites(c, "RotationRecord/roster.service", "unknown field", "kubectl apply -k manifests/crds"), fmt.Sprintf("%+v, %v", c, err)
	})
	if _, err := s.kube.CoreV1().Secrets(namespace).Get(t.Context(), signer, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("a key was made without a record of who counts: %v", err)
	}
	install()
	s.waitHealthy(t, namespace, objectsOfReaders)
}

// TestImmutableBundleIsNamed: nothing can be published in an immutable bundle. Conditions and events say why and
// what to do.
func TestImmutableBundleIsNamed(t *testing.T) {
	t.Parallel()
	s := theSystem(t)
	const namespace = "immutable"
	a, b := s.startReaders(t, namespace)
	before := fingerprintOf(s.rotation(t.Context(), t, namespace, signer))
	s.must(t, "patch", "configmap", "-n", namespace, bundle, "--type=merge", "-p", `{"immutable":true}`)
	s.must(t, "certrotation", "rotate", "-n", namespace, signer)
	eventually(t, "the bundle is a blocker", func(ctx context.Context) (bool, string) {
		c := s.rotation(ctx, t, namespace, signer)
		return blockedByWrites(c, "ConfigMap/"+bundle, "immutable"), fmt.Sprintf("%+v", c.Status)
	})
	s.configurationShows(t, namespace, "service", "True", "False", "ConfigMap/"+bundle, "immutable")
	s.must(t, "delete", "configmap", "-n", namespace, bundle)
	s.rotated(t, namespace, before, a, b)
	s.configurationShows(t, namespace, "service", "True", "True")
}
