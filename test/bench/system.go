// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"certrotation.dev/generated/clientset/versioned"
	"certrotation.dev/test/cluster"
	"certrotation.dev/test/cluster/installation"
)

// startTimeout bounds the start of the control plane with certrotation in it.
const startTimeout = 4 * time.Minute

// bench is one run. The fields of the control plane are nil until start.
type bench struct {
	root, dir string
	opts      options
	progress  io.Writer
	report    *report

	cluster *cluster.Cluster
	in      *installation.Installation
	// controllerURL is the base URL of the controller's metrics.
	controllerURL string
	// kube uses protobuf, kubeJSON uses JSON, rotations is the client of our API groups. All of them count what
	// they receive in wire.
	kube, kubeJSON kubernetes.Interface
	rotations      versioned.Interface
	// controller writes records, which the guard permits only to the controller.
	controller versioned.Interface
	wire       atomic.Int64
}

func (b *bench) say(format string, args ...any) {
	fmt.Fprintf(b.progress, "bench: "+format+"\n", args...)
}

// start starts the control plane once, and installs certrotation unless it runs with its default flags.
func (b *bench) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := b.startCluster(ctx); err != nil {
		return err
	}
	return b.install(ctx)
}

func (b *bench) startCluster(ctx context.Context, apiServerFlags ...string) error {
	if b.cluster != nil {
		return nil
	}
	dir, err := os.MkdirTemp(b.dir, "cluster-")
	if err != nil {
		return fmt.Errorf("make a directory: %w", err)
	}
	b.cluster, err = cluster.Start(ctx, cluster.Config{
		Dir: dir, ControllerManager: true, Durable: true, Progress: b.progress, APIServerFlags: apiServerFlags,
	})
	if err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	return b.connect()
}

// install starts certrotation. It replaces a controller that runs with other flags.
func (b *bench) install(ctx context.Context, controllerFlags ...string) error {
	in, err := installation.Prepare(b.cluster, installation.Config{
		Progress: b.progress, ControllerFlags: controllerFlags,
	})
	if err != nil {
		return err
	}
	if err := in.Install(ctx); err != nil {
		return err
	}
	b.in, b.controllerURL = in, in.ControllerURL()
	return nil
}

func (b *bench) connect() error {
	json := b.cluster.AdminConfig()
	json.Dial = countingDial(&b.wire)
	http, err := rest.HTTPClientFor(json)
	if err != nil {
		return fmt.Errorf("make an HTTP client: %w", err)
	}
	protobuf := rest.CopyConfig(json)
	protobuf.ContentType = runtime.ContentTypeProtobuf
	protobuf.AcceptContentTypes = runtime.ContentTypeProtobuf
	if b.kube, err = kubernetes.NewForConfigAndClient(protobuf, http); err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	if b.kubeJSON, err = kubernetes.NewForConfigAndClient(json, http); err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	if b.rotations, err = versioned.NewForConfigAndClient(json, http); err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	controller := b.cluster.AdminConfig()
	controller.Impersonate = rest.ImpersonationConfig{UserName: account(installation.Controller)}
	if b.controller, err = versioned.NewForConfig(controller); err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	return nil
}

// account is the user name of a certrotation program.
func account(program string) string {
	return fmt.Sprintf("system:serviceaccount:%s:certrotation-%s", installation.Namespace, program)
}

// stop stops the control plane and removes its directory. After a failure the logs stay.
func (b *bench) stop(failed bool) error {
	if b.cluster == nil {
		return nil
	}
	// The context of the run may have ended already.
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := b.cluster.Stop(ctx); err != nil {
		return fmt.Errorf("stop the control plane in %s: %w", b.cluster.Dir(), err)
	}
	if failed {
		logs := b.cluster.Dir() + "-logs"
		if err := os.Rename(b.cluster.LogDir(), logs); err != nil {
			return fmt.Errorf("keep the logs: %w", err)
		}
		b.say("the logs are in %s", logs)
	}
	if err := os.RemoveAll(b.cluster.Dir()); err != nil {
		return fmt.Errorf("remove %s: %w", b.cluster.Dir(), err)
	}
	b.cluster, b.in = nil, nil
	return nil
}

func (b *bench) pids() map[string]int {
	out := map[string]int{}
	if b.cluster == nil {
		return out
	}
	for _, name := range []string{cluster.Etcd, cluster.APIServer} {
		out[name] = b.cluster.Process(name).Pid()
	}
	if b.in != nil {
		for _, p := range []*cluster.Process{b.in.Serve, b.in.Controller} {
			if p.Running() {
				out[p.Name()] = p.Pid()
			}
		}
	}
	return out
}
