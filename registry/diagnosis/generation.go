// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"fmt"
	"path"
	"time"

	"certrotation.dev/registry/pki"
)

// soonPart is the part of a certificate's life before its end in which that is worth a warning.
const soonPart = 10

// Check says what is wrong with a generation now. uses are the files that a manifest wants in it.
func (g *Generation) Check(uses []string, now time.Time) []Finding {
	out := g.checkFiles(uses)
	for i := range g.Bundles {
		out = append(out, g.checkBundle(&g.Bundles[i], now)...)
	}
	for i := range g.Pairs {
		out = append(out, g.checkPair(&g.Pairs[i], now)...)
	}
	return out
}

// Intact says whether everything about the generation is right but the time.
func (g *Generation) Intact(uses []string) bool {
	if len(g.Pairs) == 0 || Worst(g.checkFiles(uses)) == Error {
		return false
	}
	for i := range g.Pairs {
		if g.signer(&g.Pairs[i]) == nil {
			return false
		}
	}
	return true
}

// Works says whether a process could use the generation now.
func (g *Generation) Works(uses []string, now time.Time) bool {
	return g.Intact(uses) && Worst(g.Check(uses, now)) != Error
}

func (g *Generation) checkFiles(uses []string) []Finding {
	var out []Finding
	for _, d := range g.Defects {
		severity, next := Error, "run `certrotation recover --dry-run`: it names an older generation that works"
		if d.Reason == ReasonFileMode || d.Reason == ReasonFileUnexpected {
			severity, next = Warning, "find out who did this: installed generations are never changed"
		}
		out = append(out, Finding{Severity: severity, Reason: d.Reason, Object: path.Join(g.Path, d.Path), Message: d.Message, NextStep: next})
	}
	for _, file := range uses {
		if g.PairOf(file) == nil && g.Bundle(file) == nil && !g.isKey(file) && !g.Defective(file) {
			out = append(out, Finding{
				Severity: Error, Reason: ReasonFileMissing, Object: path.Join(g.Path, file),
				Message:  "the manifest tells a container to use this file, which is not there",
				NextStep: "run `certrotation recover --dry-run`: it names an older generation that works",
			})
		}
	}
	return out
}

func (g *Generation) isKey(file string) bool {
	for i := range g.Pairs {
		if g.Pairs[i].Key == file {
			return true
		}
	}
	return false
}

// Defective says whether something is wrong with a file, by its path relative to the generation.
func (g *Generation) Defective(file string) bool {
	for _, d := range g.Defects {
		if d.Path == file {
			return true
		}
	}
	return false
}

func (g *Generation) checkBundle(b *Bundle, now time.Time) []Finding {
	var out []Finding
	valid := 0
	for _, ca := range b.Anchors {
		if ca.ValidAt(now) {
			valid++
		}
	}
	for _, ca := range b.Anchors {
		f := Finding{Object: path.Join(g.Path, b.Path)}
		switch {
		case ca.Expired(now):
			f.Severity, f.Reason = Warning, ReasonAuthorityExpired
			f.Message = fmt.Sprintf("the anchor %s expired at %s", ca.Subject, stamp(ca.NotAfter))
			if valid == 0 {
				f.Severity = Error
				f.NextStep = "stop etcd and run `certrotation recover` on every node"
			}
		case now.Before(ca.NotBefore):
			f.Severity, f.Reason = Warning, ReasonNotYetValid
			f.Message = fmt.Sprintf("the anchor %s is valid from %s on", ca.Subject, stamp(ca.NotBefore))
			f.NextStep = "check the clock of this node"
			if valid == 0 {
				f.Severity = Error
			}
		case soon(ca, now):
			f.Severity, f.Reason = Warning, ReasonAuthorityExpiresSoon
			f.Message = fmt.Sprintf("the anchor %s expires at %s", ca.Subject, stamp(ca.NotAfter))
			f.NextStep = "see to it that the API server runs and the rotation goes on: `kubectl get certificaterotations -A`"
		default:
			continue
		}
		out = append(out, f)
	}
	return out
}

func (g *Generation) checkPair(p *Pair, now time.Time) []Finding {
	f := Finding{Severity: Error, Object: path.Join(g.Path, p.Cert)}
	c := p.Certificate
	ca := g.signer(p)
	switch {
	case c == nil:
		return nil
	case ca == nil:
		f.Reason = ReasonUntrusted
		f.Message = fmt.Sprintf("%s is signed by no anchor of its own generation (issuer %s)", c.Subject, c.Issuer)
		f.NextStep = "run `certrotation recover --dry-run`: it names an older generation that works"
	case c.Expired(now):
		f.Reason = ReasonExpired
		f.Message = fmt.Sprintf("%s expired at %s", c.Subject, stamp(c.NotAfter))
		f.NextStep = "stop etcd and run `certrotation recover`; it reissues the leaf"
	case now.Before(c.NotBefore):
		f.Reason = ReasonNotYetValid
		f.Message = fmt.Sprintf("%s is valid from %s on", c.Subject, stamp(c.NotBefore))
		f.NextStep = "check the clock of this node"
	case !ca.ValidAt(now):
		f.Reason = ReasonUntrusted
		f.Message = fmt.Sprintf("the only anchors that signed %s are not valid now", c.Subject)
		f.NextStep = "stop etcd and run `certrotation recover`; it renews the anchor"
	case soon(c, now):
		f.Severity, f.Reason = Warning, ReasonExpiresSoon
		f.Message = fmt.Sprintf("%s expires at %s", c.Subject, stamp(c.NotAfter))
		f.NextStep = "see to it that the API server runs and the rotation goes on: `kubectl get certificaterotations -A`"
	default:
		return nil
	}
	return []Finding{f}
}

// signer is an anchor of the generation that signed a pair, one that is valid longest if there are several; nil if none did.
func (g *Generation) signer(p *Pair) *pki.Certificate {
	var best *pki.Certificate
	if p.Certificate == nil {
		return nil
	}
	for i := range g.Bundles {
		for _, ca := range g.Bundles[i].Anchors {
			if p.Certificate.SignedBy(ca) && (best == nil || ca.NotAfter.After(best.NotAfter)) {
				best = ca
			}
		}
	}
	return best
}

// soon says whether a certificate ends within the last part of its life.
func soon(c *pki.Certificate, now time.Time) bool {
	return c.NotAfter.Sub(now) < c.NotAfter.Sub(c.NotBefore)/soonPart
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
