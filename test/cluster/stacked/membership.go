// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package stacked

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/test/cluster"
	"certrotation.dev/test/cluster/nodes"
)

// EtcdTLS returns the TLS configuration of a new etcd client, with the live client leaf and the live bundle.
func (c *Cluster) EtcdTLS(ctx context.Context) (*tls.Config, error) {
	secret, err := c.Client.CoreV1().Secrets(Namespace).Get(ctx, "etcd-client", metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read the client leaf: %w", err)
	}
	bundle, err := c.Client.CoreV1().ConfigMaps(Namespace).Get(ctx, "etcd-ca-bundle", metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read the bundle: %w", err)
	}
	pair, err := tls.X509KeyPair(secret.Data["tls.crt"], secret.Data["tls.key"])
	if err != nil {
		return nil, fmt.Errorf("read the client leaf: %w", err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(bundle.Data["ca-bundle.crt"]))
	return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, RootCAs: pool}, nil
}

// Etcd connects to the members with the live leaf and bundle. The caller closes the client.
func (c *Cluster) Etcd(ctx context.Context) (*clientv3.Client, error) {
	config, err := c.EtcdTLS(ctx)
	if err != nil {
		return nil, err
	}
	var urls []string
	for _, endpoint := range c.Endpoints() {
		urls = append(urls, "https://"+endpoint)
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: urls, TLS: config, DialTimeout: 5 * time.Second, Logger: zap.NewNop(), Context: ctx})
	if err != nil {
		return nil, fmt.Errorf("connect to etcd: %w", err)
	}
	return client, nil
}

// Join starts a new node as a learner of etcd. It does what the provisioner of a machine does; certrotation brings
// the certificates. Promote gives the member a vote. With a vote from the beginning, a restart of another member
// would cost the quorum until the new one runs. Join may return a node with an error; it can Leave like any other.
func (c *Cluster) Join(ctx context.Context, name string) (*nodes.Node, error) {
	client, err := c.Etcd(ctx)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	if err := c.Network.Add(ctx, name); err != nil {
		return nil, err
	}
	node := c.Network.Node(name)
	if err := addMember(ctx, client, peerURL(node)); err != nil {
		return node, fmt.Errorf("add member %s: %w", name, err)
	}
	if err := writeMemberEnv(node, c.Nodes(), "existing"); err != nil {
		return node, err
	}
	return node, node.Label(ctx, c.Client, map[string]string{controlPlaneLabel: ""})
}

// addMember retries, because etcd takes no new member while one of its members restarts.
func addMember(ctx context.Context, client *clientv3.Client, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	return cluster.Until(ctx, 500*time.Millisecond, 10*time.Second, func(ctx context.Context) error {
		_, err := client.MemberAddAsLearner(ctx, []string{url})
		if errors.Is(err, rpctypes.ErrPeerURLExist) {
			return nil // An attempt added it, and its answer was lost.
		}
		return err
	})
}

// Promote gives the member of a joined node a vote. etcd refuses that until the member has caught up.
func (c *Cluster) Promote(ctx context.Context, name string) error {
	return c.withMember(ctx, name, func(client *clientv3.Client, member *etcdserverpb.Member) error {
		if member == nil {
			return fmt.Errorf("etcd has no member on %s", name)
		}
		if !member.IsLearner {
			return nil
		}
		if _, err := client.MemberPromote(ctx, member.ID); err != nil {
			return fmt.Errorf("promote member %s: %w", name, err)
		}
		return nil
	})
}

// withMember connects to etcd and finds the member of a node, nil if there is none. It compares peer URLs, because a
// member that never ran has no name.
func (c *Cluster) withMember(ctx context.Context, node string, do func(*clientv3.Client, *etcdserverpb.Member) error) error {
	client, err := c.Etcd(ctx)
	if err != nil {
		return err
	}
	defer client.Close()
	list, err := client.MemberList(ctx)
	if err != nil {
		return fmt.Errorf("list members: %w", err)
	}
	for _, member := range list.Members {
		if slices.Contains(member.PeerURLs, peerURL(c.Network.Node(node))) {
			return do(client, member)
		}
	}
	return do(client, nil)
}

// Leave removes a node for good: its member, its Node and its power.
func (c *Cluster) Leave(ctx context.Context, name string) error {
	err := c.withMember(ctx, name, func(client *clientv3.Client, member *etcdserverpb.Member) error {
		if member == nil {
			return nil
		}
		if _, err := client.MemberRemove(ctx, member.ID); err != nil {
			return fmt.Errorf("remove member %s: %w", name, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := c.Client.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete node %s: %w", name, err)
	}
	c.mu.Lock()
	c.left = append(c.left, name)
	c.mu.Unlock()
	return c.Network.Node(name).PowerOff()
}

// Nodes returns the nodes that have not left, in the order in which they joined.
func (c *Cluster) Nodes() []*nodes.Node {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(c.Network.Nodes(), func(n *nodes.Node) bool { return slices.Contains(c.left, n.Name()) })
}
