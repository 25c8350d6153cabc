// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"certrotation.dev/apis/certrotation/v1alpha1"
	"certrotation.dev/generated/clientset/versioned"
	"certrotation.dev/registry/trust"
	"certrotation.dev/test/canary"
	"certrotation.dev/test/cluster"
	"certrotation.dev/test/cluster/installation"
)

// patience bounds every wait of a test. A rotation of the sample takes a few seconds.
const patience = 4 * time.Minute

type system struct {
	*installation.Installation
	sample *installation.Sample
	kube   kubernetes.Interface
	rot    versioned.Interface
	keys   *canary.Run
}

var shared struct {
	once sync.Once
	s    *system
	err  error
	stop func() error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if shared.stop != nil {
		if err := shared.stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// theSystem starts the system once for all tests of the package.
func theSystem(t *testing.T) *system {
	t.Helper()
	shared.once.Do(func() { shared.s, shared.stop, shared.err = startSystem() })
	if shared.err != nil {
		t.Fatalf("start the system: %v", shared.err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			cluster.KeepLogs(t, "", map[string]string{shared.s.Cluster.LogDir(): ""})
		}
	})
	return shared.s
}

func startSystem() (*system, func() error, error) {
	dir, err := cluster.MkdirTemp("certrotation-e2e-")
	if err != nil {
		return nil, nil, fmt.Errorf("make a directory: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	c, err := cluster.Start(ctx, cluster.Config{Dir: dir, ControllerManager: true})
	if err != nil {
		return nil, nil, fmt.Errorf("start the control plane: %w", err)
	}
	var s *system
	stop := func() error { return s.stop(c) }
	if s, err = install(ctx, c); err != nil {
		return nil, stop, err
	}
	return s, stop, nil
}

func install(ctx context.Context, c *cluster.Cluster) (*system, error) {
	// Even a slow machine renews a lease of this duration in time. killController clears the lease of the leader
	// that it kills.
	in, err := installation.Prepare(c, installation.Config{ControllerFlags: []string{
		"--leader-elect-lease-duration=3m", "--leader-elect-renew-deadline=2m", "--leader-elect-retry-period=500ms",
	}})
	if err != nil {
		return nil, fmt.Errorf("prepare: %w", err)
	}
	s := &system{Installation: in}
	if s.kube, err = kubernetes.NewForConfig(c.AdminConfig()); err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	if s.rot, err = versioned.NewForConfig(c.AdminConfig()); err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	if s.keys, err = watchKeys(ctx, s); err != nil {
		return nil, err
	}
	if err := in.Install(ctx); err != nil {
		return nil, fmt.Errorf("install: %w", err)
	}
	if err := in.InstallOpenShiftEtcd(ctx); err != nil {
		return nil, fmt.Errorf("install the sample openshift-etcd: %w", err)
	}
	if s.sample, err = in.InstallMTLSService(ctx); err != nil {
		return nil, fmt.Errorf("install the sample mtls-service: %w", err)
	}
	if err := in.WaitReady(ctx, installation.BothSamples()); err != nil {
		return nil, fmt.Errorf("wait: %w", err)
	}
	return s, nil
}

// kubectl runs kubectl as administrator and returns both of its outputs.
func (s *system) kubectl(t *testing.T, args ...string) (string, error) {
	t.Helper()
	return s.run(t, "", s.Cluster.Kubeconfig(), s.Cluster.Tool("kubectl"), args...)
}

// must runs kubectl and fails the test if it fails.
func (s *system) must(t *testing.T, args ...string) string {
	t.Helper()
	out, err := s.kubectl(t, args...)
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func (s *system) run(t *testing.T, stdin, kubeconfig, program string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "KUBECACHEDIR="+t.TempDir(),
		"PATH="+filepath.Dir(s.Binary("certrotation"))+":"+filepath.Dir(s.Cluster.Tool("kubectl"))+":"+os.Getenv("PATH"))
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

type counters struct {
	Handshakes  int64            `json:"handshakes"`
	Failures    int64            `json:"failures"`
	Reasons     map[string]int64 `json:"reasons"`
	Unreachable []string         `json:"unreachable"`
}

func (s *system) counters(t *testing.T) counters {
	t.Helper()
	var c counters
	if err := json.Unmarshal([]byte(s.http(t, http.MethodGet, s.sample.StatsURL)), &c); err != nil {
		t.Fatalf("decode the sample's counters: %v", err)
	}
	if len(c.Unreachable) > 0 {
		t.Fatalf("programs of the sample do not answer: %v", c.Unreachable)
	}
	return c
}

func (s *system) http(t *testing.T, method, url string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %s %v", method, url, response.Status, err)
	}
	return string(body)
}

// eventually waits for a condition. why says what is still missing.
func eventually(t *testing.T, what string, condition func(ctx context.Context) (done bool, why string)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var last string
	err := wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		done, why := condition(ctx)
		last = why
		return done, nil
	})
	if err != nil {
		t.Fatalf("%s: %v; last: %s", what, err, last)
	}
}

func (s *system) rotation(ctx context.Context, t *testing.T, namespace, name string) *v1alpha1.CertificateRotation {
	t.Helper()
	var got *v1alpha1.CertificateRotation
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		var err error
		got, err = s.rot.CertrotationV1alpha1().CertificateRotations(namespace).Get(ctx, name, metav1.GetOptions{})
		return err == nil, nil
	})
	if err != nil {
		t.Fatalf("get certificaterotation %s/%s: %v", namespace, name, err)
	}
	return got
}

// killController kills the leader and clears the holder of its Lease, as if the Lease had expired.
func (s *system) killController(t *testing.T) {
	t.Helper()
	if err := s.Controller.Kill(); err != nil {
		t.Fatalf("kill -9 the controller: %v", err)
	}
	_, err := s.kube.CoordinationV1().Leases(own).Patch(t.Context(), "certrotation-controller", types.MergePatchType,
		[]byte(`{"spec":{"holderIdentity":""}}`), metav1.PatchOptions{})
	if err != nil {
		t.Fatalf("give up the Lease of the controller: %v", err)
	}
}

func (s *system) startController(t *testing.T) {
	t.Helper()
	if err := s.Controller.Start(); err != nil {
		t.Fatalf("start the controller: %v", err)
	}
}

// decidesAgain waits until the controller has reconciled a trust domain n more times. Each time the test deletes
// an annotation of the Secret, which the controller restores if nothing else is due.
func (s *system) decidesAgain(t *testing.T, n int, namespace, secret string) {
	t.Helper()
	for range n {
		_, err := s.kube.CoreV1().Secrets(namespace).Patch(t.Context(), secret, types.MergePatchType,
			fmt.Appendf(nil, `{"metadata":{"annotations":{%q:null}}}`, trust.AnnotationRefreshPeriod), metav1.PatchOptions{})
		if err != nil {
			t.Fatalf("delete an annotation of Secret %s/%s: %v", namespace, secret, err)
		}
		eventually(t, "the controller looks at "+namespace, func(ctx context.Context) (bool, string) {
			got, err := s.kube.CoreV1().Secrets(namespace).Get(ctx, secret, metav1.GetOptions{})
			return err == nil && got.Annotations[trust.AnnotationRefreshPeriod] != "", fmt.Sprint(err)
		})
	}
}

func (s *system) waitForStage(t *testing.T, namespace, signer string, stage v1alpha1.Stage) *v1alpha1.CertificateRotation {
	t.Helper()
	var got *v1alpha1.CertificateRotation
	eventually(t, fmt.Sprintf("%s/%s reaches %s", namespace, signer, stage), func(ctx context.Context) (bool, string) {
		got = s.rotation(ctx, t, namespace, signer)
		return got.Status.Stage == stage, fmt.Sprintf("stage %s, blockers %v", got.Status.Stage, got.Status.Blockers)
	})
	return got
}
