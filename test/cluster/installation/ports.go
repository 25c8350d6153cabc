// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"certrotation.dev/test/cluster"
)

// Names of certrotation's own ports on the loopback interface.
const (
	apiPort        = "api"
	controllerPort = "controller"
)

// portAttempts is how often an installation is tried, on new ports when other programs took one.
const portAttempts = 5

// lostPortsError is the error of a process that ended because another program has one of its ports.
type lostPortsError struct {
	ports []string
	cause error
}

func (e *lostPortsError) Error() string { return e.cause.Error() }
func (e *lostPortsError) Unwrap() error { return e.cause }

// onFreePorts calls install, and again with other ports if another program took one.
func (in *Installation) onFreePorts(install func() error) error {
	for attempt := 1; ; attempt++ {
		err := install()
		var lost *lostPortsError
		if !errors.As(err, &lost) || attempt == portAttempts {
			return err
		}
		for _, name := range lost.ports {
			delete(in.ports, name)
			if _, err := in.Port(name); err != nil {
				return err
			}
		}
	}
}

// Port returns the named port. It chooses a free one at the first call and keeps it.
func (in *Installation) Port(name string) (int, error) {
	if port, ok := in.ports[name]; ok {
		return port, nil
	}
	port, err := cluster.FreePort()
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	in.ports[name] = port
	return port, in.savePorts()
}

// loadPorts reads the ports of an earlier installation and chooses the missing ones.
func (in *Installation) loadPorts(names ...string) error {
	in.ports = map[string]int{}
	data, err := os.ReadFile(in.portsFile())
	if err == nil {
		err = json.Unmarshal(data, &in.ports)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read %s: %w", in.portsFile(), err)
	}
	for _, name := range names {
		if _, err := in.Port(name); err != nil {
			return err
		}
	}
	return nil
}

func (in *Installation) savePorts() error {
	data, err := json.Marshal(in.ports)
	if err != nil {
		return fmt.Errorf("encode ports: %w", err)
	}
	if err := os.WriteFile(in.portsFile(), data, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", in.portsFile(), err)
	}
	return nil
}

func (in *Installation) portsFile() string {
	return filepath.Join(in.Cluster.Dir(), "installation.json")
}
