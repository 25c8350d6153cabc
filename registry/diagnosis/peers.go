// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import "fmt"

// DescribePeers says of each peer whether it and the generation in use accept each other, and whether that is enough.
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

// peersNeeded is how many of the peers make a quorum together with this member.
func peersNeeded(peers int) int { return (peers + 1) / 2 }
