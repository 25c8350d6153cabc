// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
)

// evidence reads the processes of a member, each once. Who else writes the record may have put them in another order.
func (c *checker) evidence(e *configv1alpha1.RecordedEvidence) *Evidence {
	c.name("evidence.party", e.Party)
	c.name("evidence.member", e.Member)
	out := &Evidence{Party: e.Party, Member: e.Member}
	if len(e.Processes) > maxProcesses {
		c.fail("evidence.processes", fmt.Sprintf("it has %d entries, the limit is %d", len(e.Processes), maxProcesses))
		return out
	}
	seen := map[string]bool{}
	for i := range e.Processes {
		field := fmt.Sprintf("evidence.processes[%d]", i)
		out.Observations = append(out.Observations, c.process(field, &e.Processes[i]))
		if seen[e.Processes[i].Instance] {
			c.fail(field, "its instance is there twice")
		}
		seen[e.Processes[i].Instance] = true
	}
	slices.SortFunc(out.Observations, byInstance)
	return out
}

func (c *checker) process(field string, p *configv1alpha1.ProcessEvidence) trust.Observation {
	out := trust.Observation{
		Instance:        p.Instance,
		Kind:            trust.EvidenceKind(p.Kind),
		Address:         p.Address,
		Trusts:          sums[pki.Fingerprint](c, field+".trusts", p.Trusts),
		TrustedSubjects: sums[string](c, field+".trustedSubjects", p.TrustedSubjects),
		Presents:        sums[pki.Fingerprint](c, field+".presents", p.Presents),
		RecoveredUntil:  c.optional(field+".recoveredUntil", p.RecoveredUntil),
		ObservedAt:      c.time(field+".observedAt", p.ObservedAt.Time, time.Microsecond),
		Expires:         c.time(field+".expires", p.Expires.Time, time.Microsecond),
		StartedAt:       c.optional(field+".startedAt", p.StartedAt),
		Failure:         p.Failure,
		ReportedBy:      p.ReportedBy,
		ReportedByUID:   p.ReportedByUID,
	}
	c.name(field+".instance", p.Instance)
	c.kind(field+".kind", out.Kind)
	c.text(field+".address", p.Address, maxAddress)
	c.text(field+".failure", p.Failure, maxLongText)
	c.text(field+".reportedBy", p.ReportedBy, maxUser)
	c.text(field+".reportedByUID", p.ReportedByUID, maxUID)
	return out
}

func sums[S ~string](c *checker, field string, list []string) []S {
	c.ordered(field, list, MaxFingerprints, c.sum)
	var out []S
	for _, entry := range list {
		out = append(out, S(entry))
	}
	return out
}

func byInstance(x, y trust.Observation) int { return cmp.Compare(x.Instance, y.Instance) }
