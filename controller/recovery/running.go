// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"context"
	"fmt"
	"net"
	"time"

	"certrotation.dev/registry/diagnosis"
)

const dialTimeout = 2 * time.Second

// refuseRunning fails with ErrRunning while etcd listens where the manifest says, or has its data open.
func refuseRunning(ctx context.Context, m *diagnosis.Manifest, dataDirectory string) error {
	const next = "stop it first: move the manifest out of the directory of the manifests (this command finds its copy) and wait until the container is gone"
	for _, address := range m.Listens {
		ctx, cancel := context.WithTimeout(ctx, dialTimeout)
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		cancel()
		if err == nil {
			conn.Close()
			return fmt.Errorf("something listens on %s: %w; %s", address, ErrRunning, next)
		}
	}
	if dataDirectory == "" || !hasEtcdData(dataDirectory) {
		return nil
	}
	data, err := openEtcdData(dataDirectory)
	if err != nil {
		return fmt.Errorf("%w; %s", err, next)
	}
	return data.Close()
}
