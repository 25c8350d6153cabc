// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package secrets

import "certrotation.dev/registry/edition"

// WithGroupRotation sets when the rotation of a group of authorities last began, by its recorded state. It has them
// rotate in lockstep. Give the other names by WithSecretNamesToTimes.
func WithGroupRotation(state *edition.GroupRotation, authorities ...string) Option {
	began := ""
	if at := state.LastInitiationTime; at != nil {
		began = edition.UnixText(at.Time)
	}
	return func(s *settings) {
		if s.rotating == nil {
			s.rotating = map[string]string{}
		}
		for _, name := range authorities {
			s.rotating[name] = began
		}
	}
}

// InPhase keeps an authority as the phase of its group needs: both generations until the servers are reissued, then the
// current one.
func InPhase(state *edition.GroupRotation) GenerateOption {
	return func(o *generateOptions) {
		o.strategy, o.ignoreOld = KeepOld, state.DropsFormer()
	}
}

// SignedInPhase signs a certificate as the phase of the authority's group needs: clients by the current authority,
// servers by the former one until the phase Completing.
func SignedInPhase(state *edition.GroupRotation, ca string) GenerateOption {
	if state.ReissuesServers() {
		return SignedByCA(ca, UseCurrentCA)
	}
	return SignedByCA(ca)
}
