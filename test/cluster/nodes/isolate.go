// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// nobody is a hardware address that no interface has: those of nodes start with 02:00:0a (see connect).
const nobody = "02:00:00:00:00:01"

// Isolate cuts this node off from other nodes (from all of them, also those added later, when none is named): packets
// between them are lost without an error, in both directions, as in a broken network. The machine (the gateway, and so
// kube-apiserver) stays within reach of both sides. It stays so over a loss of power, until Reconnect.
func (n *Node) Isolate(ctx context.Context, others ...string) error {
	return n.network.changeCuts(ctx, func(cuts *cutSet) error {
		if len(others) == 0 {
			cuts.all[n.name] = true
			return nil
		}
		for _, other := range others {
			if other == n.name || n.network.Node(other) == nil {
				return fmt.Errorf("isolate %s from %q: there is no such other node", n.name, other)
			}
			cuts.pairs[pair(n.name, other)] = true
		}
		return nil
	})
}

// Reconnect ends what Isolate did, for this node and every other one. Where the other node was itself told to be isolated
// from all, that stays.
func (n *Node) Reconnect(ctx context.Context) error {
	return n.network.changeCuts(ctx, func(cuts *cutSet) error {
		delete(cuts.all, n.name)
		for p := range cuts.pairs {
			if p[0] == n.name || p[1] == n.name {
				delete(cuts.pairs, p)
			}
		}
		return nil
	})
}

// cutSet is which nodes do not reach each other.
type cutSet struct {
	all   map[string]bool
	pairs map[[2]string]bool
}

func (c *cutSet) between(a, b string) bool { return c.all[a] || c.all[b] || c.pairs[pair(a, b)] }

func pair(a, b string) [2]string { return [2]string{min(a, b), max(a, b)} }

func (w *Network) changeCuts(ctx context.Context, change func(*cutSet) error) error {
	w.cutting.Lock()
	defer w.cutting.Unlock()
	if err := change(&w.cuts); err != nil {
		return err
	}
	return w.applyCuts(ctx)
}

// applyCuts makes each running node's table of neighbours what cuts says. A neighbour behind the hardware address of
// nobody gets no packet; the kernel needs no packet filter for that. The caller holds w.cutting.
func (w *Network) applyCuts(ctx context.Context) error {
	var errs []error
	all := w.Nodes()
	for _, n := range all {
		if !n.Running() {
			continue
		}
		for _, other := range all {
			if other == n {
				continue
			}
			cut := w.cuts.between(n.name, other.name)
			if cut == slices.Contains(n.cutFrom, other.name) {
				continue
			}
			var err error
			if cut {
				_, err = n.Exec(ctx, "ip", "neighbour", "replace", other.IP().String(), "lladdr", nobody, "dev", "eth0", "nud", "permanent")
				n.cutFrom = append(n.cutFrom, other.name)
			} else {
				_, err = n.Exec(ctx, "ip", "neighbour", "delete", other.IP().String(), "dev", "eth0")
				n.cutFrom = slices.DeleteFunc(n.cutFrom, func(name string) bool { return name == other.name })
			}
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
