// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"certrotation.dev/test/cluster/nodes"
)

// keyOfData is the key that the test writes to etcd before everything expires.
const keyOfData = "/recovery/data"

// material are the files of a client of etcd.
type material struct{ bundle, cert, key []byte }

// materialIn reads the files that `certrotation render` and `certrotation recover` write, under the same names.
func materialIn(dir string) (m material, err error) {
	for name, to := range map[string]*[]byte{"etcd-ca-bundle.crt": &m.bundle, "etcd-client.crt": &m.cert, "etcd-client.key": &m.key} {
		if *to, err = os.ReadFile(filepath.Join(dir, name)); err != nil {
			return m, err
		}
	}
	return m, nil
}

// writeTo writes the files to the directory from which the kube-apiservers' supervisor starts.
func (m *material) writeTo(dir string) error {
	var errs []error
	for name, content := range map[string][]byte{"etcd-ca-bundle.crt": m.bundle, "etcd-client.crt": m.cert, "etcd-client.key": m.key} {
		errs = append(errs, os.WriteFile(filepath.Join(dir, name), content, 0o600))
	}
	return errors.Join(errs...)
}

// client connects to one member. The caller closes it.
func (m *material) client(node *nodes.Node) (*clientv3.Client, error) {
	pair, err := tls.X509KeyPair(m.cert, m.key)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(m.bundle)
	return clientv3.New(clientv3.Config{
		Endpoints: []string{"https://" + net.JoinHostPort(node.IP().String(), "2379")}, DialTimeout: 2 * time.Second, Logger: zap.NewNop(),
		TLS: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots, Certificates: []tls.Certificate{pair}},
	})
}

// read reads the data written before through one member, which needs a quorum.
func (m *material) read(ctx context.Context, node *nodes.Node) error {
	client, err := m.client(node)
	if err != nil {
		return err
	}
	defer client.Close()
	got, err := client.Get(ctx, keyOfData)
	if err != nil {
		return err
	}
	if len(got.Kvs) != 1 || string(got.Kvs[0].Value) != "kept" {
		return fmt.Errorf("%s has lost what was written: %v", node.Name(), got.Kvs)
	}
	return nil
}

func listens(ctx context.Context, node *nodes.Node) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(node.IP().String(), "2380"))
	if err != nil {
		return err
	}
	return conn.Close()
}
