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
	"certrotation.dev/test/cluster/stacked"
)

// etcdNodes is the directory of `make up SAMPLE=etcd` in .local.
const etcdNodes = "etcd-nodes"

const nextEtcd = `
What to try next:
  . .local/etcd-nodes/env
  kubectl get certificaterotations -n openshift-etcd -o wide
  kubectl certrotation rotate -n openshift-etcd etcd-signer --wait
  kubectl get pods -n openshift-etcd -o wide -w
  curl -s $SUPERVISOR_URL/status                # the kube-apiservers, which use this etcd
  make down
`

// upEtcd starts three nodes with etcd as static pods and certrotation as pods. It also starts kube-apiservers that
// use this etcd.
func upEtcd(ctx context.Context, out io.Writer, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	c, err := stacked.Start(ctx, stacked.Config{Dir: dir, Detach: true, Pods: true, Progress: out})
	if err != nil {
		return failedEtcd("start three nodes with etcd", err)
	}
	if err := c.WaitReady(ctx, installation.Expected{installation.Namespace: 1, stacked.Namespace: 13}); err != nil {
		return failedEtcd("wait for every certificate to be Ready", err)
	}
	env := nodeEnv(c.Installation.Cluster.Kubeconfig(), c.Installation.Cluster.Tool("kubectl"), c.Binary("certrotation")) +
		fmt.Sprintf("export SUPERVISOR_URL=%q\n", c.ControlURL())
	if err := os.WriteFile(filepath.Join(dir, "env"), []byte(env), 0o600); err != nil {
		return failedEtcd("write the environment", err)
	}
	if err := show(ctx, out, c.Installation, onNodes...); err != nil {
		return failedEtcd("print what there is", err)
	}
	fmt.Fprint(out, nextEtcd)
	return nil
}

func failedEtcd(step string, err error) error {
	return fmt.Errorf("%s: %w\nThe logs are in .local/etcd-nodes. `make up SAMPLE=etcd` again starts what is missing; `make down` removes everything", step, err)
}
