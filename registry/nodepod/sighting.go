// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodepod

import (
	"crypto/x509"
	"fmt"
	"net"
	"slices"
	"time"

	"certrotation.dev/registry/pki"
)

// Sighting is the result of one connection to a peer, made with the leaf of one generation.
type Sighting struct {
	Peer Member
	// Answered means that the peer answered over the finished connection: it accepts the leaf.
	Answered bool
	// Met means that the peer proved that it holds the key of its certificate. The following fields are set only
	// then.
	Met bool
	// Subjects are the pki.SubjectHash values of the authorities that the peer claims to accept.
	Subjects []string
	// Presents is the peer's leaf, followed by the other certificates that it sent.
	Presents []*pki.Certificate
	// Failure says why there was no answer, "" if there was one.
	Failure string
}

// Verdict is the meaning of a sighting for a generation.
type Verdict struct {
	Peer Member
	// Reached, and whether each side accepts the other: AcceptsUs is the peer's side, Accepted is ours.
	Reached, AcceptsUs, Accepted bool
	// Message says what is wrong, "" if both accept each other.
	Message string
}

// Agrees reports whether a connection works in both directions.
func (v Verdict) Agrees() bool { return v.Reached && v.AcceptsUs && v.Accepted }

// Judge returns the meaning of a sighting for a process that runs with this generation. files are those of its peer
// listener.
func Judge(g *Generation, files ListenerFiles, s *Sighting, now time.Time) Verdict {
	v := Verdict{Peer: s.Peer, Reached: s.Met || s.Answered}
	if !v.Reached {
		v.Message = s.Failure
		return v
	}
	v.AcceptsUs = s.Answered
	if !v.AcceptsUs {
		v.Message = "it refuses our leaf: " + s.Failure
		if !announced(g, files, s.Subjects) {
			v.Message = "it has not loaded the authority of our leaf: " + s.Failure
		}
	}
	bundle := g.Bundle(files.Trust)
	if bundle == nil {
		v.Message = "there is no trust to verify it with: " + files.Trust
		return v
	}
	refusal := verify(s.Presents, bundle.Anchors, s.Peer.Address, now)
	v.Accepted = refusal == ""
	switch {
	case v.Accepted:
	case v.Message != "":
		v.Message += "; " + refusal
	default:
		v.Message = refusal
	}
	return v
}

// announced reports whether a peer says that it accepts the authority of our leaf.
func announced(g *Generation, files ListenerFiles, subjects []string) bool {
	pair := g.PairOf(files.Cert)
	if pair == nil {
		return false
	}
	ca := g.Signer(pair)
	return ca != nil && slices.Contains(subjects, ca.SubjectHash)
}

// DescribePeers reports for each peer whether it and the generation in use accept each other, and whether enough do.
func DescribePeers(verdicts []Verdict) []Finding {
	var out []Finding
	agreeing := 0
	for _, v := range verdicts {
		f := Finding{Severity: Error, Object: v.Peer.Name + " (" + v.Peer.Address + ")", Message: v.Message}
		switch {
		case v.Agrees():
			agreeing++
			f.Severity, f.Reason, f.Message = Info, ReasonPeerAgrees, "it accepts our leaf and our trust verifies its leaf"
		case !v.Reached:
			f.Severity, f.Reason, f.NextStep = Warning, ReasonPeerUnreachable, "run `certrotation doctor` on that node"
		case !v.AcceptsUs:
			f.Reason = ReasonPeerRefusesUs
			f.NextStep = "compare with `certrotation doctor` on that node; `certrotation recover --dry-run` looks for a generation that it accepts"
		default:
			f.Reason = ReasonPeerNotTrusted
			f.NextStep = "compare with `certrotation doctor` on that node; `certrotation recover --dry-run` looks for a generation that verifies it"
		}
		out = append(out, f)
	}
	if needed := peersNeeded(len(verdicts)); agreeing < needed {
		out = append(out, Finding{
			Severity: Error, Reason: ReasonNoQuorum, Object: "peers",
			Message: fmt.Sprintf("%d of %d peers and this member accept each other; a quorum needs %d", agreeing, len(verdicts), needed),
		})
	}
	return out
}

// peersNeeded returns how many peers make a quorum together with this member.
func peersNeeded(peers int) int { return (peers + 1) / 2 }

// verify returns why a client with these anchors would refuse a server at an address, with the issuer of its leaf; ""
// if it would accept.
func verify(presents, anchors []*pki.Certificate, address string, now time.Time) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	var chain []*x509.Certificate
	for i, c := range presents {
		parsed, err := x509.ParseCertificate(c.DER())
		if err == nil {
			chain = append(chain, parsed)
		} else if i == 0 {
			return "it presents a certificate that cannot be read"
		}
	}
	refusal := pki.Refusal(chain, anchors, host, now)
	if refusal == "" || len(chain) == 0 {
		return refusal
	}
	return fmt.Sprintf("%s: the leaf is of %s and valid from %s to %s", refusal, presents[0].Issuer, stamp(presents[0].NotBefore), stamp(presents[0].NotAfter))
}
