// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"slices"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// TestRotation rotates an etcd signer under two API servers, while clients make 20 new connections per second and
// others keep theirs. No request may fail, except those to a killed process.
func TestRotation(t *testing.T) {
	a, b := newSigner(t, "signer-a"), newSigner(t, "signer-b")
	w := newRealWorld(t, bundle(a, b), a, bundle(a))
	w.eventually("both API servers are ready", func(s Status) bool { return s.Servers[0].Ready && s.Servers[1].Ready })
	w.createObjects(a)
	first := w.eventually("the API was seen and everything is acknowledged", settledWith(trustOf(t, bundle(a)), 0))
	if first.Servers[0].Crashes+first.Servers[1].Crashes != 0 {
		t.Errorf("API servers crashed at the start: %+v", first.Servers)
	}
	prober, stopProbes := startProbes(t, rest.CopyConfig(w.admin))

	// A bundle of the same anchors restarts nothing.
	w.setBundle(a, a)
	prober.comeBy()

	// The aggregated API is away during the restarts. What is loaded is acknowledged when it is back.
	w.aggregated.away.Store(true)
	w.setBundle(a, b)
	both := trustOf(t, bundle(a, b))
	w.eventually("both API servers trust A and B", func(s Status) bool {
		return s.Waits == "" && slices.Equal(s.Servers[0].Trusts, both) && slices.Equal(s.Servers[1].Trusts, both) && s.Servers[0].Ready && s.Servers[1].Ready
	})
	if s := w.supervisor.Status(); s.Settled || s.AcknowledgeProblem == "" {
		t.Errorf("the aggregated API is away, and the status is %+v", s)
	}
	w.aggregated.away.Store(false)
	w.eventually("acknowledged", settledWith(both, 1))
	w.checkAcknowledged(both, first.Presents)
	prober.comeBy()

	// etcd and its clients present a leaf of B. Nothing restarts.
	w.writeEtcdLeaf(b)
	leafB := w.setLeaf(b)
	w.eventually("the new leaf is acknowledged", func(s Status) bool { return s.Presents == leafB && s.Settled })
	w.checkAcknowledged(both, leafB)
	prober.comeBy()

	// A killed process restarts by itself, with handshakes of the new leaves.
	prober.forgiving.Store(true)
	pid, err := w.supervisor.servers[0].kill()
	if err != nil {
		t.Fatal(err)
	}
	w.eventually("the killed API server is back", func(s Status) bool { return s.Servers[0].Pid != pid && s.Settled })
	prober.forgiving.Store(false)
	prober.comeBy()

	// While restarts are held, the bundle shrinks and no server restarts.
	w.supervisor.rollout.hold(true)
	w.setBundle(b)
	held := w.eventually("restarts are held", func(s Status) bool { return slices.Equal(s.Wanted, trustOf(t, bundle(b))) && s.Waits != "" })
	if !slices.Equal(held.Servers[0].Trusts, both) || !slices.Equal(held.Servers[1].Trusts, both) {
		t.Errorf("held API servers have changed: %+v", held.Servers)
	}
	w.supervisor.rollout.hold(false)
	onlyB := trustOf(t, bundle(b))
	last := w.eventually("both API servers trust B alone", settledWith(onlyB, 2))
	w.checkAcknowledged(onlyB, leafB)
	for _, server := range last.Servers {
		if !server.StartedAt.After(server.TrustWrittenAt) {
			t.Errorf("%s started at %s, before its trust was written at %s", server.Name, server.StartedAt, server.TrustWrittenAt)
		}
		t.Logf("%s: %d restarts, of which %d after a kill", server.Name, server.Restarts, server.Crashes)
	}

	prober.comeBy()
	stopProbes()
	prober.report()
	t.Logf("balancer: %+v", w.supervisor.Status().Connections)
	begun := time.Now()
	w.stop()
	t.Logf("a graceful end of everything: %.1f s", time.Since(begun).Seconds())
	for _, server := range w.supervisor.servers {
		if server.process.Running() {
			t.Errorf("%s still runs", server.Name)
		}
	}
}

func trustOf(t *testing.T, bundlePEM []byte) []string {
	t.Helper()
	_, anchors, err := parseTrust(bundlePEM)
	if err != nil {
		t.Fatal(err)
	}
	return anchors
}

// settledWith reports whether everything is loaded and acknowledged, after so many restarts of each server, without
// those after a death.
func settledWith(anchors []string, restarts int) func(Status) bool {
	return func(s Status) bool {
		for _, server := range s.Servers {
			if server.Restarts-server.Crashes != restarts || !slices.Equal(server.Trusts, anchors) {
				return false
			}
		}
		return s.Settled
	}
}

func (w *realWorld) checkAcknowledged(trusts []string, leaf string) {
	w.t.Helper()
	for _, signer := range []string{"etcd-signer", "etcd-metric-signer"} {
		for _, member := range []string{"kube-apiserver-0", "kube-apiserver-1"} {
			ack, ok := w.aggregated.of(namespace + "/" + signer + "/clients/" + member)
			if !ok || !slices.Equal(ack.Trusts, trusts) || !slices.Equal(ack.Presents, []string{leaf}) || ack.StartedAt.IsZero() {
				w.t.Errorf("%s has %+v of %s, want %v and leaf %s", signer, ack, member, trusts, leaf)
			}
		}
	}
}
