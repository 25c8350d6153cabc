// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"

	"certrotation.dev/apis/certrotation/v1alpha1"
	"certrotation.dev/test/cluster/nodes"
)

// settled waits until both signers are Stable with one anchor each. Every running process of every member must
// accept exactly that anchor, present the leaf of its Secret, and be counted among the starts. settled uses only
// handshakes, the API and the nodes' containerd.
func (s *system) settled(ctx context.Context) error {
	return eventually(ctx, func(ctx context.Context) error {
		for _, signer := range []string{etcdSigner, metricSigner} {
			row, err := s.row(ctx, signer)
			if err != nil {
				return err
			}
			if row.Status.Stage != v1alpha1.StageStable {
				return fmt.Errorf("%s is in the stage %s, blockers %+v", signer, row.Status.Stage, row.Status.Blockers)
			}
		}
		for _, node := range s.Nodes() {
			if err := s.memberSettled(ctx, node); err != nil {
				return fmt.Errorf("%s: %w", node.Name(), err)
			}
		}
		return nil
	})
}

func (s *system) memberSettled(ctx context.Context, node *nodes.Node) error {
	for _, port := range []struct{ port, leaf, bundle, client string }{
		{clientPort, "etcd-serving-" + node.Name(), "etcd-ca-bundle", "etcd-client"},
		{peerPort, "etcd-peer-" + node.Name(), "etcd-ca-bundle", "etcd-client"},
		{metricsPort, "etcd-serving-metrics-" + node.Name(), "etcd-metrics-ca-bundle", "etcd-metric-client"},
	} {
		accepts, presents, err := s.handshake(ctx, net.JoinHostPort(node.IP().String(), port.port), port.client, port.bundle)
		if err != nil {
			return fmt.Errorf("port %s: %w", port.port, err)
		}
		anchors, err := s.objects.anchors(port.bundle)
		if err != nil {
			return err
		}
		if len(anchors) != 1 || len(accepts) != 1 || !bytes.Equal(accepts[0], anchors[0].RawSubject) {
			return fmt.Errorf("port %s accepts %d CAs, the bundle has %d", port.port, len(accepts), len(anchors))
		}
		pair, err := s.objects.pair(port.leaf)
		if err != nil {
			return err
		}
		if !bytes.Equal(pair.Certificate[0], presents) {
			return fmt.Errorf("port %s does not present the leaf of Secret %s", port.port, port.leaf)
		}
		if pair.Leaf.CheckSignatureFrom(anchors[0]) != nil {
			return fmt.Errorf("the leaf %s is not signed by the only anchor", port.leaf)
		}
	}
	return s.counted(ctx, node)
}

// counted returns nil if the API knows the running container of etcd. A mirror pod lags behind its node by a
// second or more.
func (s *system) counted(ctx context.Context, node *nodes.Node) error {
	running, err := node.RunningContainer(ctx, "etcd-"+node.Name(), "etcd")
	if err != nil {
		return err
	}
	if known := s.objects.newest(node.Name()); known != "containerd://"+running.ID {
		return fmt.Errorf("container %s of etcd runs, the newest in the API is %q", running.ID, known)
	}
	return nil
}

// handshake returns the subjects of the CAs that a running server accepts, and the leaf that it presents.
func (s *system) handshake(ctx context.Context, address, leaf, bundle string) (accepts [][]byte, presents []byte, err error) {
	config, err := s.objects.volumes.client(leaf, bundle)()
	if err != nil {
		return nil, nil, err
	}
	pair := config.Certificates[0]
	config.Certificates = nil
	config.GetClientCertificate = func(request *tls.CertificateRequestInfo) (*tls.Certificate, error) {
		accepts = slices.Clone(request.AcceptableCAs)
		return &pair, nil
	}
	conn, err := (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, nil, err
	}
	defer conn.Close()
	client, ok := conn.(*tls.Conn)
	if !ok {
		return nil, nil, errors.New("no TLS connection")
	}
	return accepts, client.ConnectionState().PeerCertificates[0].Raw, nil
}
