// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/apis/certrotation/v1alpha1"
	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/generated/clientset/versioned"
	"certrotation.dev/test/cluster"
	"certrotation.dev/test/cluster/nodes"
	"certrotation.dev/test/cluster/stacked"
)

const (
	namespace = stacked.Namespace
	// validity of every CA and every leaf of etcd. They are due at 99 % of it, counted from 5 minutes before their
	// creation. That leaves the cluster about a minute and a half to start and to lose its power.
	validity = 110 * time.Second
	// starting bounds the start of the cluster.
	starting = 3 * time.Minute
	// patience bounds each wait.
	patience = 4 * time.Minute
	// Signers of the preset.
	etcdSigner, metricSigner = "etcd-signer", "etcd-metric-signer"
)

type system struct {
	*stacked.Cluster
	rot versioned.Interface
	dir string
}

func startSystem(t *testing.T) *system {
	t.Helper()
	nodes.Require(t)
	// t.TempDir() includes the name of the test. Paths of sockets must not exceed 108 bytes.
	dir, err := cluster.MkdirTemp("certrotation-recovery-")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), starting)
	defer cancel()
	c, err := stacked.Start(ctx, stacked.Config{
		Dir: dir, Progress: t.Output(),
		Configure: func(spec *configv1alpha1.RotationConfigurationSpec) {
			for _, policy := range policies(spec) {
				policy.Validity, policy.RenewAtPercent, policy.JitterPercent = &metav1.Duration{Duration: validity}, 99, new(int32)
			}
		},
		ControllerFlags: []string{
			"--leader-elect-lease-duration=12s", "--leader-elect-renew-deadline=9s", "--leader-elect-retry-period=1s",
		},
		// A kube-apiserver never ends the watches of aggregated APIs by itself, such as that of `rotate --wait`. The
		// watch resumes at the other kube-apiserver.
		SupervisorFlags: []string{"--stop-timeout=10s"},
	})
	if err != nil {
		t.Fatalf("start the system: %v", err)
	}
	s := &system{Cluster: c, dir: dir}
	t.Cleanup(func() {
		if t.Failed() {
			s.KeepLogs(t)
		}
		if err := c.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("stop the system: %v", err)
		}
		_ = os.RemoveAll(dir)
	})
	if s.rot, err = versioned.NewForConfig(c.Installation.Cluster.AdminConfig()); err != nil {
		t.Fatal(err)
	}
	return s
}

// policies returns those of every signer and every leaf.
func policies(spec *configv1alpha1.RotationConfigurationSpec) []*configv1alpha1.IssuancePolicy {
	var out []*configv1alpha1.IssuancePolicy
	for i := range spec.TrustDomains {
		domain := &spec.TrustDomains[i]
		out = append(out, &domain.Signer.Policy)
		for k := range domain.Leaves {
			out = append(out, &domain.Leaves[k].Policy)
		}
	}
	return out
}

// powerOff stops everything at once, like a loss of power.
func (s *system) powerOff() error {
	var errs []error
	for _, process := range []*cluster.Process{s.Controller, s.Serve, s.Scraper, s.Supervisor, s.controllers()} {
		errs = append(errs, process.Kill())
	}
	for _, node := range s.Nodes() {
		errs = append(errs, node.PowerOff())
	}
	return errors.Join(errs...)
}

func (s *system) controllers() *cluster.Process {
	return s.Installation.Cluster.Process(cluster.ControllerManager)
}

func (s *system) powerOn(ctx context.Context) error {
	for _, node := range s.Nodes() {
		if err := node.PowerOn(ctx); err != nil {
			return err
		}
	}
	return nil
}

// keepController starts the controller, and restarts it when it exits, as kubelet does. The controller exits when
// it loses its lease.
func (s *system) keepController(t *testing.T) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			if !s.Controller.Running() {
				if err := s.Controller.Start(); err != nil {
					t.Errorf("start the controller: %v", err)
				}
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	})
	t.Cleanup(func() { stop(); running.Wait() })
}

func (s *system) row(ctx context.Context, name string) (*v1alpha1.CertificateRotation, error) {
	return s.rot.CertrotationV1alpha1().CertificateRotations(namespace).Get(ctx, name, metav1.GetOptions{})
}

// settled returns nil if no rotation of etcd is in flight and nothing blocks. All members must trust the signers
// and present the leaves of their Secrets.
func (s *system) settled(ctx context.Context) error {
	for _, name := range []string{etcdSigner, metricSigner} {
		row, err := s.row(ctx, name)
		if err != nil {
			return err
		}
		if row.Status.Stage != v1alpha1.StageStable || len(row.Status.Blockers) > 0 {
			return fmt.Errorf("%s is in the stage %s with the blockers %+v", name, row.Status.Stage, row.Status.Blockers)
		}
		if trust := row.Status.Trust; trust.Trusted < trust.Total {
			return fmt.Errorf("%d of %d members trust %s", trust.Trusted, trust.Total, name)
		}
		for _, member := range row.Status.Members {
			if !member.Delivered {
				return fmt.Errorf("%s/%s does not present the leaves of its Secrets", member.Party, member.Member)
			}
		}
	}
	return nil
}

// until waits for a condition, and fails the test with the last error.
func until(t *testing.T, what string, check func(context.Context) error) {
	t.Helper()
	begun := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := cluster.Until(ctx, 250*time.Millisecond, 10*time.Second, check); err != nil {
		t.Fatalf("wait until %s: %v", what, err)
	}
	t.Logf("%5.1f s until %s", time.Since(begun).Seconds(), what)
}
