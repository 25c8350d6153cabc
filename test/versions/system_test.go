// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package versions

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"

	"certrotation.dev/generated/clientset/versioned"
	"certrotation.dev/test/cluster"
	"certrotation.dev/test/cluster/installation"
)

const (
	signer = "service-signer"
	bundle = "service-ca-bundle"
	// patience bounds every wait. A rotation of the sample takes a few seconds.
	patience = 2 * time.Minute
)

// system is certrotation with the sample mtls-service on an older Kubernetes.
type system struct {
	*installation.Installation
	// version is the API server's version.
	version string
	sample  *installation.Sample
	kube    kubernetes.Interface
	rot     versioned.Interface
}

// wanted returns the requested version, or the oldest if none is requested.
func wanted(t *testing.T) string {
	t.Helper()
	if version := os.Getenv(cluster.KubernetesVariable); version != "" {
		return version
	}
	oldest, err := cluster.OldestKubernetes()
	if err != nil {
		t.Fatal(err)
	}
	return oldest
}

func start(t *testing.T) *system {
	t.Helper()
	s := &system{version: wanted(t)}
	c := cluster.ForTest(t, func(cfg *cluster.Config) { cfg.Kubernetes = s.version })
	var err error
	if s.Installation, err = installation.Prepare(c, installation.Config{ControllerFlags: []string{"--inject-ca-bundles"}}); err != nil {
		t.Fatal(err)
	}
	// kubectl finds its plugin in PATH.
	t.Setenv("PATH", filepath.Dir(s.Binary("kubectl-certrotation"))+":"+os.Getenv("PATH"))
	if s.kube, err = kubernetes.NewForConfig(c.AdminConfig()); err != nil {
		t.Fatal(err)
	}
	if s.rot, err = versioned.NewForConfig(c.AdminConfig()); err != nil {
		t.Fatal(err)
	}
	root, err := cluster.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	s.kubectl(t, "apply", "-f", filepath.Join(root, "manifests", "components", "ca-bundles", "rbac.yaml"))
	ctx := within(t)
	if err := s.Install(ctx); err != nil {
		t.Fatal(err)
	}
	if s.sample, err = s.InstallMTLSService(ctx); err != nil {
		t.Fatal(err)
	}
	if err := s.WaitReady(ctx, installation.Expected{installation.Namespace: 1, installation.MTLSNamespace: 4}); err != nil {
		t.Fatal(err)
	}
	return s
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// kubectl runs kubectl as administrator and returns its output.
func (s *system) kubectl(t *testing.T, args ...string) string {
	t.Helper()
	out, err := s.Kubectl(within(t), args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

type counters struct {
	Handshakes int64            `json:"handshakes"`
	Failures   int64            `json:"failures"`
	Reasons    map[string]int64 `json:"reasons"`
}

func (s *system) counters(ctx context.Context) (counters, error) {
	var c counters
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.sample.StatsURL, http.NoBody)
	if err != nil {
		return c, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return c, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return c, fmt.Errorf("GET %s: %s", s.sample.StatsURL, response.Status)
	}
	return c, json.NewDecoder(response.Body).Decode(&c)
}

// until waits for a condition. After the wait it fails the test with the last error.
func until(t *testing.T, what string, check func(context.Context) error) {
	t.Helper()
	if err := cluster.Until(within(t), 100*time.Millisecond, 10*time.Second, check); err != nil {
		t.Fatalf("wait until %s: %v", what, err)
	}
}
