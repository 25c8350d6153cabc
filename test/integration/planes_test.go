// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"

	"certrotation.dev/generated/clientset/versioned"
	"certrotation.dev/test/cluster"
	"certrotation.dev/test/cluster/installation"
)

const (
	systemNamespace = installation.Namespace
	// patience bounds every wait. Most waits take seconds. It is long so that no test fails on a slow machine.
	patience = 4 * time.Minute
	// testsAtOnce is how many tests run in parallel. Each mostly waits for its own processes.
	testsAtOnce = 16
)

// plane is a control plane. Installation is nil if certrotation is not installed.
type plane struct {
	*cluster.Cluster
	*installation.Installation

	client kubernetes.Interface
	own    versioned.Interface
	// program is the path of certrotation.
	program string
}

// sharedPlane is started by the first test that needs it, and stopped by TestMain.
type sharedPlane struct {
	// controllerManager means that kube-controller-manager runs.
	controllerManager bool
	// install configures certrotation. nil installs only the CustomResourceDefinitions.
	install *installation.Config
	// manifests are applied before the installation.
	manifests []string

	once  sync.Once
	dir   string
	plane *plane
	err   error
}

var (
	// barePlane serves our own kinds. Its tests run the parts of certrotation that they need, each for its own
	// namespace.
	barePlane = &sharedPlane{controllerManager: true}
	// restingPlane has certrotation with a controller that acts in its own namespace only, so objects of tests
	// stay unchanged. Its tests run one after the other.
	restingPlane = &sharedPlane{install: &installation.Config{
		ServeFlags:      []string{"--shutdown-watch-termination-grace-period=1s"},
		ControllerFlags: []string{"--namespaces=" + systemNamespace, "--leader-elect=false"},
	}}
	// workingPlane has certrotation with all optional features, in all managed namespaces.
	workingPlane = &sharedPlane{
		controllerManager: true,
		install: &installation.Config{ControllerFlags: []string{
			"--inject-ca-bundles", "--restart-workloads", "--handshakes-per-second=1000", "--leader-elect=false",
		}},
		manifests: []string{"components/ca-bundles/rbac.yaml", "components/workloads/rbac.yaml", "components/cert-manager/rbac.yaml"},
	}
)

func TestMain(m *testing.M) {
	// The flag -parallel overrides it.
	if err := flag.Set("test.parallel", fmt.Sprint(testsAtOnce)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	for _, shared := range []*sharedPlane{barePlane, restingPlane, workingPlane} {
		if err := shared.stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// use returns the plane for a test, and keeps its logs if the test fails.
func (s *sharedPlane) use(t *testing.T) *plane {
	t.Helper()
	s.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
		defer cancel()
		s.plane, s.err = s.start(ctx)
	})
	t.Cleanup(func() {
		if t.Failed() {
			cluster.KeepLogs(t, "", map[string]string{filepath.Join(s.dir, "logs"): ""})
		}
	})
	if s.err != nil {
		t.Fatalf("start the control plane: %v", s.err)
	}
	t.Cleanup(func() {
		if err := s.plane.Err(); err != nil {
			t.Errorf("a process of the control plane has ended by itself: %v", err)
		}
	})
	return s.plane
}

func (s *sharedPlane) start(ctx context.Context) (*plane, error) {
	var err error
	if s.dir, err = cluster.MkdirTemp("certrotation-integration-"); err != nil {
		return nil, err
	}
	c, err := cluster.Start(ctx, cluster.Config{
		Dir: s.dir, ControllerManager: s.controllerManager,
		// In addition to those of package cluster.
		ControllerManagerFlags: []string{"--controllers=deployment-controller,replicaset-controller"},
	})
	if err != nil {
		return nil, err
	}
	p := &plane{Cluster: c}
	if err := s.prepare(ctx, p); err != nil {
		return nil, errors.Join(err, c.Stop(context.WithoutCancel(ctx)))
	}
	return p, nil
}

// prepare installs what the tests of the plane share.
func (s *sharedPlane) prepare(ctx context.Context, p *plane) (err error) {
	root, err := cluster.RepositoryRoot()
	if err != nil {
		return err
	}
	p.program = filepath.Join(root, "bin", "certrotation")
	// Stat the programs: go's test cache tracks files that a test opens or stats, not programs that it runs.
	for program, target := range map[string]string{p.program: "build", p.Tool("kubectl"): "tools"} {
		if _, err := os.Stat(program); err != nil {
			return fmt.Errorf("%s is not built, run `make %s`: %w", program, target, err)
		}
	}
	if p.client, err = kubernetes.NewForConfig(p.AdminConfig()); err != nil {
		return err
	}
	if p.own, err = versioned.NewForConfig(p.AdminConfig()); err != nil {
		return err
	}
	if s.install == nil {
		return p.ApplyDefinitions(ctx)
	}
	if p.Installation, err = installation.Prepare(p.Cluster, *s.install); err != nil {
		return err
	}
	for _, manifest := range s.manifests {
		if err := p.apply(ctx, manifest); err != nil {
			return err
		}
	}
	return p.Install(ctx)
}

// stop stops the plane and removes its directory. It does nothing if no test has used the plane.
func (s *sharedPlane) stop() error {
	var err error
	if s.plane != nil {
		err = errors.Join(s.plane.Err(), s.plane.Cluster.Stop(context.Background()))
	}
	return errors.Join(err, os.RemoveAll(s.dir))
}

func (p *plane) apply(ctx context.Context, manifest string) error {
	root, err := cluster.RepositoryRoot()
	if err != nil {
		return err
	}
	_, err = p.Kubectl(ctx, "apply", "-f", filepath.Join(root, "manifests", manifest))
	return err
}

// kubectl runs kubectl with a kubeconfig and returns its output.
func (p *plane) kubectl(t *testing.T, kubeconfig string, args ...string) (string, error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), p.Tool("kubectl"), append([]string{"--kubeconfig", kubeconfig}, args...)...)
	out, err := command.CombinedOutput()
	return string(out), err
}

func (p *plane) mustKubectl(t *testing.T, args ...string) string {
	t.Helper()
	out, err := p.kubectl(t, p.Kubeconfig(), args...)
	if err != nil {
		t.Fatalf("kubectl %v: %v\n%s", args, err, out)
	}
	return out
}

var healthLine = regexp.MustCompile(`"Serving health and metrics" address="([^"]+)"`)

// healthAddress returns the address for health and metrics of the latest start of a process. The kernel chooses
// its port.
func healthAddress(p *cluster.Process) (string, error) {
	line := healthLine.FindStringSubmatch(p.Printed())
	if line == nil {
		return "", fmt.Errorf("%s does not say yet where it serves health and metrics:\n%s", p.Name(), p.LogTail())
	}
	return line[1], nil
}

// eventually waits until a condition holds, and fails with its last error.
func eventually(t *testing.T, what string, condition func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := cluster.Until(ctx, 100*time.Millisecond, patience, condition); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}
