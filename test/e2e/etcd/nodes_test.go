// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/sys/unix"

	"certrotation.dev/test/cluster/nodes"
)

// join adds a node with a voting member until the test ends.
func (s *system) join(t *testing.T, name string) {
	t.Helper()
	node, err := s.Join(t.Context(), name)
	if node != nil {
		t.Cleanup(func() { s.leave(t, name) })
	}
	if err != nil {
		t.Fatal(err)
	}
	until(t.Context(), t, name+" has a vote", func(ctx context.Context) error { return s.Promote(ctx, name) })
}

// leave removes a node in any state, because the other tests run without it.
func (s *system) leave(t *testing.T, name string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	defer cancel()
	if err := eventually(ctx, func(ctx context.Context) error { return s.Leave(ctx, name) }); err != nil {
		t.Errorf("%s does not leave: %v", name, err)
		return
	}
	if err := s.settled(ctx); err != nil {
		t.Errorf("after %s has left: %v", name, err)
	}
}

// healthy reads linearizably through one member.
func (s *system) healthy(ctx context.Context, member string) error {
	client, err := s.Etcd(ctx)
	if err != nil {
		return err
	}
	defer client.Close()
	client.SetEndpoints(fmt.Sprintf("https://%s:%s", s.Network.Node(member).IP(), clientPort))
	_, err = client.Get(ctx, "health", clientv3.WithCountOnly())
	return err
}

// cutPower waits until the installer writes to a node, powers the node off, and on again.
func cutPower(t *testing.T, node *nodes.Node, written *os.File) error {
	if err := written.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	if _, err := written.Read(make([]byte, 4096)); err != nil {
		return fmt.Errorf("wait for an installer to write to %s: %w", node.Name(), err)
	}
	if err := node.PowerOff(); err != nil {
		return err
	}
	t.Logf("at the loss of power %s had %s", node.Name(), disk(node))
	return node.PowerOn(t.Context())
}

// watchForWrite watches the directory of the revisions of a node. A read from the file returns when an entry
// appears in the directory.
func watchForWrite(node *nodes.Node) (*os.File, error) {
	watch, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("start inotify: %w", err)
	}
	file := os.NewFile(uintptr(watch), "inotify")
	if _, err := unix.InotifyAddWatch(watch, node.Path("/etc/kubernetes/static-pod-resources"), unix.IN_CREATE|unix.IN_MOVED_TO); err != nil {
		return nil, errors.Join(fmt.Errorf("watch the revisions of %s: %w", node.Name(), err), file.Close())
	}
	return file, nil
}

func disk(node *nodes.Node) []string {
	var out []string
	found, err := filepath.Glob(node.Path("/etc/kubernetes/static-pod-resources/*/*"))
	if err != nil {
		return []string{err.Error()}
	}
	for _, path := range found {
		if rel, err := filepath.Rel(node.Path("/etc/kubernetes/static-pod-resources"), path); err == nil {
			out = append(out, rel)
		}
	}
	return out
}
