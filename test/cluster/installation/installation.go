// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"certrotation.dev/test/cluster"
)

// Names of the processes, pid files and logs.
const (
	Controller = "controller"
	Serve      = "serve"
)

// Namespace is the namespace of certrotation itself.
const Namespace = "certrotation-system"

// loopback is where the processes listen.
const loopback = "127.0.0.1"

// Config is the configuration of an installation.
type Config struct {
	// Program is the path of certrotation. Defaults to the one that `make build` builds.
	Program string
	// AllowedCIDRs are the ranges that the controller may dial. Defaults to the whole loopback.
	AllowedCIDRs string
	// ServeFlags and ControllerFlags follow the default flags.
	ServeFlags, ControllerFlags []string
	// Progress receives one line for each step. Defaults to nothing.
	Progress io.Writer
}

// Installation is certrotation in a cluster.
type Installation struct {
	Cluster           *cluster.Cluster
	Controller, Serve *cluster.Process
	cfg               Config
	root              string
	ports             map[string]int
	started           map[string]*cluster.Process
	// applied is the API port for which the base was applied, 0 if it was not.
	applied int
}

// Prepare finds the binaries and chooses the ports. It starts nothing.
func Prepare(c *cluster.Cluster, cfg Config) (*Installation, error) {
	root, err := cluster.RepositoryRoot()
	if err != nil {
		return nil, fmt.Errorf("find the repository: %w", err)
	}
	if cfg.Progress == nil {
		cfg.Progress = io.Discard
	}
	in := &Installation{Cluster: c, cfg: cfg, root: root, started: map[string]*cluster.Process{}}
	if in.cfg.Program == "" {
		in.cfg.Program = in.Binary("certrotation")
	}
	if _, err := os.Stat(in.cfg.Program); err != nil {
		return nil, fmt.Errorf("certrotation is not built, run `make build`: %w", err)
	}
	if err := in.lookAtInputs(); err != nil {
		return nil, err
	}
	return in, in.loadPorts(apiPort, controllerPort)
}

// lookAtInputs opens what kubectl runs and reads, so that the plugin and the manifests become inputs of go's test
// cache. What a test itself opens or runs already is one.
func (in *Installation) lookAtInputs() error {
	if _, err := os.Stat(in.Binary("kubectl-certrotation")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("look at the plugin: %w", err)
	}
	return filepath.WalkDir(filepath.Join(in.root, "manifests"), func(_ string, _ fs.DirEntry, err error) error { return err })
}

// Install applies the manifests, starts both processes and returns when the API answers through kube-apiserver.
func (in *Installation) Install(ctx context.Context) error {
	err := in.onFreePorts(func() error {
		if err := in.applyBase(ctx); err != nil {
			return err
		}
		if err := in.startController(ctx); err != nil {
			return err
		}
		return in.startServe(ctx)
	})
	if err != nil {
		return err
	}
	return in.waitForAPI(ctx)
}

// Exchange replaces both processes by another program's, with the same identities, ports and flags. The cluster's
// objects stay.
func (in *Installation) Exchange(ctx context.Context, program string) error {
	for _, process := range []*cluster.Process{in.Serve, in.Controller} {
		if err := process.Stop(ctx); err != nil {
			return fmt.Errorf("stop %s: %w", process.Name(), err)
		}
	}
	in.cfg.Program = program
	return in.Install(ctx)
}

// Binary returns the path of one of this repository's programs.
func (in *Installation) Binary(name string) string { return filepath.Join(in.root, "bin", name) }

// APIURL returns the URL of serve itself, without the aggregator.
func (in *Installation) APIURL() string {
	return fmt.Sprintf("https://%s:%d", loopback, in.ports[apiPort])
}

// ControllerURL returns the URL where the controller serves /livez, /readyz and /metrics.
func (in *Installation) ControllerURL() string {
	return fmt.Sprintf("https://%s:%d", loopback, in.ports[controllerPort])
}

func (in *Installation) say(format string, args ...any) {
	fmt.Fprintf(in.cfg.Progress, format+"\n", args...)
}

// serviceAccountKubeconfig returns a kubeconfig with exactly the rights of a ServiceAccount.
func (in *Installation) serviceAccountKubeconfig(namespace, name string) (string, error) {
	user := fmt.Sprintf("system:serviceaccount:%s:%s", namespace, name)
	path, err := in.Cluster.UserKubeconfig(user, "system:serviceaccounts", "system:serviceaccounts:"+namespace)
	if err != nil {
		return "", fmt.Errorf("make a kubeconfig for %s: %w", user, err)
	}
	return path, nil
}

func (in *Installation) startController(ctx context.Context) error {
	kubeconfig, err := in.serviceAccountKubeconfig(Namespace, "certrotation-controller")
	if err != nil {
		return err
	}
	args := append([]string{
		"controller", "--kubeconfig=" + kubeconfig, "--leader-elect",
		"--metrics-bind-address=" + loopback + ":" + strconv.Itoa(in.ports[controllerPort]),
		// The observed servers listen on this machine.
		"--allowed-cidrs=" + cmp.Or(in.cfg.AllowedCIDRs, "127.0.0.0/8,::1/128"),
	}, in.cfg.ControllerFlags...)
	in.Controller, err = in.start(ctx, Controller, in.cfg.Program, args, httpReady(in.ControllerURL()+"/readyz"), controllerPort)
	return err
}

func (in *Installation) startServe(ctx context.Context) error {
	kubeconfig, err := in.serviceAccountKubeconfig(Namespace, "certrotation-serve")
	if err != nil {
		return err
	}
	args := append([]string{
		"serve", "--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
		"--bind-address=" + loopback,
		"--secure-port=" + strconv.Itoa(in.ports[apiPort]),
	}, in.cfg.ServeFlags...)
	in.Serve, err = in.start(ctx, Serve, in.cfg.Program, args, httpReady(in.APIURL()+"/readyz"), apiPort)
	return err
}

// start starts a process that listens on the named ports, or adopts one that an earlier command left running, and
// waits until it is ready.
func (in *Installation) start(
	ctx context.Context, name, path string, args []string, ready func(context.Context) error, ports ...string,
) (*cluster.Process, error) {
	if before := in.started[name]; before != nil {
		if err := before.Stop(ctx); err != nil {
			return nil, err
		}
	}
	p := in.Cluster.AddProcess(name, path, args...)
	in.started[name] = p
	running, err := p.StartOrAdopt(ctx)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	if err := p.WaitReady(ctx, ready); err != nil {
		if p.LostPort() {
			return nil, &lostPortsError{ports: ports, cause: errors.Join(err, p.Kill())}
		}
		return nil, err
	}
	state := "started"
	if running {
		state = "is up already"
	}
	in.say("%-24s %s (pid %d, log %s)", name, state, p.Pid(), strings.TrimPrefix(p.LogFile(), in.root+"/"))
	return p, nil
}
