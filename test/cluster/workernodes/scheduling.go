// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package workernodes

import (
	"context"
	"fmt"
	"strconv"

	"certrotation.dev/test/cluster/installation"
)

// scheduler is the name of its process and its program.
const scheduler = "kube-scheduler"

// apiServerFlags have kube-apiserver connect to the endpoints of a Service: nothing answers at its address.
var apiServerFlags = []string{"--enable-aggregator-routing=true"}

// controllerManagerFlags add the controllers of workloads, endpoints, volumes and nodes to those of package cluster.
var controllerManagerFlags = []string{
	"--controllers=namespace-controller,garbage-collector-controller,resourcequota-controller,serviceaccount-controller," +
		"serviceaccount-token-controller,root-ca-certificate-publisher-controller,clusterrole-aggregation-controller," +
		"deployment-controller,replicaset-controller,statefulset-controller,daemonset-controller,endpointslice-controller," +
		"disruption-controller,node-lifecycle-controller,taint-eviction-controller,pod-garbage-collector-controller," +
		"persistentvolume-binder-controller,persistentvolume-protection-controller,persistentvolumeclaim-protection-controller",
	"--node-monitor-grace-period=20s",
}

func (c *Cluster) startScheduler(ctx context.Context) error {
	plane := c.Installation.Cluster
	port, err := c.Port(scheduler)
	if err != nil {
		return err
	}
	c.Scheduler = plane.AddProcess(scheduler, plane.Tool(scheduler),
		"--kubeconfig="+plane.Kubeconfig(), "--authentication-kubeconfig="+plane.Kubeconfig(), "--authorization-kubeconfig="+plane.Kubeconfig(),
		"--leader-elect=false", "--bind-address=127.0.0.1", "--secure-port="+strconv.Itoa(port),
	)
	if _, err := c.Scheduler.StartOrAdopt(ctx); err != nil {
		return fmt.Errorf("%w (`make node-tools` builds it)", err)
	}
	return c.Scheduler.WaitReady(ctx, func(ctx context.Context) error {
		_, err := installation.Scrape(ctx, plane.AdminConfig(), fmt.Sprintf("https://127.0.0.1:%d/readyz", port))
		return err
	})
}
