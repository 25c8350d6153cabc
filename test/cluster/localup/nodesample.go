// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"certrotation.dev/test/cluster/installation"
	"certrotation.dev/test/cluster/workernodes"
)

// sample is a SAMPLE of `make up` on three nodes.
type sample struct {
	// name is that of the SAMPLE, dir its directory in .local.
	name, dir string
	// next is what to try.
	next string
}

// finish writes the environment, with variables besides KUBECONFIG and PATH, and prints what there is. local is the
// directory .local.
func (s *sample) finish(ctx context.Context, out io.Writer, local string, in *installation.Installation, plugin, variables string) error {
	env := fmt.Sprintf("export KUBECONFIG=%q\nexport PATH=\"%s:%s:$PATH\"\n%s", in.Cluster.Kubeconfig(),
		filepath.Dir(in.Cluster.Tool("kubectl")), filepath.Dir(plugin), variables)
	if err := os.WriteFile(filepath.Join(local, s.dir, "env"), []byte(env), 0o600); err != nil {
		return s.failed("write the environment", err)
	}
	if err := show(ctx, out, in, onNodes...); err != nil {
		return s.failed("print what there is", err)
	}
	fmt.Fprint(out, s.next)
	return nil
}

// failed names the failed step and what to do next; the error itself names the log.
func (s *sample) failed(step string, err error) error {
	return fmt.Errorf("%s: %w\nThe logs are in .local/%s. `make up SAMPLE=%s` again starts what is missing; `make down` removes everything", step, err, s.dir, s.name)
}

// nodeSample is one whose workloads are pods.
type nodeSample struct {
	sample

	install func(context.Context, *workernodes.Cluster) error
	// env has the variables of its own.
	env func(*workernodes.Cluster) string
}

func nodeSamples() []*nodeSample { return []*nodeSample{podsOnNodes(), planeOnNodes()} }

func podsOnNodes() *nodeSample {
	return &nodeSample{
		sample: sample{name: "pods", dir: "pods", next: `
What to try next:
  . .local/pods/env
  kubectl get pods -n pods-demo -o wide
  kubectl certrotation rotate -n pods-demo service-signer --wait
  kubectl rollout restart -n pods-demo deployment/server
  kubectl certrotation rotate -n webhook-demo parcels-signer --wait
  kubectl certrotation rotate -n hosted-a etcd-signer --wait   # restarts etcd and its kube-apiservers
  curl -s $PODS_STATS_URL                       # what all have counted, pods that are gone too
  make down
`},
		install: func(ctx context.Context, c *workernodes.Cluster) error {
			if err := c.InstallSample(ctx); err != nil {
				return err
			}
			if err := c.InstallWebhook(ctx); err != nil {
				return err
			}
			return c.InstallHosted(ctx)
		},
		env: func(c *workernodes.Cluster) string { return fmt.Sprintf("export PODS_STATS_URL=%q\n", c.StatsURL()) },
	}
}

func planeOnNodes() *nodeSample {
	return &nodeSample{
		sample: sample{name: "control-plane", dir: "control-plane", next: `
What to try next:
  . .local/control-plane/env
  kubectl get certificaterotations -n plane-a -o wide
  kubectl certrotation rotate -n plane-a ca          # all authorities; or, with the keys:
  kubectl certrotation operate -n plane-a control-plane rotate-credentials-start
  kubectl get pods -n plane-a -o wide -w
  kubectl get rotconf -n plane-a control-plane -o yaml          # status.credentials has the phases
  kubectl certrotation operate -n plane-a control-plane rotate-credentials-complete
  make down
`},
		install: func(ctx context.Context, c *workernodes.Cluster) error { return c.InstallControlPlanes(ctx) },
		env:     func(*workernodes.Cluster) string { return "" },
	}
}

// up starts three nodes and the sample on them.
func (s *nodeSample) up(ctx context.Context, out io.Writer, local string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	c, err := workernodes.Start(ctx, workernodes.Config{Dir: filepath.Join(local, s.dir), Detach: true, Progress: out})
	if err != nil {
		return s.failed("start three nodes", err)
	}
	if err := s.install(ctx, c); err != nil {
		return s.failed("start the sample", err)
	}
	return s.finish(ctx, out, local, c.Installation, c.Binary("certrotation"), s.env(c))
}
