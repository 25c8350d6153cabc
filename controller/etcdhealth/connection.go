// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package etcdhealth

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/controller/dial"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// conn is a connection to one member.
type conn struct {
	*clientv3.Client
	http           *http.Client
	endpoint       *url.URL
	identity       *tls.Config
	dial           dialFunc
	failures       *dial.Failures
	refusalTimeout time.Duration
	// proven is set once the server has proven, with a leaf that the bundle verifies, that it is a member.
	proven *atomic.Bool
}

// connect creates a client. The first request opens the connection.
func (c *Checker) connect(ctx context.Context, endpoint *url.URL, identity *tls.Config) (*conn, error) {
	out := &conn{endpoint: endpoint, dial: c.dial, failures: c.failures, refusalTimeout: c.refusalTimeout, proven: &atomic.Bool{}}
	identity = identity.Clone()
	identity.ServerName = cmp.Or(identity.ServerName, endpoint.Hostname())
	if present := identity.GetClientCertificate; present != nil {
		// TLS calls it after it has verified the server's certificate and its possession of the key.
		identity.GetClientCertificate = func(request *tls.CertificateRequestInfo) (*tls.Certificate, error) {
			out.proven.Store(true)
			return present(request)
		}
	}
	client, err := clientv3.New(clientv3.Config{
		Context: ctx,
		// The client verifies the leaf against the host of this URL, not against the ServerName of TLS.
		Endpoints: []string{"https://" + net.JoinHostPort(identity.ServerName, endpoint.Port())},
		TLS:       identity,
		Logger:    zap.NewNop(),
		// One attempt only, so that a member that needs several shows up as failing.
		MaxUnaryRetries: 1,
		DialOptions: []grpc.DialOption{
			grpc.WithNoProxy(),
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return c.dial(ctx, "tcp", endpoint.Host) }),
		},
	})
	if err != nil {
		return nil, err
	}
	out.Client, out.identity = client, identity
	out.http = &http.Client{
		Transport: &http.Transport{TLSClientConfig: identity.Clone(), ForceAttemptHTTP2: true, DialContext: c.dial},
		// A redirect must not let another member answer.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return out, nil
}

func (c *conn) close() {
	_ = c.Close()
	c.http.CloseIdleConnections()
}

// failure describes a failed request. gRPC reports why a connection broke only as a text that differs at each
// attempt.
func (c *conn) failure(ctx context.Context, err error) string {
	if c.proven.Load() {
		return c.answered(ctx, err)
	}
	if ctx.Err() == nil {
		if cause := c.diagnose(ctx); cause != nil {
			err = cause
		}
	}
	return c.told(ctx, err)
}

// told returns the public description of a failed connection. For an unproven server, the details go to the log only.
func (c *conn) told(ctx context.Context, err error) string {
	c.failures.Count(ctx, err)
	detail := dial.Failure(ctx, err)
	if c.proven.Load() {
		return detail
	}
	klog.FromContext(ctx).Info("A member of etcd cannot be asked", "endpoint", c.endpoint.Host, "met", detail)
	return dial.Told(err)
}

// answered describes the failure of a request to a proven member.
func (c *conn) answered(ctx context.Context, err error) string {
	if etcd, ok := errors.AsType[rpctypes.EtcdError](rpctypes.Error(err)); ok {
		return etcd.Error()
	}
	switch code := status.Code(err); {
	case ctx.Err() != nil, code == codes.Unknown:
		return c.told(ctx, err)
	case code != codes.Unavailable:
		return "it answers " + code.String()
	}
	if err := c.diagnose(ctx); err != nil {
		return c.told(ctx, err)
	}
	return "the connection is lost"
}

// diagnose connects once more without gRPC and returns why that fails, or nil. With TLS 1.3 a member refuses a client
// after the client's part of the handshake. A client that has sent data by then may never learn why, so this one only
// reads.
func (c *conn) diagnose(ctx context.Context) error {
	raw, err := c.dial(ctx, "tcp", c.endpoint.Host)
	if err != nil {
		return err
	}
	defer raw.Close()
	client := tls.Client(raw, c.identity)
	if err := client.HandshakeContext(ctx); err != nil {
		return err
	}
	c.proven.Store(true)
	if err := client.SetReadDeadline(time.Now().Add(c.refusalTimeout)); err != nil {
		return err
	}
	_, err = client.Read(make([]byte, 1))
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil
	}
	return err
}

// identity reads the client leaf and the bundle from the API server, not from a cache.
func (c *Checker) identity(ctx context.Context, namespace, configuration string, q *configv1alpha1.Quorum) (*tls.Config, error) {
	secret, err := c.client.CoreV1().Secrets(namespace).Get(ctx, q.ClientLeaf, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read client leaf of the quorum check Secret %s/%s: %w", namespace, q.ClientLeaf, err)
	}
	if !trust.Consents(secret.Annotations, configuration) {
		return nil, unadopted("client leaf of the quorum check Secret", namespace, q.ClientLeaf, configuration)
	}
	leaf, err := inventory.ActivePair(secret.Data)
	if err != nil {
		return nil, fmt.Errorf(
			"client leaf of the quorum check Secret %s/%s is no usable pair: %w; delete it to have it issued anew", namespace, q.ClientLeaf, err)
	}
	pair, err := dial.Certificate(leaf)
	if err != nil {
		return nil, fmt.Errorf("present the client leaf of the quorum check Secret %s/%s: %w", namespace, q.ClientLeaf, err)
	}
	bundle, err := c.client.CoreV1().ConfigMaps(namespace).Get(ctx, q.BundleConfigMapName, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read bundle of the quorum check ConfigMap %s/%s: %w", namespace, q.BundleConfigMapName, err)
	}
	if !trust.Consents(bundle.Annotations, configuration) {
		return nil, unadopted("bundle of the quorum check ConfigMap", namespace, q.BundleConfigMapName, configuration)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(bundle.Data[inventory.BundleKey])) {
		return nil, fmt.Errorf("bundle of the quorum check ConfigMap %s/%s has no certificate under %s; delete it to have it rebuilt",
			namespace, q.BundleConfigMapName, inventory.BundleKey)
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12, RootCAs: roots, Time: c.clock.Now, ServerName: q.ServerName,
		// Presents the leaf even to a member that does not accept its CA, so that the member reports what is wrong
		// with it.
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil },
	}, nil
}

func unadopted(what, namespace, name, configuration string) error {
	return fmt.Errorf("%s %s/%s does not consent to RotationConfiguration/%s: run `kubectl certrotation adopt -n %s %s`",
		what, namespace, name, configuration, namespace, configuration)
}
