// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"net"
	"path/filepath"
	"slices"

	"certrotation.dev/test/cluster"
)

// flags returns the arguments of one API server. The supervisor's own are last, because nothing may replace them.
func (c *Config) flags(server Server, s *store, t *trust) ([]string, error) {
	host, port, err := net.SplitHostPort(server.Address)
	if err != nil {
		return nil, err
	}
	return slices.Concat(cluster.GracefulFlags(), c.Flags, server.Flags, []string{
		"--bind-address=" + host,
		"--secure-port=" + port,
		"--etcd-cafile=" + t.file,
		"--etcd-certfile=" + filepath.Join(s.dir, leafPointer, fileCertificate),
		"--etcd-keyfile=" + filepath.Join(s.dir, leafPointer, fileKey),
	}), nil
}
