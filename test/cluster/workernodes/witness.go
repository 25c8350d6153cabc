// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package workernodes

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"

	"certrotation.dev/test/cluster"
)

// witness is a program of the sample with the rights of a ServiceAccount.
type witness struct {
	process *cluster.Process
	// stats is the address of its own counters, host:port.
	stats string
}

// startWitness starts a command of the sample's program, unless it runs.
func (c *Cluster) startWitness(ctx context.Context, name, command, namespace string, args ...string) error {
	w := c.witnesses[name]
	if w == nil {
		plane := c.Installation.Cluster
		kubeconfig, err := plane.UserKubeconfig(fmt.Sprintf("system:serviceaccount:%s:%s", namespace, command), "system:serviceaccounts", "system:serviceaccounts:"+namespace)
		if err != nil {
			return fmt.Errorf("make a kubeconfig for %s: %w", name, err)
		}
		port, err := c.Port(name)
		if err != nil {
			return err
		}
		w = &witness{stats: net.JoinHostPort("127.0.0.1", strconv.Itoa(port))}
		w.process = plane.AddProcess(name, c.Binary("mtls-service"), append([]string{
			command, "--kubeconfig=" + kubeconfig, "--namespace=" + namespace, "--stats=" + w.stats, "--totals=" + c.StatsURL(),
		}, args...)...)
		c.witnesses[name] = w
	}
	if _, err := w.process.StartOrAdopt(ctx); err != nil {
		return err
	}
	return w.process.WaitReady(ctx, func(ctx context.Context) error {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", w.stats)
		if err != nil {
			return fmt.Errorf("connect to %s: %w", name, err)
		}
		return conn.Close()
	})
}

// Writer returns the name of the program that writes to a hosted control plane.
func Writer(hosted string) string { return "writer-" + hosted }

// WitnessURL returns the URL of the counters of Caller or of a Writer.
func (c *Cluster) WitnessURL(name string) string {
	return "http://" + c.witnesses[name].stats + "/stats"
}

// StopWitnesses stops the programs that use the webhook and the hosted control planes. Call it before scaling those
// down.
func (c *Cluster) StopWitnesses(ctx context.Context) error {
	var errs []error
	for name, w := range c.witnesses {
		errs = append(errs, w.process.Stop(ctx))
		delete(c.witnesses, name)
	}
	return errors.Join(errs...)
}
