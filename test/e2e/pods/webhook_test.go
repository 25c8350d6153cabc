// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"net"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/test/cluster/workernodes"
)

const betweenCalls = 50 * time.Millisecond

// TestWebhookIsCalledWhileItRotates: a webhook that fails closed is called 20 times a second, while its CA is
// rotated and its leaf renewed. No call fails.
func TestWebhookIsCalledWhileItRotates(t *testing.T) {
	t.Parallel()
	rotateWhileCalled(t, 2, 3)
}

// TestExtendedWebhookIsCalledWhileItRotates does the same with more rotations.
func TestExtendedWebhookIsCalledWhileItRotates(t *testing.T) { rotateWhileCalled(t, 10, 10) }

// rotateWhileCalled rotates the CA, and renews the leaf after each rotation.
func rotateWhileCalled(t *testing.T, rotations, renewals int) {
	t.Helper()
	s := theSystem(t).of(workernodes.WebhookNamespace, "parcels-signer")
	leaf := s.of(s.namespace, "parcels-server")
	s.callWebhook(t)
	before, begun := s.calls(t), time.Now()
	for range rotations {
		s.rotated(t, s.rotate(t))
		for range renewals {
			former := leaf.rotate(t)
			until(t, "every server presents the next leaf", func(ctx context.Context) error { return s.presentAnother(ctx, former) })
		}
	}
	var now counted
	until(t, "it was called as often as something has changed, and once more", func(context.Context) error {
		if now = s.calls(t); now.Handshakes-before.Handshakes <= int64(rotations*(renewals+1)) {
			return fmt.Errorf("there were %d calls", now.Handshakes-before.Handshakes)
		}
		return nil
	})
	failed, network := now.failedSince(before)
	t.Logf("%d calls in %.0f s, failed: %v, of the network: %v, while the CA was rotated %d times and the leaf renewed %d times",
		now.Handshakes-before.Handshakes, time.Since(begun).Seconds(), failed, network, rotations, rotations*renewals)
	if len(failed) > 0 {
		t.Errorf("calls failed: %v", failed)
	}
}

// callWebhook runs the sample webhook-server and calls it until the end of the test.
func (s *system) callWebhook(t *testing.T) {
	t.Helper()
	t.Cleanup(func() {
		s.tellIfFailed(t)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		if err := s.endSamples(ctx, s.namespace); err != nil {
			t.Errorf("end the sample webhook-server: %v", err)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := s.InstallWebhook(ctx, "--pause="+betweenCalls.String()); err != nil {
		t.Fatal(err)
	}
}

// calls counts the calls of the webhook alone. The counters of the sample include failures caused by ending
// scenarios.
func (s *system) calls(t *testing.T) counted {
	t.Helper()
	now, err := countedAt(t.Context(), s.WitnessURL(workernodes.Caller))
	if err != nil {
		t.Fatal(err)
	}
	return now
}

func (s *system) presentAnother(ctx context.Context, former string) error {
	servers, err := s.ready(ctx, "parcels")
	if err != nil {
		return err
	}
	for i := range servers {
		presented, err := s.presentedBy(ctx, &servers[i])
		if err != nil {
			return err
		}
		if presented == former {
			return fmt.Errorf("%s presents the former one", servers[i].Name)
		}
	}
	return nil
}

func (s *system) presentedBy(ctx context.Context, pod *corev1.Pod) (string, error) {
	// Only the identity of the leaf matters here. The calls of the webhook test whether it is trusted.
	dialer := &tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(pod.Status.PodIP, "9443"))
	if err != nil {
		return "", fmt.Errorf("connect to %s: %w", pod.Name, err)
	}
	defer conn.Close()
	sum := sha256.Sum256(conn.(*tls.Conn).ConnectionState().PeerCertificates[0].Raw)
	return hex.EncodeToString(sum[:]), nil
}
