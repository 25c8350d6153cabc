// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package holes

import (
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
	"time"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/record"
	"certrotation.dev/registry/trust"
)

// process is a running process of a member. It trusts and presents only what it has loaded.
type process struct {
	domain, party, member string
	verifies              []string
	trust                 []*pki.Certificate
	presents              map[string]*pki.Certificate
	// machine is the UID of its node, "" if it runs elsewhere.
	machine string
	started time.Time
	// said is what was last recorded of it, nil if nothing was.
	said *trust.Observation
}

// lease is how long a report counts.
const lease = time.Hour

// slow is how far the clocks of verifiers are behind.
const slow = 2 * time.Minute

// meet starts the processes of new members once they find their files, and ends those of former members. A process
// on a machine runs as long as that exists, whatever is configured.
func (w *world) meet() {
	var running []*process
	for _, d := range w.Namespace(namespace).Domains {
		for i := range d.Parties {
			p := &d.Parties[i]
			for k := range p.Members {
				if r := w.processOf(d, p, &p.Members[k]); r != nil {
					running = append(running, r)
				}
			}
		}
	}
	for _, r := range w.processes {
		if r.machine != "" && w.lives(r.machine) && !slices.Contains(running, r) {
			running = append(running, r)
		}
	}
	w.processes = running
}

func (w *world) processOf(d *trust.Domain, p *trust.Party, m *trust.Member) *process {
	for _, r := range w.processes {
		if r.domain == d.Name && r.party == p.Name && r.member == m.Name {
			r.verifies = p.Verifies
			return r
		}
	}
	for _, name := range m.Holds {
		if w.leaf(name).Certificate == nil {
			return nil
		}
	}
	if len(d.Bundle.Anchors) == 0 {
		return nil
	}
	r := &process{
		domain: d.Name, party: p.Name, member: m.Name, verifies: p.Verifies, presents: map[string]*pki.Certificate{},
		machine: m.Instance, started: w.at,
	}
	w.read(r)
	return r
}

// read makes a process load the bundle and its leaves. It keeps what it has of files that are missing or broken.
func (w *world) read(r *process) {
	d := w.Namespace(namespace).Domain(r.domain)
	if d.Bundle.Problem == nil && len(d.Bundle.Anchors) > 0 {
		r.trust = slices.Clone(d.Bundle.Anchors)
	}
	for i := range d.Parties {
		for k := range d.Parties[i].Members {
			if d.Parties[i].Name != r.party || d.Parties[i].Members[k].Name != r.member {
				continue
			}
			for _, name := range d.Parties[i].Members[k].Holds {
				if l := w.leaf(name); l.Problem == nil && l.Certificate != nil {
					r.presents[name] = l.Certificate
				}
			}
		}
	}
}

// named returns the processes whose member or party has one of these names.
func (w *world) named(names ...string) []*process {
	var out []*process
	for _, r := range w.processes {
		if slices.Contains(names, r.member) || slices.Contains(names, r.party) {
			out = append(out, r)
		}
	}
	w.expect(len(out) >= len(names), "not all of %v run", names)
	return out
}

// load makes processes reload and report.
func (w *world) load(names ...string) {
	for _, r := range w.named(names...) {
		w.read(r)
		w.report(r)
	}
	w.check()
	w.expect(true, "")
}

// restart makes processes reload without a report.
func (w *world) restart(names ...string) {
	for _, r := range w.named(names...) {
		w.read(r)
	}
	w.check()
	w.expect(true, "")
}

func (w *world) loadAll() {
	for _, r := range w.processes {
		w.read(r)
		w.report(r)
	}
	w.check()
	w.expect(true, "")
}

// report makes a process report what it has loaded, if that is news, or if its report ends soon and a rotation is
// in flight.
func (w *world) report(r *process) {
	d := w.Namespace(namespace).Domain(r.domain)
	i := slices.IndexFunc(d.Parties, func(p trust.Party) bool { return p.Name == r.party })
	if i < 0 || d.Parties[i].Kind != trust.Acknowledgement {
		return
	}
	o := r.observation(w.at)
	if r.said != nil && record.Same(r.said, o) && !w.ends(r) {
		return
	}
	if err := trust.CheckAcknowledgement(d, r.party, r.member, o, w.at); err != nil {
		w.failf("the report of %s is refused: %v", r.member, err)
	}
	w.record(r, o)
}

// observation returns what a process has loaded.
func (r *process) observation(at time.Time) *trust.Observation {
	o := &trust.Observation{
		Instance: r.member, Kind: trust.Acknowledgement, ObservedAt: at, StartedAt: r.started, ReportedBy: r.member,
	}
	for _, ca := range r.trust {
		o.Trusts = append(o.Trusts, ca.Fingerprint)
	}
	for _, c := range r.presents {
		o.Presents = append(o.Presents, c.Fingerprint)
	}
	return o
}

// ends reports whether half of a report's lease is over while a rotation is in flight. At rest no report is
// renewed.
func (w *world) ends(r *process) bool {
	d := w.Namespace(namespace).Domain(r.domain)
	return r.said != nil && d != nil && record.RenewalDue(r.said, w.at) && trust.Assess(d, w.at).InFlight()
}

// renew repeats the last report of each process whose report ends soon, also if the process lags.
func (w *world) renew() {
	for _, r := range w.processes {
		if w.ends(r) {
			again := *r.said
			again.ObservedAt = w.at
			w.record(r, &again)
		}
	}
}

// record records what is known of a process, for the time of a lease.
func (w *world) record(r *process, o *trust.Observation) {
	o.Expires = o.ObservedAt.Add(lease)
	made, err := record.OfEvidence(namespace, r.domain, r.party, r.member, []trust.Observation{*o})
	w.expect(err == nil, "record what %s has loaded: %v", r.member, err)
	r.said = o
	w.api.put(made)
}

// check holds at every moment: every verifier accepts each presented leaf, and so does a process that starts now.
// Nothing published is empty.
func (w *world) check() {
	if w.failure == "" {
		w.failure = w.broken()
	}
}

func (w *world) broken() string {
	for _, d := range w.Namespace(namespace).Domains {
		if d.Bundle.Present && d.Bundle.Problem == nil && len(d.Bundle.Anchors) == 0 {
			return "the bundle holds no anchor"
		}
		for _, holder := range w.processes {
			if holder.domain != d.Name {
				continue
			}
			if failure := w.refusedLeaf(d, holder); failure != "" {
				return failure
			}
		}
	}
	for _, a := range w.Namespace(namespace).Aggregates {
		for _, b := range a.Bundles {
			if a.ConfigMap.Present && len(a.Anchors[b.Key]) == 0 {
				return "the aggregate holds no anchor under " + b.Key
			}
		}
	}
	return ""
}

func (w *world) refusedLeaf(d *trust.Domain, holder *process) string {
	for name, c := range holder.presents {
		if c.Expired(w.at) {
			if w.expires {
				continue
			}
			return fmt.Sprintf("%s presents a leaf that expired at %s", holder.member, c.NotAfter)
		}
		for _, verifier := range w.processes {
			if verifier.domain != d.Name || !slices.Contains(verifier.verifies, name) {
				continue
			}
			if err := w.verify(c, verifier.trust); err != nil {
				return fmt.Sprintf("%s refuses the leaf of %s: %v", verifier.member, holder.member, err)
			}
		}
		if d.Bundle.Present && len(d.Bundle.Anchors) > 0 && !w.damaged {
			if err := w.verify(c, d.Bundle.Anchors); err != nil {
				return fmt.Sprintf("a process that starts now refuses the leaf of %s: %v", holder.member, err)
			}
		}
	}
	return ""
}

// window is the time in which a chain is valid.
type window struct{ from, to time.Time }

// verify verifies with crypto/x509 by a right clock and by a slow one. It caches a found chain until a certificate
// of it begins or ends.
func (w *world) verify(leaf *pki.Certificate, anchors []*pki.Certificate) error {
	var key strings.Builder
	key.WriteString(string(leaf.Fingerprint))
	for _, ca := range anchors {
		key.WriteString(string(ca.Fingerprint))
	}
	if v, ok := w.verified[key.String()]; ok && !w.at.Add(-slow).Before(v.from) && !w.at.After(v.to) {
		return nil
	}
	for _, at := range []time.Time{w.at, w.at.Add(-slow)} {
		chain, err := chainOf(leaf, anchors, at, x509.ExtKeyUsageAny)
		if err != nil {
			return err
		}
		v := window{from: leaf.NotBefore, to: leaf.NotAfter}
		for _, link := range chain {
			if link.NotBefore.After(v.from) {
				v.from = link.NotBefore
			}
			if link.NotAfter.Before(v.to) {
				v.to = link.NotAfter
			}
		}
		w.verified[key.String()] = v
	}
	return nil
}

func chainOf(leaf *pki.Certificate, anchors []*pki.Certificate, at time.Time, usage x509.ExtKeyUsage) ([]*x509.Certificate, error) {
	pool := x509.NewCertPool()
	for _, ca := range anchors {
		c, err := x509.ParseCertificate(ca.DER())
		if err != nil {
			return nil, err
		}
		pool.AddCert(c)
	}
	c, err := x509.ParseCertificate(leaf.DER())
	if err != nil {
		return nil, err
	}
	chains, err := c.Verify(x509.VerifyOptions{Roots: pool, CurrentTime: at, KeyUsages: []x509.ExtKeyUsage{usage}})
	if err != nil {
		return nil, err
	}
	return chains[0], nil
}
