// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/apis/certrotation/v1alpha1"
	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
)

// badConfiguration is a second configuration in a namespace that has a valid one. The API server admits it. The
// tests of the CustomResourceDefinition cover configurations that the API server refuses.
type badConfiguration struct {
	name, content string
	// reason is the reason of the event, text a part of the event and of the denial.
	reason, text string
}

func badConfigurations() []badConfiguration {
	claim := func(domain, signer, leaf string) string {
		return fmt.Sprintf(`apiVersion: config.certrotation.dev/v1alpha1
kind: RotationConfiguration
metadata: {name: second}
spec:
  trustDomains:
  - name: %s
    signer: {secretName: %s}
    bundle: {configMapName: %s-bundle}
    leaves: [{secretName: %s, usages: [ServerAuth], dnsNames: [thief.example]}]
    relyingParties:
    - {name: browser, presents: [%s], evidence: {kind: acknowledgement}}
`, domain, signer, domain, leaf, leaf)
	}
	third := claim("third", "third-signer", "third-server")
	return []badConfiguration{
		{"no holder", strings.Replace(third, "presents: [third-server], ", "", 1), "InvalidConfiguration", "no relying party presents the leaf"},
		{"unknown leaf", strings.Replace(third, "presents: [third-server]", "presents: [third-server, fourth]", 1), "InvalidConfiguration", `presents[1]: Not found: "fourth"`},
		{"signer of another domain", claim("third", "web-signer", "third-server"), "ConflictingClaim", "Secret/web-signer of RotationConfiguration/main"},
		{"leaf of another domain", claim("third", "third-signer", "web-server"), "ConflictingClaim", "Secret/web-server of RotationConfiguration/main"},
		{"domain of another configuration", claim("web", "third-signer", "third-server"), "ConflictingClaim", "trust domain web of RotationConfiguration/main"},
	}
}

func (b *badConfiguration) namespace() string {
	return "bad-configuration-" + strings.ToLower(strings.ReplaceAll(b.name, " ", "-"))
}

// configurationProblems returns the number of configuration problems that serve reports for a namespace in its
// metrics.
func (s *system) configurationProblems(ctx context.Context, t *testing.T, namespace string) string {
	t.Helper()
	for line := range strings.Lines(s.serveMetrics(ctx, t)) {
		if value, found := strings.CutPrefix(line, fmt.Sprintf("certrotation_configuration_problems{namespace=%q} ", namespace)); found {
			return strings.TrimSpace(value)
		}
	}
	return "none"
}

func TestBadConfigurationHarmsOnlyItself(t *testing.T) {
	s := theSystem(t)
	for _, tt := range badConfigurations() {
		s.namespace(t, tt.namespace(), nil)
		s.mustConfigure(t, tt.namespace(), twoDomains)
	}
	for _, tt := range badConfigurations() {
		s.waitHealthy(t, tt.namespace(), objectsOfWeb)
		err := s.configure(t, tt.namespace(), tt.content)
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), tt.text) {
			t.Errorf("%s: want a refusal with %q, got %v", tt.name, tt.text, err)
		}
	}
	s.whileTheGuardIsAway(t, func() {
		for _, tt := range badConfigurations() {
			s.mustConfigure(t, tt.namespace(), tt.content)
		}
	})
	before := s.lifesigns()
	for _, tt := range badConfigurations() {
		t.Run(tt.name, func(t *testing.T) {
			s.event(t, tt.namespace(), "InvalidConfiguration", object{configv1alpha1.Kind, "second"}, tt.reason, tt.text)
			eventually(t, "the metric counts the problem", func(ctx context.Context) (bool, string) {
				got := s.configurationProblems(ctx, t, tt.namespace())
				return got == "1", got
			})
			s.configurationShows(t, tt.namespace(), "second", "False", "False", tt.reason)
			s.configurationShows(t, tt.namespace(), "main", "True", "True")
			s.reissued(t, tt.namespace(), "other-server")
			s.reissued(t, tt.namespace(), "web-server")
			s.waitHealthy(t, tt.namespace(), objectsOfWeb)
			for _, name := range []string{"third-signer", "third-server"} {
				if s.data(t.Context(), t, tt.namespace(), object{"Secret", name}) != nil {
					t.Errorf("a part of the refused configuration took effect: Secret/%s", name)
				}
			}
			// The message says to use other names. Deleting the configuration removes every trace of it.
			if err := s.rot.ConfigV1alpha1().RotationConfigurations(tt.namespace()).Delete(t.Context(), "second", metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
			eventually(t, "the metric forgets the problem", func(ctx context.Context) (bool, string) {
				got := s.configurationProblems(ctx, t, tt.namespace())
				return got == "0", got
			})
		})
	}
	s.assertElsewhereUnharmed(t)
	s.assertAlive(t, before)
}

// TestConfigurationThatBecomesInvalidKeepsWhatItMade makes the only configuration of a namespace invalid, and
// restores it.
func TestConfigurationThatBecomesInvalidKeepsWhatItMade(t *testing.T) {
	s := theSystem(t)
	const namespace = "bad-only-configuration"
	s.namespace(t, namespace, nil)
	s.mustConfigure(t, namespace, twoDomains)
	s.waitHealthy(t, namespace, objectsOfWeb)
	objects := []object{webServer, webSigner, webBundle}
	var before []map[string][]byte
	for _, o := range objects {
		before = append(before, s.data(t.Context(), t, namespace, o))
	}
	spoil := func(spec *configv1alpha1.RotationConfigurationSpec) {
		spec.TrustDomains[0].RelyingParties[1].Presents[0] = "web-sever"
	}
	if err := s.reconfigure(t.Context(), namespace, "main", spoil); !apierrors.IsInvalid(err) {
		t.Errorf("want a refusal, got %v", err)
	}
	s.whileTheGuardIsAway(t, func() {
		if err := s.reconfigure(t.Context(), namespace, "main", spoil); err != nil {
			t.Fatal(err)
		}
	})
	s.event(t, namespace, "InvalidConfiguration", object{configv1alpha1.Kind, "main"}, `presents[0]: Not found: "web-sever"`)
	s.assertElsewhereUnharmed(t)
	for i, o := range objects {
		if got := s.data(t.Context(), t, namespace, o); string(got["tls.crt"])+string(got["ca-bundle.crt"]) != string(before[i]["tls.crt"])+string(before[i]["ca-bundle.crt"]) {
			t.Errorf("%s has changed", o)
		}
	}
	restore := func(spec *configv1alpha1.RotationConfigurationSpec) { *spec = configuration(t, twoDomains).Spec }
	if err := s.reconfigure(t.Context(), namespace, "main", restore); err != nil {
		t.Fatalf("the good configuration is refused: %v", err)
	}
	s.waitHealthy(t, namespace, objectsOfWeb)
}

// whileTheGuardIsAway makes edits that the guard would refuse. Without the guard, kube-apiserver admits
// configurations outside of guarded namespaces, so that a person can repair the cluster.
func (s *system) whileTheGuardIsAway(t *testing.T, do func()) {
	t.Helper()
	if err := s.Serve.Kill(); err != nil {
		t.Fatalf("kill -9 serve: %v", err)
	}
	do()
	if err := s.Serve.Start(); err != nil {
		t.Fatalf("start serve: %v", err)
	}
	eventually(t, "serve is back", func(ctx context.Context) (bool, string) {
		_, err := s.rot.CertrotationV1alpha1().CertificateRotations(demo).List(ctx, metav1.ListOptions{})
		return err == nil, fmt.Sprint(err)
	})
}

// nodesLabel selects the test's own control plane nodes. The last of them has no address.
const nodesLabel = "e2e.certrotation.dev/etcd"

const etcdOfNodes = `apiVersion: config.certrotation.dev/v1alpha1
kind: RotationConfiguration
metadata: {name: main}
spec:
  preset:
    name: openshift-etcd
    openshiftEtcd:
      key: ECDSA-P256
      nodeSelector: {matchLabels: {` + nodesLabel + `: ""}}
`

func TestNodeWithoutAddressHarmsOnlyItsLeaves(t *testing.T) {
	t.Parallel()
	s := theSystem(t)
	before := s.lifesigns()
	const namespace, lost = "bad-node", "e2e-node-3"
	for i := range 4 {
		s.node(t, fmt.Sprintf("e2e-node-%d", i), i < 3)
	}
	s.namespace(t, namespace, nil)
	s.mustConfigure(t, namespace, etcdOfNodes)
	// The sample has 13 certificates and 2 bundles.
	const objects, objectsOfNode = 15, 3
	eventually(t, "everything but the node's leaves is there", func(context.Context) (bool, string) {
		all := s.verdicts(t, namespace)
		for name, v := range all {
			if v.ready.Status != metav1.ConditionTrue {
				return false, name + ": " + v.ready.Message
			}
		}
		return len(all) == objects, fmt.Sprintf("%d objects", len(all))
	})
	for _, signer := range []string{"Secret/etcd-signer", "Secret/etcd-metric-signer"} {
		v := s.verdicts(t, namespace)[signer]
		if v.degraded.Status != metav1.ConditionTrue || !strings.Contains(v.degraded.Message, lost) || !strings.Contains(v.degraded.Message, "InternalIP") {
			t.Errorf("%s does not name the node: %s", signer, v.degraded.Message)
		}
	}
	s.event(t, namespace, "ObjectProblem", object{"Node", lost}, "NodeWithoutAddress", "status.addresses")
	s.reissued(t, namespace, "etcd-peer-e2e-node-0")
	s.assertElsewhereUnharmed(t)
	s.assertAlive(t, before)

	s.address(t, lost, "10.9.0.3")
	s.waitHealthy(t, namespace, objects+objectsOfNode)
	if got := s.rotation(t.Context(), t, namespace, "etcd-signer").Status.Stage; got != v1alpha1.StageStable {
		t.Errorf("etcd-signer is in the stage %s", got)
	}
}

func (s *system) node(t *testing.T, name string, addressed bool) {
	t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{nodesLabel: ""}}}
	if _, err := s.kube.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
		t.Fatalf("create node %s: %v", name, err)
	}
	t.Cleanup(func() {
		if err := s.kube.CoreV1().Nodes().Delete(context.WithoutCancel(t.Context()), name, metav1.DeleteOptions{}); err != nil {
			t.Errorf("delete node %s: %v", name, err)
		}
	})
	if addressed {
		s.address(t, name, "10.9.0."+name[len(name)-1:])
	}
}

func (s *system) address(t *testing.T, node, ip string) {
	t.Helper()
	s.must(t, "patch", "node", node, "--subresource=status", "--type=merge", "-p",
		fmt.Sprintf(`{"status":{"addresses":[{"type":"InternalIP","address":%q}]}}`, ip))
}
