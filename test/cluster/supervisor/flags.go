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
//   - shutdown-watch-termination-grace-period: watches end in order, and not all at once.
//
// After the delay the server says goodbye (GOAWAY) on each connection, and clients make a new one. A request that crosses
// the goodbye is answered by 503 with Retry-After, which client-go obeys. shutdown-send-retry-after is left out: it keeps a
// listener open that the balancer does not need any more, and each connection from before gets a 429 that tells its client
// to pause for 5 s, where the goodbye alone mostly costs nothing.
func gracefulFlags() []string {
	return []string{"--shutdown-delay-duration=2s", "--shutdown-watch-termination-grace-period=5s"}
}

// flags are the arguments of one API server. Ours are last, because they must not be replaced.
func (c *Config) flags(server Server, s *store, t *trust) ([]string, error) {
	host, port, err := net.SplitHostPort(server.Address)
	if err != nil {
		return nil, err
	}
	return slices.Concat(gracefulFlags(), c.Flags, server.Flags, []string{
		"--bind-address=" + host,
		"--secure-port=" + port,
		"--etcd-cafile=" + t.file,
		"--etcd-certfile=" + filepath.Join(s.dir, leafPointer, fileCertificate),
		"--etcd-keyfile=" + filepath.Join(s.dir, leafPointer, fileKey),
	}), nil
}
