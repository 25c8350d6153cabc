// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/registry/contenthash"
	"certrotation.dev/registry/trust"
)

const labelGuard = "certrotation.dev/guard"

// scenarios counts the running scenarios, and has the namespaces of the ended ones.
var scenarios struct {
	sync.Mutex
	running    int
	namespaces []string
}

// scenario returns the system with a trust domain in a namespace of its own, which lasts as long as the cluster.
func scenario(t *testing.T, namespace, signer string) *system {
	t.Helper()
	s := *besideScenarios(t, namespace)
	s.namespace, s.signer = namespace, signer
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: namespace, Labels: map[string]string{trust.LabelManaged: trust.ManagedValue, labelGuard: "enabled"},
	}}
	if _, err := s.Client.CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := s.ApplyEnvironment(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.tellIfFailed(t) })
	return &s
}

// besideScenarios returns the system for a test that uses the namespaces and measures traffic. Such tests run in
// parallel after the others.
func besideScenarios(t *testing.T, namespaces ...string) *system {
	t.Helper()
	scenarios.Lock()
	scenarios.running++
	scenarios.Unlock()
	t.Parallel()
	s := theSystem(t)
	t.Cleanup(func() { s.endScenario(t, namespaces) })
	return s
}

// endScenario deletes the pods of all scenarios when the last one has ended. Earlier, clients without servers
// would count as failures of the other scenarios.
func (s *system) endScenario(t *testing.T, namespaces []string) {
	scenarios.Lock()
	defer scenarios.Unlock()
	scenarios.namespaces = append(scenarios.namespaces, namespaces...)
	if scenarios.running--; scenarios.running > 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
	defer cancel()
	for _, namespace := range scenarios.namespaces {
		if _, err := s.Kubectl(ctx, "delete", "deployments,statefulsets,pods", "--all", "--wait=false", "-n", namespace); err != nil {
			t.Errorf("take the pods of %s away: %v", namespace, err)
		}
	}
}

// tellIfFailed logs the objects in the namespace of a failed scenario.
func (s *system) tellIfFailed(t *testing.T) {
	if !t.Failed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 30*time.Second)
	defer cancel()
	for _, what := range []string{"certificaterotations,bundlestatuses,pods", "events"} {
		out, err := s.Kubectl(ctx, "get", what, "-n", s.namespace, "-o", "wide")
		t.Logf("%s\n%s (%v)", what, out, err)
	}
}

// apply applies a file of testdata, and replaces each old string by the new one that follows it.
func (s *system) apply(t *testing.T, name string, oldnew ...string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(strings.NewReplacer(oldnew...).Replace(string(text))), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Kubectl(t.Context(), "apply", "-f", file); err != nil {
		t.Fatal(err)
	}
}

// hashes waits until a bundle and a leaf exist, and returns the content hashes that a template names.
func (s *system) hashes(t *testing.T, bundle, leaf string) (ofBundle, ofLeaf string) {
	t.Helper()
	until(t, "there are "+bundle+" and "+leaf, func(ctx context.Context) error {
		configMap, err := s.Client.CoreV1().ConfigMaps(s.namespace).Get(ctx, bundle, metav1.GetOptions{})
		if err != nil {
			return err
		}
		secret, err := s.Client.CoreV1().Secrets(s.namespace).Get(ctx, leaf, metav1.GetOptions{})
		if err != nil {
			return err
		}
		ofBundle, ofLeaf = contenthash.OfConfigMap(configMap), contenthash.OfSecret(secret)
		return nil
	})
	return ofBundle, ofLeaf
}
