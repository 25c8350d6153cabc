// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/apis/certrotation/v1alpha1"
	"certrotation.dev/generated/clientset/versioned"
	"certrotation.dev/test/canary"
	"certrotation.dev/test/cluster"
	"certrotation.dev/test/cluster/nodes"
	"certrotation.dev/test/cluster/workernodes"
)

const (
	namespace = workernodes.SampleNamespace
	signer    = "service-signer"
	// patience bounds a rotation, which takes less than a minute on an idle machine.
	patience = 6 * time.Minute
)

type system struct {
	*workernodes.Cluster
	rot  versioned.Interface
	keys *canary.Run
	dir  string
	// namespace and signer are those of the trust domain that is rotated.
	namespace, signer string
}

var shared struct {
	once sync.Once
	s    *system
	err  error
}

// atATime is how many tests run in parallel. They mostly wait for kubelets, so it may exceed the number of cores. More
// of them at once would start so many pods that the guard answers too late.
const atATime = 5

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", strconv.Itoa(atATime)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	code := m.Run()
	if shared.s != nil {
		if err := shared.s.stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// theSystem starts the system once for all tests of the package.
func theSystem(t *testing.T) *system {
	t.Helper()
	nodes.Require(t)
	shared.once.Do(func() { shared.s, shared.err = startSystem() })
	if shared.err != nil {
		t.Fatalf("start the system: %v", shared.err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			shared.s.KeepLogs(t)
		}
	})
	return shared.s
}

func startSystem() (*system, error) {
	dir, err := cluster.MkdirTemp("certrotation-pods-")
	if err != nil {
		return nil, fmt.Errorf("make a directory: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	kubernetes := os.Getenv(cluster.KubernetesVariable)
	c, err := workernodes.Start(ctx, workernodes.Config{Dir: dir, Kubernetes: kubernetes, Progress: os.Stderr})
	if err != nil {
		return nil, err
	}
	s := &system{Cluster: c, dir: dir, namespace: namespace, signer: signer}
	if err := s.isOf(ctx, kubernetes); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	if s.rot, err = versioned.NewForConfig(c.Installation.Cluster.AdminConfig()); err != nil {
		return nil, errors.Join(fmt.Errorf("make client: %w", err), s.stop())
	}
	if s.keys, err = canary.Watch(ctx, c.Client); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	if err := c.InstallSample(ctx); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

// stop stops the system. It returns an error, and keeps the files, if a log or an event has a private key of a
// Secret.
func (s *system) stop() error {
	if s.keys != nil {
		s.keys.Stop()
	}
	logs := []string{s.Installation.Cluster.LogDir()}
	for _, node := range s.Network.Nodes() {
		if _, err := os.Stat(node.Path("/var/log/pods")); err == nil {
			logs = append(logs, node.Path("/var/log/pods"))
		}
	}
	if err := s.Stop(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "stop the system:", err)
	}
	if s.keys != nil {
		fmt.Println("canary:", s.keys.Summary())
		if err := s.keys.Search(logs...); err != nil {
			return err
		}
	}
	return os.RemoveAll(s.dir)
}

func (s *system) row(ctx context.Context) (*v1alpha1.CertificateRotation, error) {
	return s.rot.CertrotationV1alpha1().CertificateRotations(s.namespace).Get(ctx, s.signer, metav1.GetOptions{})
}

// rotate requests a rotation of the signer, and returns the fingerprint of the active certificate.
func (s *system) rotate(t *testing.T) (before string) {
	t.Helper()
	row, err := s.row(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if row.Status.Certificate == nil || row.Status.Stage != v1alpha1.StageStable {
		t.Fatalf("the stage is %s, blockers: %s", row.Status.Stage, blockers(row))
	}
	request := &v1alpha1.RotationRequest{Reason: t.Name()}
	if _, err := s.rot.CertrotationV1alpha1().CertificateRotations(s.namespace).Rotate(t.Context(), s.signer, request, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return row.Status.Certificate.Fingerprint
}

// rotated waits until the signer is Stable with a CA other than before.
func (s *system) rotated(t *testing.T, before string) {
	t.Helper()
	until(t, "the signer is rotated", func(ctx context.Context) error { return s.isRotated(ctx, before) })
}

func (s *system) isRotated(ctx context.Context, before string) error {
	row, err := s.row(ctx)
	if err != nil {
		return err
	}
	if c := row.Status.Certificate; c == nil || c.Fingerprint == before || row.Status.Stage != v1alpha1.StageStable {
		return fmt.Errorf("the stage is %s, blockers: %s", row.Status.Stage, blockers(row))
	}
	return nil
}

func blockers(row *v1alpha1.CertificateRotation) string {
	var out []string
	for _, b := range row.Status.Blockers {
		out = append(out, fmt.Sprintf("%s/%s %s: %s", b.Party, b.Member, b.Reason, b.Message))
	}
	return strings.Join(out, "; ")
}

// until waits for a condition, and fails the test with the last error.
func until(t *testing.T, what string, check func(context.Context) error) {
	t.Helper()
	within(t, patience, what, check)
}

func within(t *testing.T, patience time.Duration, what string, check func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := cluster.Until(ctx, 250*time.Millisecond, 10*time.Second, check); err != nil {
		t.Fatalf("wait until %s: %v", what, err)
	}
}
