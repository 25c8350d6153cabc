// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"slices"
	"strings"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/trust"
)

// nobody is the name of a member that does not exist.
const nobody = "nobody"

// namesNobody names a member that does not exist in a party that reports. A rotation waits for it.
func (w *world) namesNobody(d *configv1alpha1.TrustDomain) bool {
	for i := range d.RelyingParties {
		p := &d.RelyingParties[i]
		if len(p.Members) == 0 || p.Evidence.Kind != configv1alpha1.EvidenceAcknowledgement || w.wrong {
			continue
		}
		p.Members = append(p.Members, nobody)
		w.mistaken = true
		return true
	}
	return false
}

// waivesNobody waives members that do not exist, or not any more, as the blockers say.
func (w *world) waivesNobody(d *trust.Domain, a *trust.Assessment) {
	for _, b := range a.Blockers {
		if (b.Member == nobody || w.left[b.Member]) && strings.Contains(b.Message, "waive") {
			w.waive(d, membership{domain: d.Name, party: b.Party, member: b.Member})
		}
	}
}

// takesNobodyOut takes the member that does not exist out of the configuration. Once it is waived, the guard must
// admit that.
func (w *world) takesNobodyOut() error {
	// A waiver is for one rotation.
	waived := slices.ContainsFunc(w.domains().Domains, func(d *trust.Domain) bool {
		return slices.ContainsFunc(d.Waivers, func(x trust.Waiver) bool { return x.Member == nobody && x.Rotation == trust.RotationOf(d) })
	})
	reason := w.guardConfiguration(w.configuration.Name, configured(w.api.latest(), w.configuration))
	switch {
	case reason == "":
		w.counts.event(typoUndone)
		w.putsRight()
	case waived:
		return violated("NoSilentWait", "%s was named by mistake, is waived, and cannot be taken out: %s", nobody, reason)
	}
	return nil
}

// typoMutants are wrong about a member that was named by mistake.
func typoMutants() []mutant {
	return []mutant{{
		name: "a member that was named by mistake stays", make: func() Protocol { return trust.Assess }, shape: reporters,
		loosens: func(o *options) { o.unwaived = true }, only: []string{"leader", "rotate", "configuration", "load"},
		often: []string{"configuration"}, breaks: []string{"NoSilentWait"},
	}}
}

// withoutWaivers returns domains as a guard sees them that knows no waivers.
func withoutWaivers(c *trust.Configured) *trust.Configured {
	out := *c
	out.Domains = nil
	for _, d := range c.Domains {
		bare := *d
		bare.Waivers = nil
		out.Domains = append(out.Domains, &bare)
	}
	return &out
}
