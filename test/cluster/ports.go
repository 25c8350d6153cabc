// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"syscall"
)

// ports are the ports of a cluster. cluster.json keeps them, so that kubeconfigs stay valid over a restart.
type ports struct {
	Etcd              int `json:"etcd"`
	EtcdPeer          int `json:"etcdPeer"`
	APIServer         int `json:"apiServer"`
	ControllerManager int `json:"controllerManager"`
	// Balanced and StandIn are the ports of kube-apiserver and its stand-in behind a balancer, which listens on
	// APIServer.
	Balanced int `json:"balanced"`
	StandIn  int `json:"standIn"`
}

// loadPorts reads the ports of an earlier start, or chooses and saves new ones.
func loadPorts(dir string) (ports, error) {
	text, err := os.ReadFile(portsFile(dir))
	if errors.Is(err, fs.ErrNotExist) {
		chosen, err := choosePorts()
		if err != nil {
			return ports{}, err
		}
		return chosen, chosen.save(dir)
	}
	if err != nil {
		return ports{}, err
	}
	var p ports
	if err := json.Unmarshal(text, &p); err != nil {
		return ports{}, fmt.Errorf("parse %s: %w", portsFile(dir), err)
	}
	return p, nil
}

func (p ports) save(dir string) error {
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(portsFile(dir), append(text, '\n'), 0o644)
}

func portsFile(dir string) string { return filepath.Join(dir, "cluster.json") }

// choosePorts chooses free ports without reserving them. A start that loses its port to another program is repeated
// with a new one.
func choosePorts() (ports, error) {
	free, err := freePorts(6)
	if err != nil {
		return ports{}, err
	}
	return ports{
		Etcd: free[0], EtcdPeer: free[1], APIServer: free[2], ControllerManager: free[3], Balanced: free[4], StandIn: free[5],
	}, nil
}

// replace returns p with new ports for the named process.
func (p ports) replace(name string) (ports, error) {
	fresh, err := choosePorts()
	if err != nil {
		return ports{}, err
	}
	switch name {
	case Etcd:
		p.Etcd, p.EtcdPeer = fresh.Etcd, fresh.EtcdPeer
	case APIServer:
		p.APIServer = fresh.APIServer
	case ControllerManager:
		p.ControllerManager = fresh.ControllerManager
	}
	return p, nil
}

// FreePort returns a port of 127.0.0.1 on which nothing listens now. The port is not reserved. Package heldport
// reserves ports for programs that share them; for other programs check [Process.LostPort].
func FreePort() (int, error) {
	free, err := freePorts(1)
	if err != nil {
		return 0, err
	}
	return free[0], nil
}

// Ports are below node ports and below the kernel's own range (from 32768 on Linux, from 49152 elsewhere). Any new
// connection may take a port of that range before the process listens on it.
const (
	firstPort = 12000
	lastPort  = 29999
)

// freePorts keeps all listeners open until the last port is known, so that the ports differ.
func freePorts(n int) ([]int, error) {
	free := make([]int, 0, n)
	for tries := 0; len(free) < n; tries++ {
		port := firstPort + rand.IntN(lastPort-firstPort+1)
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		switch {
		case errors.Is(err, syscall.EADDRINUSE) && tries < 1000:
			continue
		case err != nil:
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		defer l.Close()
		free = append(free, port)
	}
	return free, nil
}
