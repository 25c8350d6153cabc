// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// startAttempts is how often a process is started on new ports because another program took its port.
const startAttempts = 5

const hint = "What to do: read the log; if the data directory is the cause, stop the cluster and remove it (`make down`)."

// startOne starts the named process, or adopts the running one, and waits until it is ready. It calls args on each
// attempt, because the arguments depend on the ports.
func (c *Cluster) startOne(ctx context.Context, name string, args func() []string, ready func(context.Context) error) (*Process, error) {
	begun := time.Now()
	for attempt := 1; ; attempt++ {
		p := NewProcess(ProcessConfig{
			Name: name, Path: c.Tool(name), Args: args(), Dir: c.cfg.Dir, Detach: c.cfg.Detach, Hint: hint,
		})
		adopted, err := c.launch(ctx, p)
		if err != nil {
			return nil, err
		}
		err = p.WaitReady(ctx, ready)
		if err == nil {
			state := fmt.Sprintf("ready after %.1f s", time.Since(begun).Seconds())
			if adopted {
				state = "already running"
			}
			fmt.Fprintf(c.cfg.Progress, "%-24s %s (pid %d)\n", name, state, p.Pid())
			return p, nil
		}
		lost := p.LostPort()
		if stopErr := p.Kill(); stopErr != nil {
			return nil, stopErr
		}
		if !lost || attempt == startAttempts {
			return nil, err
		}
		if c.ports, err = c.ports.replace(name); err != nil {
			return nil, err
		}
		if err := c.ports.save(c.cfg.Dir); err != nil {
			return nil, err
		}
	}
}

func (c *Cluster) launch(ctx context.Context, p *Process) (adopted bool, err error) {
	if c.cfg.Detach {
		return p.StartOrAdopt(ctx)
	}
	return false, p.Start()
}

// Tool returns the path of a program that `make tools` builds, such as kubectl, in this cluster's version if there
// are several.
func (c *Cluster) Tool(name string) string {
	return filepath.Join(c.cfg.BinDir, ToolPath(c.cfg.Kubernetes, name))
}

// checkTools finds a missing program before anything is started.
func checkTools(cfg *Config) error {
	names := []string{Etcd, APIServer}
	if cfg.ControllerManager {
		names = append(names, ControllerManager)
	}
	for _, name := range names {
		if _, err := os.Stat(filepath.Join(cfg.BinDir, ToolPath(cfg.Kubernetes, name))); err != nil {
			return fmt.Errorf("%s is not built: %s (%w)", name, HowToBuild(cfg.Kubernetes, "tools"), err)
		}
	}
	return nil
}

// RepositoryRoot returns the directory of this module's go.mod. It searches from the working directory upwards.
func RepositoryRoot() (string, error) {
	from, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := from; ; dir = filepath.Dir(dir) {
		if isRepositoryRoot(dir) {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("%s is not inside a checkout of certrotation.dev; set Config.BinDir", from)
		}
	}
}

// isRepositoryRoot checks for a file that only the root has, because hack/tools has a go.mod too.
func isRepositoryRoot(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "hack", "tools", "go.mod"))
	return err == nil
}
