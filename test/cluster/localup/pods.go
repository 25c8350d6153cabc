// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"certrotation.dev/test/cluster/workernodes"
)

// podsOnNodes is the directory of `make up SAMPLE=pods` in .local.
const podsOnNodes = "pods"

const nextPods = `
What to try next:
  . .local/pods/env
  kubectl get pods -n pods-demo -o wide
  kubectl certrotation rotate -n pods-demo service-signer --wait
  kubectl rollout restart -n pods-demo deployment/server
  kubectl certrotation rotate -n webhook-demo parcels-signer --wait
  kubectl certrotation rotate -n hosted-a etcd-signer --wait   # restarts etcd and its kube-apiservers
  curl -s $PODS_STATS_URL                       # what all have counted, pods that are gone too
  make down
`

// upPods starts three nodes on which the samples pods, webhook-server and hosted-etcd run as pods.
func upPods(ctx context.Context, out io.Writer, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	c, err := workernodes.Start(ctx, workernodes.Config{Dir: dir, Detach: true, Progress: out})
	if err != nil {
		return failedPods("start three nodes", err)
	}
	installWebhook := func(ctx context.Context) error { return c.InstallWebhook(ctx) }
	for _, install := range []func(context.Context) error{c.InstallSample, installWebhook, c.InstallHosted} {
		if err := install(ctx); err != nil {
			return failedPods("start the samples", err)
		}
	}
	env := fmt.Sprintf("export KUBECONFIG=%q\nexport PATH=\"%s:%s:$PATH\"\nexport PODS_STATS_URL=%q\n", c.Installation.Cluster.Kubeconfig(),
		filepath.Dir(c.Installation.Cluster.Tool("kubectl")), filepath.Dir(c.Binary("certrotation")), c.StatsURL())
	if err := os.WriteFile(filepath.Join(dir, "env"), []byte(env), 0o600); err != nil {
		return failedPods("write the environment", err)
	}
	if err := show(ctx, out, c.Installation, onNodes...); err != nil {
		return failedPods("print what there is", err)
	}
	fmt.Fprint(out, nextPods)
	return nil
}

func failedPods(step string, err error) error {
	return fmt.Errorf("%s: %w\nThe logs are in .local/pods. `make up SAMPLE=pods` again starts what is missing; `make down` removes everything", step, err)
}
