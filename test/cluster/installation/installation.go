// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"certrotation.dev/test/cluster"
)

// Names of the processes, and so of their pid files and logs.
const (
	Controller = "controller"
	Serve      = "serve"
)

// Namespace of certrotation itself.
const Namespace = "certrotation-system"

// loopback is where the processes listen.
const loopback = "127.0.0.1"

// Config says what to install.
type Config struct {
	// Program is the path of certrotation. Defaults to that of `make build`.
	Program string
	// AllowedCIDRs are the ranges of this machine in which the controller may dial. Defaults to its whole loopback.
	AllowedCIDRs string
	// ServeFlags and ControllerFlags are put behind our own.
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
	// applied is the port of the API for which the base was applied, 0 for none.
	applied int
}

// Prepare finds the binaries and the ports; nothing is started.
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
	return in, in.loadPorts(apiPort, controllerPort)
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

// Exchange ends both processes and starts those of another program with the same identities, ports and flags. What is in the
// cluster stays.
func (in *Installation) Exchange(ctx context.Context, program string) error {
	for _, process := range []*cluster.Process{in.Serve, in.Controller} {
		if err := process.Stop(ctx); err != nil {
			return fmt.Errorf("stop %s: %w", process.Name(), err)
		}
	}
	in.cfg.Program = program
	return in.Install(ctx)
}

// Binary is the path of one of our programs.
func (in *Installation) Binary(name string) string { return filepath.Join(in.root, "bin", name) }

// APIURL is where serve listens itself, not behind the aggregator.
func (in *Installation) APIURL() string {
	return fmt.Sprintf("https://%s:%d", loopback, in.ports[apiPort])
}

// ControllerURL is where the controller serves /livez, /readyz and /metrics.
func (in *Installation) ControllerURL() string {
	return fmt.Sprintf("https://%s:%d", loopback, in.ports[controllerPort])
}

func (in *Installation) say(format string, args ...any) {
	fmt.Fprintf(in.cfg.Progress, format+"\n", args...)
}

// serviceAccountKubeconfig is a kubeconfig with exactly the rights of a ServiceAccount.
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
		// What is observed here listens on this machine.
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

// start starts a process that listens on ports of these names, or takes it over if an earlier command has left it running, and
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
