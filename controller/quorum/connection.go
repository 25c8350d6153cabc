// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package quorum

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"certrotation.dev/controller/evidence/connection"
)

// conn is a client of one member.
type conn struct {
	*clientv3.Client
	http     *http.Client
	endpoint *url.URL
	identity *tls.Config
}

// connect makes a client; the connection itself is made by the first request.
func connect(ctx context.Context, endpoint *url.URL, identity *tls.Config) (*conn, error) {
	identity = identity.Clone()
	identity.ServerName = endpoint.Hostname()
	client, err := clientv3.New(clientv3.Config{
		Context:   ctx,
		Endpoints: []string{endpoint.String()},
		TLS:       identity,
		Logger:    zap.NewNop(),
		// The attempt is the only one: a member that needs several is worth knowing.
		MaxUnaryRetries: 1,
		DialOptions:     []grpc.DialOption{grpc.WithNoProxy()},
	})
	if err != nil {
		return nil, err
	}
	return &conn{
		Client: client, endpoint: endpoint, identity: identity,
		http: &http.Client{Transport: &http.Transport{TLSClientConfig: identity.Clone(), ForceAttemptHTTP2: true}},
	}, nil
}

// close ends the connections. What it could say about them does not matter any more.
func (c *conn) close() {
	_ = c.Close()
	c.http.CloseIdleConnections()
}

// failure puts the failure of a request into words. gRPC tells why a connection is broken as a text only, with what is
// different at each attempt.
func (c *conn) failure(ctx context.Context, err error) string {
	if etcd, ok := errors.AsType[rpctypes.EtcdError](rpctypes.Error(err)); ok {
		return etcd.Error()
	}
	switch code := status.Code(err); {
	case ctx.Err() != nil, code == codes.Unknown:
		return connection.Failure(ctx, err)
	case code != codes.Unavailable:
		return "it answers " + code.String()
	}
	if err := c.diagnose(ctx); err != nil {
		return connection.Failure(ctx, err)
	}
	return "the connection is lost"
}

// hearken bounds how long a member may take to refuse a client after the handshake.
const hearken = time.Second

// diagnose connects once more, without gRPC, and returns why that fails, nil if it does not. With TLS 1.3 a member refuses
// a client after the client's part of the handshake. Who has sent something by then may never learn why: so this client
// only listens.
func (c *conn) diagnose(ctx context.Context) error {
	raw, err := (&net.Dialer{}).DialContext(ctx, "tcp", c.endpoint.Host)
	if err != nil {
		return err
	}
	defer raw.Close()
	client := tls.Client(raw, c.identity)
	if err := client.HandshakeContext(ctx); err != nil {
		return err
	}
	if err := client.SetReadDeadline(time.Now().Add(hearken)); err != nil {
		return err
	}
	_, err = client.Read(make([]byte, 1))
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil
	}
	return err
}
