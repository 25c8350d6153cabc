// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/apis/certrotation/v1alpha1"
	"certrotation.dev/generated/clientset/versioned"
	"certrotation.dev/test/canary"
	"certrotation.dev/test/cluster"
	"certrotation.dev/test/cluster/nodes"
	"certrotation.dev/test/cluster/stacked"
)

const (
	namespace = stacked.Namespace
	// patience bounds a rotation, which takes a minute or two on a small machine.
	patience = 6 * time.Minute
	// Signers of the preset.
	etcdSigner, metricSigner = "etcd-signer", "etcd-metric-signer"
)

// bundleOf maps each signer to its bundle.
var bundleOf = map[string]string{etcdSigner: "etcd-ca-bundle", metricSigner: "etcd-metrics-ca-bundle"}

type system struct {
	*stacked.Cluster
	rot     versioned.Interface
	objects *objects
	keys    *canary.Run
	dir     string
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
	nodes.Require(t)
	shared.once.Do(func() { shared.s, shared.stop, shared.err = startSystem() })
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

func startSystem() (*system, func() error, error) {
	dir, err := cluster.MkdirTemp("certrotation-etcd-")
	if err != nil {
		return nil, nil, fmt.Errorf("make a directory: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	// The lease is short, because tests kill the leader repeatedly.
	c, err := stacked.Start(ctx, stacked.Config{Dir: dir, Progress: os.Stderr, ControllerFlags: []string{
		"--leader-elect-lease-duration=12s", "--leader-elect-renew-deadline=9s", "--leader-elect-retry-period=1s",
	}})
	if err != nil {
		return nil, nil, err
	}
	watching, end := context.WithCancel(context.Background())
	s := &system{Cluster: c, dir: dir}
	stop := func() error {
		end()
		return s.stop()
	}
	if s.rot, err = versioned.NewForConfig(c.Installation.Cluster.AdminConfig()); err != nil {
		return nil, stop, fmt.Errorf("make client: %w", err)
	}
	if s.keys, err = canary.Watch(ctx, c.Client); err != nil {
		return nil, stop, err
	}
	if s.objects, err = watchObjects(watching, c.Client); err != nil {
		return nil, stop, err
	}
	go s.keepController(watching)
	return s, stop, s.settled(ctx)
}

// stop stops the system. It returns an error, and keeps the files, if a log or an event has a private key of a
// Secret. The logs are those of certrotation, the kube-apiservers and the pods.
func (s *system) stop() error {
	if s.keys != nil {
		s.keys.Stop()
	}
	logs := []string{s.Installation.Cluster.LogDir()}
	for _, node := range s.Nodes() {
		if pods := node.Path("/var/log/pods"); exists(pods) {
			logs = append(logs, pods)
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
	_ = os.RemoveAll(s.dir)
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// keepController restarts the controller when it exits, as kubelet does. The controller exits when it loses its
// lease.
func (s *system) keepController(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if s.Controller.Running() {
			continue
		}
		if err := s.Controller.Start(); err != nil {
			fmt.Fprintln(os.Stderr, "start the controller again:", err)
		}
	}
}

// rotate requests a rotation and returns at once. It retries, because etcd may have no leader for a moment.
func (s *system) rotate(ctx context.Context, t *testing.T, name string) {
	t.Helper()
	until(ctx, t, "a rotation of "+name+" is asked for", func(ctx context.Context) error {
		_, err := s.rot.CertrotationV1alpha1().CertificateRotations(namespace).Rotate(ctx, name,
			&v1alpha1.RotationRequest{Reason: t.Name()}, metav1.CreateOptions{})
		if apierrors.IsConflict(err) {
			return nil // An earlier request succeeded, and its answer was lost.
		}
		return err
	})
}

func (s *system) row(ctx context.Context, name string) (*v1alpha1.CertificateRotation, error) {
	return s.rot.CertrotationV1alpha1().CertificateRotations(namespace).Get(ctx, name, metav1.GetOptions{})
}

// until waits for a condition, and fails the test with the last error.
func until(ctx context.Context, t *testing.T, what string, check func(context.Context) error) {
	t.Helper()
	if err := eventually(ctx, check); err != nil {
		t.Fatalf("wait until %s: %v", what, err)
	}
}

func eventually(ctx context.Context, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return cluster.Until(ctx, 250*time.Millisecond, 10*time.Second, check)
}
