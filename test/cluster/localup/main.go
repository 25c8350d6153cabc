// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Command localup is `make up` and `make down`. It runs a control plane with certrotation and its samples on this
// machine, in the repository's directory .local. With SAMPLE=etcd, its etcd runs on real nodes, in .local/etcd-nodes.
// With SAMPLE=pods, its workloads are pods on real nodes, in .local/pods. With SAMPLE=control-plane they are a hosted
// control plane and its operator, in .local/control-plane.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"certrotation.dev/test/cluster"
	"certrotation.dev/test/cluster/installation"
	"certrotation.dev/test/cluster/stacked"
	"certrotation.dev/test/cluster/workernodes"
)

// patience bounds `make up` after the build.
const patience = 5 * time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Stdout, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "\nerror: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, args []string) error {
	root, err := cluster.RepositoryRoot()
	if err != nil {
		return fmt.Errorf("find the repository: %w", err)
	}
	dir := filepath.Join(root, ".local")
	switch strings.Join(args, " ") {
	case "up":
		return up(ctx, out, dir)
	case "up etcd":
		return upEtcd(ctx, out, dir)
	case "up pods":
		return podsOnNodes().up(ctx, out, dir)
	case "up control-plane":
		return planeOnNodes().up(ctx, out, dir)
	case "down":
		return down(ctx, out, dir)
	}
	return fmt.Errorf("usage: localup up [etcd|pods|control-plane] | down; SAMPLE of `make up` is etcd, pods or control-plane, got %q", args)
}

func up(ctx context.Context, out io.Writer, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	c, err := cluster.Start(ctx, cluster.Config{Dir: dir, Detach: true, ControllerManager: true, Progress: out})
	if err != nil {
		return failed("start the control plane", err)
	}
	in, err := installation.Prepare(c, installation.Config{Progress: out})
	if err != nil {
		return failed("prepare certrotation", err)
	}
	if err := in.Install(ctx); err != nil {
		return failed("install certrotation", err)
	}
	if err := in.InstallOpenShiftEtcd(ctx); err != nil {
		return failed("apply the sample openshift-etcd", err)
	}
	sample, err := in.InstallMTLSService(ctx)
	if err != nil {
		return failed("start the sample mtls-service", err)
	}
	if err := in.WaitReady(ctx, installation.BothSamples()); err != nil {
		return failed("wait for every certificate to be Ready", err)
	}
	env, err := writeEnv(in, sample)
	if err != nil {
		return failed("write "+env, err)
	}
	if err := show(ctx, out, in, own...); err != nil {
		return failed("print what there is", err)
	}
	fmt.Fprint(out, next)
	return nil
}

// failed names the failed step and what to do next; the error itself names the log.
func failed(step string, err error) error {
	return fmt.Errorf("%s: %w\nThe logs are in .local/logs. `make up` again starts what is missing; `make down` removes everything", step, err)
}

func down(ctx context.Context, out io.Writer, dir string) error {
	if err := stacked.StopDir(ctx, filepath.Join(dir, onEtcdNodes().dir), out); err != nil {
		return fmt.Errorf("stop what runs in %s: %w", filepath.Join(dir, onEtcdNodes().dir), err)
	}
	for _, sample := range nodeSamples() {
		if err := workernodes.StopDir(ctx, filepath.Join(dir, sample.dir), out); err != nil {
			return fmt.Errorf("stop what runs in %s: %w", filepath.Join(dir, sample.dir), err)
		}
	}
	if err := cluster.StopDir(ctx, dir, out); err != nil {
		return fmt.Errorf("stop what runs in %s: %w", dir, err)
	}
	// Keep the logs of failed tests and the figures of benchmarks: `make up` did not make them.
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("clean %s: %w", dir, err)
	}
	for _, entry := range entries {
		if entry.Name() == "test-logs" || entry.Name() == "bench" {
			continue
		}
		if err := os.RemoveAll(filepath.Join(dir, entry.Name())); err != nil {
			return fmt.Errorf("clean %s: %w", dir, err)
		}
	}
	fmt.Fprintln(out, "everything is stopped and cleaned")
	return nil
}
