// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"certrotation.dev/registry/trust"
)

// progress records the stage of each domain after a step, and finds rotations that wait without a blocker.
func (w *world) progress() error {
	for _, d := range w.domains().Domains {
		a := w.protocol(w.seen(d), w.clock.now())
		h := w.history(d.Name)
		w.happened(d, a, h)
		if w.topology.pods && a.InFlight() {
			w.heldUp(a)
		}
		if h.stage != a.Stage {
			w.say("  %s is %s", d.Name, a.Stage)
		}
		h.stage = a.Stage
		if a.Stage == trust.Stable && d.Signer.Active != nil {
			if h.stable != "" && h.stable != d.Signer.Active.Fingerprint {
				w.counts.rotations++
			}
			h.stable = d.Signer.Active.Fingerprint
		}
		if a.InFlight() && len(a.Actions) == 0 && len(a.Blockers) == 0 && !w.unguarded {
			return violated("NoSilentWait", "%s is %s, nothing is to be done, and nothing is said to be waited for", d.Name, a.Stage)
		}
	}
	return nil
}
