// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package quorum

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"certrotation.dev/controller/evidence/connection"
)

// conn is a client of one member.
type conn struct {
	*clientv3.Client
	http     *http.Client
	endpoint *url.URL
	broken   *lastError
}

// connect makes a client; the connection itself is made by the first request.
func connect(ctx context.Context, endpoint *url.URL, identity *tls.Config) (*conn, error) {
	identity = identity.Clone()
	identity.ServerName = endpoint.Hostname()
	broken := &lastError{}
	client, err := clientv3.New(clientv3.Config{
		Context:   ctx,
		Endpoints: []string{endpoint.String()},
		TLS:       identity,
		Logger:    zap.NewNop(),
		// The attempt is the only one: a member that needs several is worth knowing.
		MaxUnaryRetries: 1,
		DialOptions: []grpc.DialOption{
			grpc.WithNoProxy(),
			grpc.WithContextDialer(broken.dial),
			grpc.WithTransportCredentials(&observedTLS{TransportCredentials: credentials.NewTLS(identity), broken: broken}),
		},
	})
	if err != nil {
		return nil, err
	}
	return &conn{
		Client: client, endpoint: endpoint, broken: broken,
		http: &http.Client{Transport: &http.Transport{TLSClientConfig: identity.Clone(), ForceAttemptHTTP2: true}},
	}, nil
}

// close ends the connections. What it could say about them does not matter any more.
func (c *conn) close() {
	_ = c.Close()
	c.http.CloseIdleConnections()
}

// failure puts the failure of a request into words.
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
	if broken := c.broken.get(); broken != nil {
		return connection.Failure(ctx, broken)
	}
	return "the connection is lost"
}

// lastError remembers why the connection is broken, which gRPC tells as a text only.
type lastError struct {
	mu  sync.Mutex
	err error
}

func (l *lastError) set(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = err
}

func (l *lastError) get() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

func (l *lastError) dial(ctx context.Context, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		l.set(err)
	}
	return conn, err
}

// observedTLS remembers how a handshake failed. With TLS 1.3 the refusal of a client comes with the first read after it.
type observedTLS struct {
	credentials.TransportCredentials
	broken *lastError
}

func (o *observedTLS) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := o.TransportCredentials.ClientHandshake(ctx, authority, raw)
	if err != nil {
		o.broken.set(err)
		return conn, info, err
	}
	return &observedConn{Conn: conn, broken: o.broken}, info, nil
}

func (o *observedTLS) Clone() credentials.TransportCredentials {
	return &observedTLS{TransportCredentials: o.TransportCredentials.Clone(), broken: o.broken}
}

type observedConn struct {
	net.Conn
	broken *lastError
}

func (o *observedConn) Read(b []byte) (int, error) {
	n, err := o.Conn.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		o.broken.set(err)
	}
	return n, err
}
