// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodepod

import (
	"fmt"
	"path"
	"slices"
	"time"

	"certrotation.dev/registry/pki"
)

// soonPart is the last part of a certificate's life, as 1/soonPart, in which an approaching end causes a warning.
const soonPart = 10

// Check returns what is wrong with a generation now. uses are the files that a manifest requires in it.
func Check(g *Generation, uses []string, now time.Time) []Finding {
	out := checkFiles(g, uses)
	for i := range g.Bundles {
		out = append(out, checkBundle(g, &g.Bundles[i], now)...)
	}
	for i := range g.Pairs {
		out = append(out, checkPair(g, &g.Pairs[i], now)...)
	}
	return out
}

// IsIntact reports whether a generation is right in everything except validity in time.
func IsIntact(g *Generation, uses []string) bool {
	if len(g.Pairs) == 0 || Worst(checkFiles(g, uses)) == Error {
		return false
	}
	for i := range g.Pairs {
		if g.Signer(&g.Pairs[i]) == nil {
			return false
		}
	}
	return true
}

func works(g *Generation, uses []string, now time.Time) bool {
	return IsIntact(g, uses) && Worst(Check(g, uses, now)) != Error
}

const nextOlder = nextRecover + ": it names an older generation that works"

// checkFiles returns what is wrong with the files. It leaves out the signers of leaves, which checkPair checks.
func checkFiles(g *Generation, uses []string) []Finding {
	var out []Finding
	for _, d := range g.Defects {
		f := Finding{Severity: Error, Reason: d.Reason, Object: d.Path, Message: d.Message, NextStep: nextOlder}
		if d.Harmless() {
			f.Severity, f.NextStep = Warning, "find out who did this: installed generations are never changed"
		}
		if d.Reason != Untrusted {
			out = append(out, f)
		}
	}
	for _, file := range uses {
		if !slices.Contains(g.Files, file) && !g.Defective(file) {
			out = append(out, Finding{
				Severity: Error, Reason: FileMissing, Object: path.Join(g.Path, file),
				Message: "the manifest tells a container to use this file, which is not there", NextStep: nextOlder,
			})
		}
	}
	return out
}

func checkBundle(g *Generation, b *Bundle, now time.Time) []Finding {
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
			f.NextStep = "check that the API server runs and the rotation continues: `kubectl get certificaterotations -A`"
		default:
			continue
		}
		out = append(out, f)
	}
	return out
}

func checkPair(g *Generation, p *Pair, now time.Time) []Finding {
	f := Finding{Severity: Error, Object: path.Join(g.Path, p.Cert)}
	c := p.Certificate
	ca := g.Signer(p)
	switch {
	case c == nil:
		return nil
	case ca == nil:
		f.Reason = Untrusted
		f.Message = fmt.Sprintf("%s is signed by no anchor of its own generation (issuer %s)", c.Subject, c.Issuer)
		f.NextStep = nextOlder
	case c.Expired(now):
		f.Reason = Expired
		f.Message = fmt.Sprintf("%s expired at %s", c.Subject, stamp(c.NotAfter))
		f.NextStep = "stop etcd and run `certrotation recover`; it reissues the leaf"
	case now.Before(c.NotBefore):
		f.Reason = ReasonNotYetValid
		f.Message = fmt.Sprintf("%s is valid from %s on", c.Subject, stamp(c.NotBefore))
		f.NextStep = "check the clock of this node"
	case !ca.ValidAt(now):
		f.Reason = Untrusted
		f.Message = fmt.Sprintf("the only anchors that signed %s are not valid now", c.Subject)
		f.NextStep = "stop etcd and run `certrotation recover`; it renews the anchor"
	case soon(c, now):
		f.Severity, f.Reason = Warning, ReasonExpiresSoon
		f.Message = fmt.Sprintf("%s expires at %s", c.Subject, stamp(c.NotAfter))
		f.NextStep = "check that the API server runs and the rotation continues: `kubectl get certificaterotations -A`"
	default:
		return nil
	}
	return []Finding{f}
}

func soon(c *pki.Certificate, now time.Time) bool {
	return c.NotAfter.Sub(now) < c.NotAfter.Sub(c.NotBefore)/soonPart
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
