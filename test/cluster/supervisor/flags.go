// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"net"
	"path/filepath"
	"slices"
)

// gracefulFlags let an API server end without a failed request, once it was taken out of the balancer:
//
//   - shutdown-delay-duration: it goes on as before for clients whose connection was being made when it was taken out.
//   - shutdown-send-retry-after: afterwards a request on a connection from before is answered by 429 with Retry-After and the
//     connection is closed by GOAWAY, instead of being broken under a request; client-go and kubectl repeat it by themselves.
//   - shutdown-watch-termination-grace-period: watches end in order, and not all at once.
func gracefulFlags() []string {
	return []string{
		"--shutdown-delay-duration=2s",
		"--shutdown-send-retry-after=true",
		"--shutdown-watch-termination-grace-period=5s",
	}
}

// flags are the arguments of one API server. Ours are last, because they must not be replaced.
func (c *Config) flags(server Server, s *store, t *trust) ([]string, error) {
	host, port, err := net.SplitHostPort(server.Address)
	if err != nil {
		return nil, err
	}
	return slices.Concat(gracefulFlags(), c.Flags, []string{
		"--bind-address=" + host,
		"--secure-port=" + port,
		"--etcd-cafile=" + t.file,
		"--etcd-certfile=" + filepath.Join(s.dir, leafPointer, fileCertificate),
		"--etcd-keyfile=" + filepath.Join(s.dir, leafPointer, fileKey),
	}), nil
}
