// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"certrotation.dev/test/cluster/installation"
	"certrotation.dev/test/cluster/stacked"
)

// onEtcdNodes is the sample whose etcd runs on the nodes.
func onEtcdNodes() *sample {
	return &sample{name: "etcd", dir: "etcd-nodes", next: `
What to try next:
  . .local/etcd-nodes/env
  kubectl get certificaterotations -n openshift-etcd -o wide
  kubectl certrotation rotate -n openshift-etcd etcd-signer --wait
  kubectl get pods -n openshift-etcd -o wide -w
  curl -s $SUPERVISOR_URL/status                # the kube-apiservers, which use this etcd
  make down
`}
}

// upEtcd starts three nodes with etcd as static pods and certrotation as pods. It also starts kube-apiservers that
// use this etcd.
func upEtcd(ctx context.Context, out io.Writer, local string) error {
	s := onEtcdNodes()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	c, err := stacked.Start(ctx, stacked.Config{Dir: filepath.Join(local, s.dir), Detach: true, Pods: true, Progress: out})
	if err != nil {
		return s.failed("start three nodes with etcd", err)
	}
	if err := c.WaitReady(ctx, installation.Expected{installation.Namespace: 1, stacked.Namespace: 13}); err != nil {
		return s.failed("wait for every certificate to be Ready", err)
	}
	return s.finish(ctx, out, local, c.Installation, c.Binary("certrotation"), fmt.Sprintf("export SUPERVISOR_URL=%q\n", c.ControlURL()))
}
