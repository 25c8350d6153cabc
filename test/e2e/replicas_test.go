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
	"testing"
	"time"

	"certrotation.dev/apis/certrotation/v1alpha1"
	"certrotation.dev/test/cluster"
)

// replicated is a service whose replicas share one address, with the shortest probe interval.
const replicated = `apiVersion: config.certrotation.dev/v1alpha1
kind: RotationConfiguration
metadata: {name: service}
spec:
  trustDomains:
  - name: service
    signer: {secretName: service-signer}
    bundle: {configMapName: service-ca-bundle}
    leaves:
    - {secretName: service-server, usages: [ServerAuth], dnsNames: [localhost], ipAddresses: [127.0.0.1]}
    - {secretName: service-client-a, usages: [ClientAuth], commonName: client-a}
    relyingParties:
    - name: server
      verifies: {usages: [ClientAuth]}
      presents: [service-server]
      evidence: {kind: tlsProbe, tlsProbe: {endpoints: [{address: %q}], serverName: localhost, clientLeaf: service-client-a, interval: 1s}}
    - {name: client-a, verifies: {usages: [ServerAuth]}, presents: [service-client-a], evidence: {kind: acknowledgement}}
`

// objectsOfReplicated is the number of objects that the API shows for replicated.
const objectsOfReplicated = 4

// balancer distributes the connections to its address over the replicas in turn, as a Service does.
type balancer struct {
	address string

	mu       sync.Mutex
	replicas []string
	accepted int
}

func (b *balancer) add(replica string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.replicas = append(b.replicas, replica)
}

// next returns the replica for the next connection, "" if there is none.
func (b *balancer) next() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.accepted++
	if len(b.replicas) == 0 {
		return ""
	}
	return b.replicas[b.accepted%len(b.replicas)]
}

func (b *balancer) connections() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.accepted
}

func startBalancer(t *testing.T) *balancer {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &balancer{address: listener.Addr().String()}
	var running sync.WaitGroup
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
			running.Go(func() { join(ctx, client, b.next()) })
		}
	})
	return b
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

// startReplica starts a server of the service, and returns its address and the address that controls it. It tries
// other ports if another program took one.
func (s *system) startReplica(t *testing.T, namespace string) (address, control string) {
	t.Helper()
	for {
		address, control = freeAddress(t), freeAddress(t)
		process := cluster.NewProcess(cluster.ProcessConfig{
			Name: "replica", Path: s.Binary("mtls-service"), Dir: t.TempDir(),
			Args: []string{
				"server", "--kubeconfig=" + s.Cluster.Kubeconfig(), "--namespace=" + namespace, "--leaf=service-server",
				"--listen=" + address, "--stats=" + control,
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
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		err := process.WaitReady(ctx, func(ctx context.Context) error {
			conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
			if err != nil {
				return err
			}
			return conn.Close()
		})
		cancel()
		switch {
		case err == nil:
			return address, "http://" + control
		case !process.LostPort():
			t.Fatal(err)
		}
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	port, err := cluster.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("127.0.0.1:%d", port)
}

// TestOneReplicaOfTwoHoldsTheRotation: both replicas answer at the probed address, and only one has reloaded. A
// probe that happens to reach only that one must not promote the CA.
func TestOneReplicaOfTwoHoldsTheRotation(t *testing.T) {
	t.Parallel()
	theSystem(t).heldByReplica(t, "replica-holds")
}

// TestExtendedReplicasThatAgreeEndTheRotation takes more than a minute, because the answers of all probes must
// agree for that long.
func TestExtendedReplicasThatAgreeEndTheRotation(t *testing.T) {
	t.Parallel()
	s := theSystem(t)
	const namespace = "replicas-agree"
	before, held, client := s.heldByReplica(t, namespace)
	s.http(t, http.MethodPost, held+"/resume")
	s.rotated(t, namespace, before, client)
}

// heldByReplica begins a rotation that a replica holds. It returns the fingerprint of the CA before, the control
// address of the replica, and the client.
func (s *system) heldByReplica(t *testing.T, namespace string) (before, held string, client *party) {
	t.Helper()
	s.namespace(t, namespace, nil)
	service := startBalancer(t)
	s.mustConfigure(t, namespace, fmt.Sprintf(replicated, service.address))
	s.waitHealthy(t, namespace, objectsOfReplicated)
	for range 2 {
		var address string
		address, held = s.startReplica(t, namespace)
		service.add(address)
	}
	client = &party{name: "client-a", leaf: "service-client-a", startedAt: time.Now()}

	before = fingerprintOf(s.rotation(t.Context(), t, namespace, signer))
	s.http(t, http.MethodPost, held+"/hold")
	s.must(t, "certrotation", "rotate", "-n", namespace, signer)
	s.blockedBy(t, namespace, "server", "server", client)
	for range 3 {
		probed := service.connections()
		eventually(t, "both replicas are probed", func(context.Context) (bool, string) {
			return service.connections() >= probed+4, fmt.Sprintf("%d connections, %d before", service.connections(), probed)
		})
		s.stays(t, namespace, "service-client-a", func(c *v1alpha1.CertificateRotation) string {
			if c.Status.Stage != v1alpha1.StageDistributing && c.Status.Stage != v1alpha1.StageReissuing || fingerprintOf(c) != before {
				return fmt.Sprintf("stage %s, CA %s", c.Status.Stage, fingerprintOf(c))
			}
			return ""
		})
	}
	return before, held, client
}
