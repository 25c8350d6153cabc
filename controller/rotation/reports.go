// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// status is the last finding on a domain.
type status struct {
	stage trust.Stage
	// blocked is what the domain has waited for since blockedAt, "" if nothing is blocked. told is the text of the
	// last event.
	blocked   string
	blockedAt time.Time
	told      string
	blockers  int
	// wrong is the text of the problems, and problems their number.
	wrong    string
	problems int
	// unadopted means that an object of the domain does not consent to its configuration.
	unadopted bool
	// waivers are those in force.
	waivers []trust.Waiver
	// since is when the stage began, zero if unknown.
	since time.Time
	// signer is the name of the signer Secret. expires is when its active CA expires, zero if there is none.
	signer  string
	expires time.Time
	// certificates are the signer's, if there is one, and the leaves'.
	certificates []certificate
	// anchors are the ends of the bundle's anchors: of each slot the first.
	anchors map[trust.Slot]time.Time
}

type certificate struct {
	name, role string
	expires    time.Time
	// due is when it must be renewed, zero if it is not renewed for its own sake.
	due time.Time
}

// Roles of certificates, as the API calls them.
const (
	roleSigner = "Signer"
	roleLeaf   = "Leaf"
)

func statusOf(d *trust.Domain, a *trust.Assessment, now time.Time) status {
	s := status{
		stage: a.Stage, blocked: blockedText(a), blockedAt: now, blockers: len(a.Blockers),
		wrong: wrongText(a), problems: len(a.Problems), waivers: trust.WaiversInForce(d, now),
		since: a.StageSince, signer: d.Signer.Name, certificates: certificatesOf(d, a), anchors: anchorsOf(a),
	}
	s.unadopted = slices.ContainsFunc(a.Problems, func(p trust.Problem) bool { return p.Reason == trust.ReasonNotAdopted })
	if d.Signer.Active != nil {
		s.expires = d.Signer.Active.NotAfter
	}
	return s
}

// message is the text that people see of the domain, "" if nothing is wrong. It mentions a wait only after
// blockedPatience.
func (s *status) message() string {
	switch {
	case s.blocked == "" || s.told == "":
		return s.wrong
	case s.wrong == "":
		return s.told
	}
	return s.wrong + "; " + s.told
}

func wrongText(a *trust.Assessment) string {
	texts := make([]string, 0, len(a.Problems))
	for _, p := range a.Problems {
		texts = append(texts, fmt.Sprintf("%s %s (%s)", p.Object, p.Message, p.Reason))
	}
	return strings.Join(texts, "; ")
}

// certificatesOf lists the signer and then the leaves. A leaf that expires with its signer is never due: it gains
// nothing from a renewal, and waits for a new signer.
func certificatesOf(d *trust.Domain, a *trust.Assessment) []certificate {
	out := make([]certificate, 0, 1+len(d.Leaves))
	if ca := d.Signer.Active; ca != nil {
		out = append(out, certificate{name: d.Signer.Name, role: roleSigner, expires: ca.NotAfter, due: a.SignerDue})
	}
	for i := range d.Leaves {
		leaf := d.Leaves[i].Certificate
		if leaf == nil {
			continue
		}
		c := certificate{name: d.Leaves[i].Name, role: roleLeaf, expires: leaf.NotAfter, due: a.Leaves[i].Due}
		if ca := a.Leaves[i].SignedBy; ca != nil && !leaf.NotAfter.Before(ca.NotAfter) {
			c.due = time.Time{}
		}
		out = append(out, c)
	}
	return out
}

// anchorsOf returns when the first anchor of each slot expires.
func anchorsOf(a *trust.Assessment) map[trust.Slot]time.Time {
	out := map[trust.Slot]time.Time{}
	for i := range a.Anchors {
		anchor := &a.Anchors[i]
		if first, known := out[anchor.Slot]; !known || anchor.Certificate.NotAfter.Before(first) {
			out[anchor.Slot] = anchor.Certificate.NotAfter
		}
	}
	return out
}

// reports remember what was reported, so that it is reported once. They are in memory only: after a restart, what
// still holds is reported again.
type reports struct {
	mu       sync.Mutex
	statuses map[key]status
	problems map[key]map[trust.Problem]bool
}

func newReports() *reports {
	return &reports{statuses: map[key]status{}, problems: map[key]map[trust.Problem]bool{}}
}

// blockedPatience is how long a rotation must wait for the same before that is worth an event. In every rotation,
// relying parties take a moment to reload.
const blockedPatience = 10 * time.Second

type change struct {
	before status
	known  bool
	// tell means that the domain has waited for the same long enough. in is how long until then, zero if it does not
	// wait.
	tell bool
	in   time.Duration
	// news means that the stage or the message of the domain has changed.
	news bool
}

// replace stores a status and returns what has changed.
func (r *reports) replace(k key, s status) change {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out change
	out.before, out.known = r.statuses[k]
	before, now := &out.before, s.blockedAt
	if s.blocked == before.blocked && out.known {
		s.blockedAt = before.blockedAt
	}
	if s.blocked != "" && s.blocked != before.told {
		waited := now.Sub(s.blockedAt)
		out.tell, out.in = waited >= blockedPatience, max(blockedPatience-waited, 0)
	}
	if s.blocked != "" {
		s.told = before.told
	}
	if out.tell {
		s.told = s.blocked
	}
	r.statuses[k] = s
	out.news = !out.known || before.stage != s.stage || before.message() != s.message()
	return out
}

func (r *reports) get(k key) (status, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, known := r.statuses[k]
	return s, known
}

// newProblems stores the problems of a key and returns the new ones.
func (r *reports) newProblems(k key, problems []trust.Problem) []trust.Problem {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.problems[k]
	now := make(map[trust.Problem]bool, len(problems))
	var added []trust.Problem
	for _, p := range problems {
		if !before[p] && !now[p] {
			added = append(added, p)
		}
		now[p] = true
	}
	r.problems[k] = now
	return added
}

func (r *reports) forget(k key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.statuses, k)
	delete(r.problems, k)
}

// without lists the reported domains that the namespace no longer has.
func (r *reports) without(namespace string, n *inventory.Namespace) []key {
	r.mu.Lock()
	defer r.mu.Unlock()
	var gone []key
	for k := range r.statuses {
		if k.namespace == namespace && (n == nil || n.Domain(k.domain) == nil) {
			gone = append(gone, k)
		}
	}
	return gone
}

func (r *reports) snapshot() map[key]status {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.statuses)
}
