// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
)

// TestProxyWithAgentsOutside: the clients of a proxy are agents in other clusters, without pods in this one. One
// of them lags. The rotation holds and names its cluster, and continues when that agent has reported.
func TestProxyWithAgentsOutside(t *testing.T) {
	s := scenario(t, "proxy", "proxy-signer")
	s.apply(t, "proxy.yaml")
	var proxies []string
	until(t, "the proxy runs", func(ctx context.Context) error {
		ready, err := s.ready(ctx, "proxy")
		if err == nil && len(ready) != 2 {
			err = fmt.Errorf("%d replicas are ready", len(ready))
		}
		proxies = nil
		for i := range ready {
			proxies = append(proxies, net.JoinHostPort(ready[i].Status.PodIP, "8443"))
		}
		return err
	})
	addresses := map[string]string{}
	for _, cluster := range []string{"cluster-a", "cluster-b"} {
		addresses[cluster] = s.startAgent(t, cluster, proxies)
	}
	until(t, "the agents have reported", func(ctx context.Context) error { return s.reported(ctx, "agents", 2) })
	traffic := s.measure(t)
	tell(t, addresses["cluster-b"], "hold")
	before := s.rotate(t)
	until(t, "the rotation waits for one cluster", func(ctx context.Context) error { return s.waitsFor(ctx, "agents", "cluster-b") })
	s.holds(t, "agents", "cluster-b", before)
	tell(t, addresses["cluster-b"], "resume")
	s.rotated(t, before)
	traffic.end(t)
}

// startAgent starts the agent of a cluster on this machine, outside of the hub. It returns the address of its
// counters.
func (s *system) startAgent(t *testing.T, cluster string, proxies []string) string {
	t.Helper()
	kubeconfig, err := s.Installation.Cluster.UserKubeconfig("system:serviceaccount:"+s.namespace+":"+cluster, "system:serviceaccounts")
	if err != nil {
		t.Fatal(err)
	}
	port, err := s.Port("agent-" + cluster)
	if err != nil {
		t.Fatal(err)
	}
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	agent := s.Installation.Cluster.AddProcess("agent-"+cluster, s.Binary("mtls-service"),
		"client", "--kubeconfig="+kubeconfig, "--namespace="+s.namespace, "--leaf=proxy-agent", "--bundle=proxy-ca-bundle",
		"--signer="+s.signer, "--party=agents", "--member="+cluster, "--server="+strings.Join(proxies, ","), "--server-name=proxy.example",
		"--stats="+address, "--totals="+s.StatsURL(), "--pause=100ms",
	)
	if err := agent.Start(); err != nil {
		t.Fatal(err)
	}
	return address
}
