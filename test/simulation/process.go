// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// process is one process of a member, in every party of every domain that has a member of its name. What it trusts
// and presents changes only when it loads. What it verifies and holds only grows: an edit of the configuration ends
// nothing.
type process struct {
	// name of the process: the member's name, and a number if it is not the first.
	name, member string
	number       int
	// roles by party.
	roles map[membership]*role
	// machine is the UID of its Node, "" if it runs on none. formerly are earlier UIDs of the same machine.
	machine  string
	formerly []string
	// up says that it runs. A process that is down presents nothing.
	up bool
	// reachable says that it can be probed and can report. Its peers always reach it.
	reachable bool
	startedAt time.Time
	// reportedAt is when it last reported.
	reportedAt time.Time
	// pools are the anchors by domain, leaves the presented leaves by Secret.
	pools  map[string]*pool
	leaves map[string]*pki.Certificate
	// before is what it had before it last loaded: a backup of its disk.
	before *disk
	// behind is since when it has something to load, zero if it has nothing.
	behind time.Time
	// off is how far its clock is from the true time.
	off time.Duration
	// within is the shortest delay within which its parties of the kinds gracePeriod and renewed promise to load.
	// Zero if there is no promise.
	within time.Duration
	// pending are reports that were made and have not arrived yet.
	pending map[membership]*trust.Observation
	// replay is a report that was delivered before.
	replay map[membership]*trust.Observation
	// pod is nil if the process is not a pod.
	pod *pod
	// provenTrusts and provenPresents are what the process was ever proven to have read at its start.
	provenTrusts, provenPresents []pki.Fingerprint
	// hook is set if it is a kube-apiserver that verifies by a webhook's caBundle.
	hook *hook
}

// role is what a process verifies and holds in a party.
type role struct{ verifies, holds []string }

// disk is what a process had loaded at some time.
type disk struct {
	pools  map[string]*pool
	leaves map[string]*pki.Certificate
}

// membership is a member of a relying party.
type membership struct{ domain, party, member string }

func newProcess(member string, number int) *process {
	name := member
	if number > 0 {
		name = fmt.Sprintf("%s (%d)", member, number+1)
	}
	return &process{
		name: name, member: member, number: number, reachable: true, roles: map[membership]*role{}, replay: map[membership]*trust.Observation{}, pools: map[string]*pool{}, leaves: map[string]*pki.Certificate{},
		pending: map[membership]*trust.Observation{},
	}
}

// clone shares what is never modified.
func (p *process) clone() *process {
	out := *p
	out.roles = map[membership]*role{}
	for m, r := range p.roles {
		same := *r
		out.roles[m] = &same
	}
	out.pools, out.leaves, out.pending = maps.Clone(p.pools), maps.Clone(p.leaves), maps.Clone(p.pending)
	return &out
}

// instance identifies this start of the process.
func (p *process) instance() string {
	if p.pod != nil {
		return p.pod.uid
	}
	return fmt.Sprintf("%s-%d-%d", p.member, p.number, p.startedAt.Unix())
}

// memberships of a process, in order.
func (p *process) memberships() []membership {
	return slices.SortedFunc(maps.Keys(p.roles), func(x, y membership) int {
		return cmp.Or(cmp.Compare(x.domain, y.domain), cmp.Compare(x.party, y.party))
	})
}

func (p *process) in(domain string) bool {
	for m := range p.roles {
		if m.domain == domain {
			return true
		}
	}
	return false
}

// held returns the leaves of a domain that a process presents.
func (p *process) held(domain string) []string {
	var out []string
	for _, m := range p.memberships() {
		if m.domain == domain {
			out = append(out, p.roles[m].holds...)
		}
	}
	return out
}

// verified returns the leaves of a domain that a process verifies.
func (p *process) verified(domain string) []string {
	var out []string
	for _, m := range p.memberships() {
		if m.domain == domain {
			out = append(out, p.roles[m].verifies...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// takes adds what the configuration says of a role. Nothing is taken away: a process does not stop to verify
// because of an edit.
func (p *process) takes(m membership, party *trust.Party, member *trust.Member) {
	r := p.roles[m]
	if r == nil {
		r = &role{}
		p.roles[m] = r
	}
	if !party.VerifiesNothing {
		r.verifies = union(r.verifies, party.Verifies)
	}
	r.holds = union(r.holds, member.Holds)
}

func union[T comparable](a, b []T) []T {
	for _, x := range b {
		if !slices.Contains(a, x) {
			a = append(slices.Clip(a), x)
		}
	}
	return a
}

// parts are what of its files a process loads.
type parts int

const (
	everything parts = iota
	onlyTrust
	onlyLeaves
)

// load makes a process read its files. It keeps what it has of files that do not exist.
func (w *world) load(p *process, what parts) {
	switch {
	case p.hook != nil:
		w.follows(p, len(w.target.versions))
		return
	case p.pod != nil && p.pod.workload.startsOnly():
		return
	case w.recovery != nil:
		w.recovery.loadedBy(p)
		return
	}
	before := &disk{pools: maps.Clone(p.pools), leaves: maps.Clone(p.leaves)}
	for _, d := range w.domains().Domains {
		if !p.in(d.Name) {
			continue
		}
		if anchors := w.anchorsOf(p, d); what != onlyLeaves && len(anchors) > 0 {
			p.pools[d.Name] = w.verifier.pool(anchors)
		}
		if what == onlyTrust {
			continue
		}
		for _, name := range p.held(d.Name) {
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
	if p.pod != nil && len(w.published) > 0 {
		p.pod.trusted, p.pod.leaves = w.latestPublication(), w.latestPublication()
	}
}

// anchorsOf returns the anchors of a domain that a process finds: in the file of the bundle, or beside its leaf.
func (w *world) anchorsOf(p *process, d *trust.Domain) []*pki.Certificate {
	if held := p.held(d.Name); w.topology.beside && len(held) > 0 {
		return besideLeaf(leafOf(d, held[0]))
	}
	return w.readBundle(d)
}

// besideLeaf returns the anchors under ca.crt, nil if they cannot be used.
func besideLeaf(l *trust.Leaf) []*pki.Certificate {
	if l == nil || l.Problem != nil {
		return nil
	}
	return l.Anchors
}

// readBundle returns what a process finds in the file of a domain's anchors.
func (w *world) readBundle(d *trust.Domain) []*pki.Certificate {
	if !w.topology.aggregate {
		return d.Bundle.Anchors
	}
	cm := w.api.configMaps["all-bundles"]
	if cm == nil {
		return nil
	}
	anchors, err := w.api.certs.Chain([]byte(cm.Data[d.Name+".crt"]))
	if err != nil {
		return nil
	}
	return anchors
}

// readLeaf returns what a process finds in the file of a leaf, nil if it cannot use that.
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

// start starts a process that is down, if it finds all of its files. A process that must report first, and cannot,
// takes no traffic.
func (w *world) start(p *process) bool {
	if p.pod != nil {
		return w.startPod(p)
	}
	if p.hook != nil {
		p.up = true
		return true
	}
	fresh := newProcess(p.member, p.number)
	fresh.roles = p.roles
	w.load(fresh, everything)
	if !w.complete(fresh) || (w.reporting(p) && !p.reachable) || !w.hasNode(p) {
		return false
	}
	p.pools, p.leaves, p.before, p.behind = fresh.pools, fresh.leaves, nil, time.Time{}
	p.up, p.startedAt, p.machine, p.formerly = true, w.clock.now(), w.uidOf(p.member), nil
	w.takesBackWaivers(p)
	w.reportsAtStart(p)
	return true
}

// couldStart reports whether a process finds all of its files.
func (w *world) couldStart(p *process) bool {
	fresh := newProcess(p.member, p.number)
	fresh.roles = p.roles
	w.load(fresh, everything)
	return w.complete(fresh)
}

// complete reports whether a process has all that it needs to run.
func (w *world) complete(p *process) bool {
	for _, d := range w.domains().Domains {
		if !p.in(d.Name) {
			continue
		}
		if p.pools[d.Name] == nil || slices.ContainsFunc(p.held(d.Name), func(name string) bool { return p.leaves[name] == nil }) {
			return false
		}
	}
	return true
}

// runsOn reports whether the process runs on the machine that was registered with that UID.
func (p *process) runsOn(uid string) bool {
	return p.up && (p.machine == uid || slices.Contains(p.formerly, uid))
}

// hasNode reports whether the node of a process is registered. It is true for a process on no node.
func (w *world) hasNode(p *process) bool {
	return p.machine == "" && !strings.HasPrefix(p.member, "node-") || w.api.nodes[p.member] != nil
}

func (w *world) uidOf(node string) string {
	if n := w.api.nodes[node]; n != nil {
		return string(n.UID)
	}
	return ""
}

// reportsAtStart makes a process report what it has loaded, if its evidence is acknowledgement, before it takes
// traffic.
func (w *world) reportsAtStart(p *process) {
	clear(p.pending)
	p.reportedAt = w.clock.now()
	for _, m := range p.memberships() {
		if w.kindOf(m) == trust.Acknowledgement {
			w.reportNow(p, m)
		}
	}
}

// comesBack restarts a process from a backup of its disk, unless its handshakes would fail now. While a bundle is
// lost no process comes back: the CA of an old leaf may then be recorded nowhere.
func (w *world) comesBack(p *process) bool {
	lost := func(d *trust.Domain) bool { return !d.Bundle.Present }
	if p.pod != nil || p.before == nil || p.within > 0 || (w.reporting(p) && !p.reachable) || slices.ContainsFunc(w.domains().Domains, lost) {
		return false
	}
	now := disk{pools: p.pools, leaves: p.leaves}
	p.pools, p.leaves = maps.Clone(p.before.pools), maps.Clone(p.before.leaves)
	if w.strictly(func() error { return cmp.Or(w.checkHandshakes(), w.checkBundles()) }) != nil {
		p.pools, p.leaves = now.pools, now.leaves
		return false
	}
	p.before, p.startedAt = nil, w.clock.now()
	w.reportsAtStart(p)
	return true
}

func leafOf(d *trust.Domain, name string) *trust.Leaf {
	for i := range d.Leaves {
		if d.Leaves[i].Name == name {
			return &d.Leaves[i]
		}
	}
	return nil
}
