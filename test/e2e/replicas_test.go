// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"certrotation.dev/apis/certrotation/v1alpha1"
	"certrotation.dev/test/cluster"
)

// replicated is a service whose replicas stand behind one address, which is what is probed.
const replicated = `apiVersion: config.certrotation.dev/v1alpha1
kind: RotationConfiguration
metadata: {name: service}
spec:
  preset:
    name: mtls-service
    mtlsService: {clients: [a], serverAddresses: [%q], ipAddresses: [127.0.0.1]}
`

// alternate listens at one address and distributes the connections to the replicas in turn, as a Service does.
func alternate(t *testing.T, replicas []string) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var (
		running sync.WaitGroup
		turn    atomic.Uint32
	)
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(func() {
		cancel()
		_ = listener.Close() // No data was sent that could be lost.
		running.Wait()
	})
	running.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() { join(ctx, client, replicas[int(turn.Add(1))%len(replicas)]) })
		}
	})
	return listener.Addr().String()
}

// join copies both ways until either side closes its connection.
func join(ctx context.Context, client net.Conn, replica string) {
	defer client.Close()
	server, err := (&net.Dialer{}).DialContext(ctx, "tcp", replica)
	if err != nil {
		return
	}
	defer server.Close()
	defer context.AfterFunc(ctx, func() { _ = errors.Join(client.Close(), server.Close()) })()
	var copying sync.WaitGroup
	for _, way := range [][2]net.Conn{{client, server}, {server, client}} {
		copying.Go(func() {
			_, _ = io.Copy(way[0], way[1]) // If one direction ends, the other does too.
			if half, ok := way[0].(*net.TCPConn); ok {
				_ = half.CloseWrite()
			}
		})
	}
	copying.Wait()
}

// startReplica starts a server of the service that listens there, and returns where it is held.
func (s *system) startReplica(t *testing.T, namespace, address string) (control string) {
	t.Helper()
	port, err := cluster.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	process := cluster.NewProcess(cluster.ProcessConfig{
		Name: "replica", Path: s.Binary("mtls-service"), Dir: t.TempDir(),
		Args: []string{
			"server", "--kubeconfig=" + s.Cluster.Kubeconfig(), "--namespace=" + namespace, "--leaf=service-server",
			"--listen=" + address, fmt.Sprintf("--stats=127.0.0.1:%d", port),
		},
	})
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := process.Kill(); err != nil {
			t.Errorf("kill the replica at %s: %v", address, err)
		}
	})
	eventually(t, "the replica listens at "+address, func(ctx context.Context) (bool, string) {
		conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", address)
		if err != nil {
			return false, err.Error()
		}
		return conn.Close() == nil, ""
	})
	return fmt.Sprintf("http://127.0.0.1:%d", port)
}

// TestOneReplicaOfTwoHoldsTheRotation: both replicas answer at the one address that is probed, and only one has
// reloaded. The CA must not be promoted when a probe happens to reach that one.
func TestOneReplicaOfTwoHoldsTheRotation(t *testing.T) {
	s := theSystem(t)
	const namespace = "replicas"
	s.namespace(t, namespace, nil)
	var addresses []string
	for range 2 {
		port, err := cluster.FreePort()
		if err != nil {
			t.Fatal(err)
		}
		addresses = append(addresses, fmt.Sprintf("127.0.0.1:%d", port))
	}
	s.mustConfigure(t, namespace, fmt.Sprintf(replicated, alternate(t, addresses)))
	s.waitHealthy(t, namespace, objectsOfService)
	var held string
	for _, address := range addresses {
		held = s.startReplica(t, namespace, address)
	}
	client := &party{name: "client-a", leaf: "service-client-a", startedAt: time.Now()}

	before := fingerprintOf(s.rotation(t.Context(), t, namespace, signer))
	s.http(t, http.MethodPost, held+"/hold")
	s.must(t, "certrotation", "rotate", "-n", namespace, signer)
	s.blockedBy(t, namespace, "server", "server", client)
	// Two rounds of probes, each of which reaches one replica or the other.
	s.stays(t, namespace, func(c *v1alpha1.CertificateRotation) string {
		if c.Status.Stage != v1alpha1.StageDistributing && c.Status.Stage != v1alpha1.StageReissuing || fingerprintOf(c) != before {
			return fmt.Sprintf("stage %s, CA %s", c.Status.Stage, fingerprintOf(c))
		}
		return ""
	})
	s.http(t, http.MethodPost, held+"/resume")
	s.rotated(t, namespace, before, client)
}
