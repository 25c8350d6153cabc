// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"errors"
	"io"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"certrotation.dev/test/cluster"
)

// TestLostPort starts a process that ends because another program has its port.
func TestLostPort(t *testing.T) {
	c, err := cluster.Prepare(t.Context(), cluster.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(c.Err(), c.Stop(context.WithoutCancel(t.Context()))); err != nil {
			t.Error(err)
		}
	})
	in := &Installation{Cluster: c, cfg: Config{Progress: io.Discard}, started: map[string]*cluster.Process{}}
	if err := in.loadPorts(apiPort, controllerPort); err != nil {
		t.Fatal(err)
	}
	chosen, attempts := maps.Clone(in.ports), 0
	script, ready := "echo listen: address already in use; exit 1", errors.New("it does not answer")
	if err := in.onFreePorts(func() error {
		attempts++
		_, err := in.start(t.Context(), Serve, "/bin/sh", []string{"-c", script}, func(context.Context) error { return ready }, apiPort)
		script, ready = "exec sleep 300", nil
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if attempts != 2 || in.ports[apiPort] == chosen[apiPort] || in.ports[controllerPort] != chosen[controllerPort] {
		t.Errorf("%d attempts, ports %v, before %v; want a second one with another port of the API", attempts, in.ports, chosen)
	}
	again := &Installation{Cluster: c}
	if err := again.loadPorts(apiPort, controllerPort); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(in.ports, again.ports); diff != "" {
		t.Errorf("ports of another installation here (-want +got):\n%s", diff)
	}
}

// TestLostPortIsGivenUp: onFreePorts gives up after portAttempts lost ports, and at once after another failure.
func TestLostPortIsGivenUp(t *testing.T) {
	c, err := cluster.Prepare(t.Context(), cluster.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		failure error
		want    int
	}{
		"a port that is always lost": {failure: &lostPortsError{ports: []string{apiPort}, cause: errors.New("lost")}, want: portAttempts},
		"another failure":            {failure: errors.New("refused"), want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			in, attempts := &Installation{Cluster: c}, 0
			if err := in.loadPorts(apiPort); err != nil {
				t.Fatal(err)
			}
			err := in.onFreePorts(func() error {
				attempts++
				return test.failure
			})
			if !errors.Is(err, test.failure) || attempts != test.want {
				t.Errorf("%v after %d attempts, want %v after %d", err, attempts, test.failure, test.want)
			}
		})
	}
}
