// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// nobody is a hardware address that no interface has: the addresses of nodes start with 02:00:0a (see connect).
const nobody = "02:00:00:00:00:01"

// Isolate cuts this node off from other nodes, or from all nodes, also later ones, if none is named. Packets between
// them are lost in both directions without an error, as in a broken network. The machine (the gateway, and so
// kube-apiserver) stays reachable from both sides. The cut lasts until Reconnect, also over a loss of power.
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

// Reconnect ends every Isolate of this node, and every Isolate of another node that names it. A node that is isolated
// from all stays isolated.
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

// cutSet holds which nodes do not reach each other.
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

// applyCuts writes the cuts to the neighbor table of each running node. The kernel drops packets to a neighbor with
// the hardware address of nobody, so no packet filter is needed. The caller holds w.cutting.
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
			if err := n.setCut(ctx, other, cut); err != nil {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

// setCut cuts a node off another one, or ends that. After a failure it is still to be done.
func (n *Node) setCut(ctx context.Context, other *Node, cut bool) error {
	if !cut {
		if _, err := n.Exec(ctx, "ip", "neighbour", "delete", other.IP().String(), "dev", "eth0"); err != nil {
			return err
		}
		n.cutFrom = slices.DeleteFunc(n.cutFrom, func(name string) bool { return name == other.name })
		return nil
	}
	if _, err := n.Exec(ctx, "ip", "neighbour", "replace", other.IP().String(), "lladdr", nobody, "dev", "eth0", "nud", "permanent"); err != nil {
		return err
	}
	n.cutFrom = append(n.cutFrom, other.name)
	return nil
}
