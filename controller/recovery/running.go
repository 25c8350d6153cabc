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
	// A kubelet that has not reached an API server since it started does not end a pod whose manifest is moved away.
	const next = "stop it first: stop kubelet (systemctl stop kubelet) and then the pod (crictl stopp $(crictl pods --quiet --name NAME)); start kubelet again afterwards"
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
