// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"maps"
	"slices"
	"time"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// process is one running member, in every party of every domain that has a member of its name. What it trusts and
// presents changes only when it loads.
type process struct {
	name string
	// up says that it runs; what is down presents nothing.
	up bool
	// reachable says that it can be probed and can report. Its peers reach it in any case.
	reachable bool
	startedAt time.Time
	// pools are the anchors by domain, leaves what it presents by Secret.
	pools  map[string]*pool
	leaves map[string]*pki.Certificate
	// before is what it had before it loaded last: a backup of its disk.
	before *disk
	// behind is since when something is there that it has not loaded, zero if nothing is.
	behind time.Time
	// off is how far its clock is from the true time.
	off time.Duration
	// graceful says that it is in a party of the kind gracePeriod, renewed that it is in one of that kind.
	graceful, renewed bool
	// pending are reports that were made and have not arrived, by domain and party.
	pending map[membership]*trust.Observation
}

// disk is what a process had loaded at some time.
type disk struct {
	pools  map[string]*pool
	leaves map[string]*pki.Certificate
}

// membership is a member of a relying party.
type membership struct{ domain, party, member string }

func newProcess(name string) *process {
	return &process{
		name: name, reachable: true, pools: map[string]*pool{}, leaves: map[string]*pki.Certificate{},
		pending: map[membership]*trust.Observation{},
	}
}

// clone shares what is never modified.
func (p *process) clone() *process {
	out := *p
	out.pools, out.leaves, out.pending = maps.Clone(p.pools), maps.Clone(p.leaves), maps.Clone(p.pending)
	return &out
}

// parts of what a process loads.
type parts int

const (
	everything parts = iota
	onlyTrust
	onlyLeaves
)

// load lets a process read its files. What does not exist leaves it with what it has.
func (w *world) load(p *process, what parts) {
	before := &disk{pools: maps.Clone(p.pools), leaves: maps.Clone(p.leaves)}
	for _, d := range w.domains().Domains {
		if !w.memberOf(d, p.name) {
			continue
		}
		if anchors := w.readBundle(d); what != onlyLeaves && len(anchors) > 0 {
			p.pools[d.Name] = w.verifier.pool(anchors)
		}
		if what == onlyTrust {
			continue
		}
		for _, name := range w.held(d, p.name) {
			if c := w.readLeaf(d, name); c != nil {
				p.leaves[name] = c
			}
		}
	}
	if !maps.Equal(before.pools, p.pools) || !maps.Equal(before.leaves, p.leaves) {
		p.before = before
	}
	if what == everything {
		p.behind = time.Time{}
	}
}

// readBundle is what a process finds in the file of a domain's anchors.
func (w *world) readBundle(d *trust.Domain) []*pki.Certificate {
	if !w.topology.aggregate {
		return d.Bundle.Anchors
	}
	cm := w.api.configMaps["all-bundles"]
	if cm == nil {
		return nil
	}
	// What cannot be read is not loaded.
	anchors, err := w.api.certs.Chain([]byte(cm.Data[d.Name+".crt"]))
	if err != nil {
		return nil
	}
	return anchors
}

// readLeaf is what a process finds in the file of a leaf; nil for what it cannot use.
func (w *world) readLeaf(d *trust.Domain, name string) *pki.Certificate {
	if !w.topology.aggregate {
		l := leafOf(d, name)
		if l == nil || l.Problem != nil {
			return nil
		}
		return l.Certificate
	}
	secret := w.api.secrets["all-pairs"]
	if secret == nil {
		return nil
	}
	cert, _ := inventory.AggregateKeys(name)
	chain, err := w.api.certs.Chain(secret.Data[cert])
	if err != nil {
		return nil
	}
	return chain[0]
}

// start runs a process that is down, if there is something to run with.
func (w *world) start(p *process) bool {
	fresh := newProcess(p.name)
	w.load(fresh, everything)
	for _, d := range w.domains().Domains {
		if !w.memberOf(d, p.name) {
			continue
		}
		if fresh.pools[d.Name] == nil {
			return false
		}
		for _, name := range w.held(d, p.name) {
			if fresh.leaves[name] == nil {
				return false
			}
		}
	}
	p.pools, p.leaves, p.before, p.behind = fresh.pools, fresh.leaves, nil, time.Time{}
	p.up, p.startedAt = true, w.clock.now()
	return true
}

// comesBack restarts a process from a backup of its disk, unless that could not handshake at this moment. While a bundle is
// lost nothing comes back: what an old leaf chains to may then be recorded nowhere, so that nobody could know of it.
func (w *world) comesBack(p *process) bool {
	lost := func(d *trust.Domain) bool { return !d.Bundle.Present }
	if p.before == nil || p.graceful || p.renewed || slices.ContainsFunc(w.domains().Domains, lost) {
		return false
	}
	now := disk{pools: p.pools, leaves: p.leaves}
	p.pools, p.leaves = maps.Clone(p.before.pools), maps.Clone(p.before.leaves)
	if w.checkHandshakes() != nil || w.checkBundles() != nil {
		p.pools, p.leaves = now.pools, now.leaves
		return false
	}
	p.before, p.startedAt = nil, w.clock.now()
	return true
}

// memberOf says whether a process is in a party of a domain.
func (w *world) memberOf(d *trust.Domain, name string) bool {
	for _, m := range w.memberships(name) {
		if m.domain == d.Name {
			return true
		}
	}
	return false
}

// held are the leaves of a domain that a member holds.
func (w *world) held(d *trust.Domain, member string) []string {
	var out []string
	for i := range d.Parties {
		for k := range d.Parties[i].Members {
			if m := &d.Parties[i].Members[k]; m.Name == member {
				out = append(out, m.Holds...)
			}
		}
	}
	return out
}

func leafOf(d *trust.Domain, name string) *trust.Leaf {
	for i := range d.Leaves {
		if d.Leaves[i].Name == name {
			return &d.Leaves[i]
		}
	}
	return nil
}
