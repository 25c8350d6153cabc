// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// recovery is what `certrotation recover` has made of a domain: the files on the disks of the machines, and the
// manifests.
type recovery struct {
	domain string
	// signer is the active CA with a new validity.
	signer *pki.Pair
	leaves map[string]*pki.Pair
	pool   *pool
}

// beforeApplied are the events that may happen before the manifests are applied, while machines run with recovered
// files. No process stops: nothing protects a member that was not observed since its recovery (docs/protocol.md).
func beforeApplied() []string {
	return []string{"leader", "crash", "second leader", "cache", "load", "observe", "load and observe", "the recovery is applied"}
}

// recovers turns the power off until everything has expired, and recovers every machine before it is on again. It
// needs probed members: no other evidence shows what they run with.
func (w *world) recovers() bool {
	if !w.recoverable() {
		return false
	}
	d := w.domains().Domains[0]
	ended := d.Signer.Active.NotAfter
	for i := range d.Leaves {
		ended = latest(ended, d.Leaves[i].Certificate.NotAfter)
	}
	w.clock.set(latest(ended, w.clock.now()).Add(24 * time.Hour))
	made, err := w.recover(d)
	if err != nil {
		w.breaks(err)
		return true
	}
	w.say("everything has expired while the power was off, and is recovered offline")
	w.counts.event(recovered)
	w.noteDeath()
	w.recovery = made
	for _, p := range slices.Clone(w.processes) {
		if p.number > 0 {
			w.end(p)
			continue
		}
		made.loadedBy(p)
		p.up, p.reachable, p.before, p.behind = true, true, nil, time.Time{}
		p.startedAt, p.reportedAt = w.clock.now(), w.clock.now()
	}
	for _, l := range w.leaders {
		l.dead = true
	}
	return true
}

// recoverable reports whether there is one domain, at rest, with probed servers, and without damage by people.
func (w *world) recoverable() bool {
	domains := w.domains().Domains
	if w.recovery != nil || w.topology.pods || w.topology.issuedCA || w.unguarded || w.wrong || w.ahead > 0 || len(domains) != 1 || len(w.api.refuses)+len(w.unregistered) > 0 ||
		w.topology.serverKind != configv1alpha1.EvidenceTLSProbe || w.topology.aggregate {
		return false
	}
	d := domains[0]
	a := trust.Assess(w.seen(d), w.clock.now())
	settled := a.Stage == trust.Stable && !a.InFlight() && len(a.Actions)+len(a.Problems) == 0 && d.Signer.Active != nil
	whole := !slices.ContainsFunc(d.Leaves, func(l trust.Leaf) bool { return l.Certificate == nil || l.Unnamed })
	return settled && whole && !slices.ContainsFunc(w.processes, func(p *process) bool { return !p.up || !w.hasNode(p) })
}

func (w *world) recover(d *trust.Domain) (*recovery, error) {
	stored := w.api.secrets[d.Signer.Name]
	expired, err := activePair(stored)
	if err != nil {
		return nil, err
	}
	again, err := expired.Resign(w.clock.now())
	if err != nil {
		return nil, err
	}
	out := &recovery{domain: d.Name, signer: again, leaves: map[string]*pki.Pair{}, pool: w.verifier.pool([]*pki.Certificate{again.Certificate})}
	for i := range d.Leaves {
		l := &d.Leaves[i]
		if out.leaves[l.Name], err = again.Issue(l.Policy.Profile, w.clock.now()); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// loadedBy makes a process read its recovered disk.
func (r *recovery) loadedBy(p *process) {
	p.pools[r.domain] = r.pool
	for _, name := range p.held(r.domain) {
		if pair := r.leaves[name]; pair != nil {
			p.leaves[name] = pair.Certificate
		}
	}
}

func (w *world) appliesRecovery() bool {
	r := w.recovery
	if r == nil {
		return false
	}
	if w.applies(r) {
		w.recovery, w.manifests = nil, r
		w.history(r.domain).dead = false
	}
	return true
}

// appliesManifestsAgain does what the problem Outlived asks for: the restore of an old backup has removed the
// applied manifests. It reports whether there was such a problem. The domain stays dead: a process that has loaded
// the old content accepts no leaf until it loads again, and nothing is promised of that.
func (w *world) appliesManifestsAgain(d *trust.Domain, a *trust.Assessment) bool {
	outlived := slices.ContainsFunc(a.Problems, func(p trust.Problem) bool { return p.Reason == trust.ReasonOutlived })
	if !outlived || w.recovery != nil || w.manifests == nil || w.manifests.domain != d.Name {
		return false
	}
	w.applies(w.manifests)
	return true
}

// applies applies the manifests: the signer before its anchor, both before the leaves. The guard must admit them.
// It reports whether the signer still has their key. If not, nothing is applied, and an invariant was broken.
func (w *world) applies(r *recovery) bool {
	w.say("somebody applies the manifests of the recovery")
	d := w.domain(r.domain)
	if active := d.Signer.Active; active == nil || active.PublicKeyHash != r.signer.Certificate.PublicKeyHash {
		w.breaks(violated("AnchorInUse", "the key of %s is gone, and recovered leaves need it", r.signer.Certificate.Subject))
		return false
	}
	edits := []*edit{w.manifest(d.Signer.Name, r.signer, r.signer.Certificate), w.writesBundle(d, "applies "+d.Bundle.Name, append(slices.Clone(d.Bundle.Anchors), r.signer.Certificate))}
	for _, name := range slices.Sorted(maps.Keys(r.leaves)) {
		edits = append(edits, w.manifest(name, r.leaves[name], r.signer.Certificate))
	}
	refused := w.counts.refusedEdits
	for _, e := range edits {
		w.apply(e)
	}
	if w.counts.refusedEdits > refused {
		w.breaks(violated("Guard", "the guard refuses the manifests of a recovery"))
	}
	return true
}

// manifest replaces the pair of a Secret, and adds the CA to the anchors beside it.
func (w *world) manifest(name string, pair *pki.Pair, ca *pki.Certificate) *edit {
	return &edit{
		what: "applies " + name, kind: trust.SecretKind, name: name,
		secret: func(s *corev1.Secret) bool {
			if anchors := s.Data[inventory.AuthorityKey]; len(anchors) > 0 {
				s.Data[inventory.AuthorityKey] = slices.Concat(anchors, ca.PEM())
			}
			return fill(s, inventory.ActiveCertKey, inventory.ActiveKeyKey, pair)
		},
	}
}

// recoveredUntil returns when the last working leaf ends that no unexpired anchor of the bundle has signed.
func (w *world) recoveredUntil(p *process, m membership) time.Time {
	var until time.Time
	d, now := w.domain(m.domain), w.clock.now()
	for _, name := range p.held(m.domain) {
		c := p.leaves[name]
		if c == nil || !c.ValidAt(now) {
			continue
		}
		signers := slices.DeleteFunc(slices.Clone(d.Bundle.Anchors), func(ca *pki.Certificate) bool { return !c.SignedBy(ca) })
		if len(signers) > 0 && !slices.ContainsFunc(signers, func(ca *pki.Certificate) bool { return !ca.Expired(now) }) {
			until = latest(until, c.NotAfter)
		}
	}
	return until
}

func latest(x, y time.Time) time.Time {
	if x.After(y) {
		return x
	}
	return y
}
