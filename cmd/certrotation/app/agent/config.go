// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"fmt"
	"net"

	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/component-base/metrics"

	sidecar "certrotation.dev/controller/agent"
	"certrotation.dev/controller/reload"
)

const component = "certrotation-agent"

// Config holds what a run needs. Options or a test make it.
type Config struct {
	Agent *sidecar.Agent
	// Listener of health and metrics, nil for none. Run closes it.
	Listener net.Listener
	Metrics  metrics.KubeRegistry
}

// Config opens the port. It connects to no server yet.
func (o *Options) Config(ctx context.Context) (*Config, error) {
	reload, err := o.reload()
	if err != nil {
		return nil, err
	}
	c := &Config{Metrics: metrics.NewKubeRegistry()}
	agent := sidecar.Config{
		Certificate: o.Certificate, Anchors: o.Anchors, Reload: reload, ReloadTimeout: o.ReloadTimeout,
		Server: (&lazyServer{connect: o.connect}).server(), Member: o.Member,
	}
	if o.Prove.Address != "" {
		agent.Prove = &o.Prove
	}
	c.Agent = sidecar.New(agent, c.Metrics)
	if o.BindAddress == "" {
		return c, nil
	}
	if c.Listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", o.BindAddress); err != nil {
		return nil, fmt.Errorf("listen on --bind-address: %w", err)
	}
	return c, nil
}

// reload returns nil for a program that reloads by itself.
func (o *Options) reload() (sidecar.Reloader, error) {
	switch {
	case o.ReloadSignal != "":
		signal, err := parseSignal(o.ReloadSignal)
		if err != nil {
			return nil, err
		}
		return &sidecar.SignalReload{Signal: signal, PIDFile: o.PIDFile, ProcessName: o.ProcessName, Processes: processes}, nil
	case o.ReloadHTTP != "":
		return &sidecar.HTTPReload{Method: o.ReloadHTTPMethod, URL: o.ReloadHTTP}, nil
	case len(o.ReloadExec) > 0:
		return &sidecar.ExecReload{Command: o.ReloadExec}, nil
	}
	return nil, nil
}

func (o *Options) connect() (reload.Server, error) {
	rest, err := clientcmd.BuildConfigFromFlags("", o.Kubeconfig)
	if err != nil {
		return reload.Server{}, fmt.Errorf("read the client configuration of the pod's service account, or of %q: %w", o.Kubeconfig, err)
	}
	restclient.AddUserAgent(rest, component)
	return reload.Connect(rest, o.Member.Namespace)
}
