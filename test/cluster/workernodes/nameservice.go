// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package workernodes

import (
	"context"
	"errors"
	"fmt"
	"net"
)

// startNameServer starts the name server at the address that kubelets give to pods.
func (c *Cluster) startNameServer(ctx context.Context) error {
	plane := c.Installation.Cluster
	address := net.JoinHostPort(c.Network.Gateway().String(), "53")
	names := plane.AddProcess("nameserver", c.Binary("nameserver"), "--kubeconfig="+plane.Kubeconfig(), "--listen="+address)
	if _, err := names.StartOrAdopt(ctx); err != nil {
		return fmt.Errorf("%w (`make build` builds it)", err)
	}
	resolver := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", address)
	}}
	return names.WaitReady(ctx, func(ctx context.Context) error {
		_, err := resolver.LookupHost(ctx, "nobody.default.svc.cluster.local.")
		var answer *net.DNSError
		if errors.As(err, &answer) && answer.IsNotFound {
			return nil
		}
		return fmt.Errorf("look up a name that is none: %w", err)
	})
}
