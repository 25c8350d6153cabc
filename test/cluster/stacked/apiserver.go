// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package stacked

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"

	"certrotation.dev/test/cluster"
	"certrotation.dev/test/cluster/installation"
	"certrotation.dev/test/cluster/nodes"
)

// APIServers are the names of the kube-apiservers, and of their members in the relying party that they acknowledge
// for.
var APIServers = []string{"kube-apiserver-0", "kube-apiserver-1"}

// Ports on the gateway of the nodes, which only this cluster uses.
const (
	balancerPort  = 6443
	controlPort   = 6440
	firstAPIPort  = 16443
	clientPort    = 2379
	metricsPort   = 9979
	clientsOfEtcd = "system:serviceaccount:" + Namespace + ":etcd-clients"
)

func (c *Cluster) gateway(port int) string {
	return net.JoinHostPort(c.Network.Gateway().String(), strconv.Itoa(port))
}

func (c *Cluster) apiURL() string { return "https://" + c.gateway(balancerPort) }

// ControlURL returns the supervisor's URL: GET /status, POST /kill?name=NAME, /hold, /resume.
func (c *Cluster) ControlURL() string { return "http://" + c.gateway(controlPort) }

// Endpoints returns the client addresses of the members, host:port, in the order of the nodes.
func (c *Cluster) Endpoints() []string { return endpoints(c.Nodes(), clientPort) }

func endpoints(members []*nodes.Node, port int) []string {
	var out []string
	for _, node := range members {
		out = append(out, net.JoinHostPort(node.IP().String(), strconv.Itoa(port)))
	}
	return out
}

// startSupervisor starts the kube-apiservers with the rendered certificates, and with the objects that they follow
// later.
func (c *Cluster) startSupervisor(ctx context.Context, plane *cluster.Cluster) error {
	kubeconfig, err := plane.UserKubeconfig(clientsOfEtcd, "system:serviceaccounts", "system:serviceaccounts:"+Namespace)
	if err != nil {
		return fmt.Errorf("make a kubeconfig for the supervisor: %w", err)
	}
	args := []string{
		"--dir=" + c.path("supervisor"), "--seed-dir=" + c.path("rendered", "tls"), "--kube-apiserver=" + plane.Tool(cluster.APIServer),
		"--kubeconfig=" + kubeconfig, "--listen=" + c.gateway(balancerPort), "--control=" + c.gateway(controlPort),
		"--bundle=" + Namespace + "/etcd-ca-bundle", "--leaf=" + Namespace + "/etcd-client",
		"--acknowledge=" + Namespace + "/etcd-signer/clients",
	}
	for i, name := range APIServers {
		args = append(args, "--server="+name+"="+c.gateway(firstAPIPort+i))
	}
	args = append(args, c.cfg.SupervisorFlags...)
	args = append(args, "--")
	args = append(args, cluster.APIServerFlags(c.path("pki"))...)
	if c.cfg.Pods {
		args = append(args, installation.APIServerFlags...)
	}
	args = append(args,
		"--etcd-servers=https://"+strings.Join(endpoints(c.servers(), clientPort), ",https://"),
		"--endpoint-reconciler-type=none",
	)
	c.Supervisor = plane.AddProcess("apiserver-supervisor", c.binary("apiserver-supervisor"), args...)
	if _, err := c.Supervisor.StartOrAdopt(ctx); err != nil {
		return err
	}
	return c.Supervisor.WaitReady(ctx, c.balancerAnswers)
}

// members returns the nodes of the first members of etcd.
func (c *Cluster) members() []*nodes.Node {
	var out []*nodes.Node
	for _, name := range c.cfg.Members {
		out = append(out, c.Network.Node(name))
	}
	return out
}

// servers returns the members that the kube-apiservers use: the first and the last. An etcd client cannot tell a
// member that is cut off from its peers from a slow one. It would lose each third request to such a member. Tests
// therefore cut off only the members between. With an API server beside each member, its readiness would decide.
func (c *Cluster) servers() []*nodes.Node {
	members := c.members()
	if len(members) < 3 {
		return members
	}
	return []*nodes.Node{members[0], members[len(members)-1]}
}

// balancerAnswers returns nil once the supervisor listens. It does not wait for a ready API server; the control plane
// does.
func (c *Cluster) balancerAnswers(ctx context.Context) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", c.gateway(controlPort))
	if err != nil {
		return fmt.Errorf("connect to the supervisor: %w", err)
	}
	return conn.Close()
}

// startScraper starts the reader of the metrics, a relying party of their trust domain.
func (c *Cluster) startScraper(ctx context.Context) error {
	kubeconfig, err := c.Installation.Cluster.UserKubeconfig(clientsOfEtcd, "system:serviceaccounts", "system:serviceaccounts:"+Namespace)
	if err != nil {
		return fmt.Errorf("make a kubeconfig for the scraper: %w", err)
	}
	port, err := c.Port("scraper")
	if err != nil {
		return err
	}
	stats := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	c.Scraper = c.Installation.Cluster.AddProcess("scraper", c.binary("mtls-service"),
		"client", "--kubeconfig="+kubeconfig, "--namespace="+Namespace, "--leaf=etcd-metric-client", "--bundle=etcd-metrics-ca-bundle",
		"--signer=etcd-metric-signer", "--party=prometheus", "--server-name=localhost", "--stats="+stats, "--pause=500ms",
		"--server="+strings.Join(endpoints(c.members(), metricsPort), ","), "--request=GET /metrics HTTP/1.0\r\n\r\n",
	)
	if _, err := c.Scraper.StartOrAdopt(ctx); err != nil {
		return err
	}
	return c.Scraper.WaitReady(ctx, func(ctx context.Context) error {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", stats)
		if err != nil {
			return fmt.Errorf("connect to the scraper: %w", err)
		}
		return conn.Close()
	})
}
