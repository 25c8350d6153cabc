// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/registry/edition"
)

// WithGroupRotation sets when the rotation of a group of authorities last began, by its recorded state. It has them
// rotate in lockstep. Without a record, what the Secrets say counts. Give the other names by WithSecretNamesToTimes.
func WithGroupRotation(state *edition.GroupRotation, authorities ...string) Option {
	recorded := *state
	return func(s *settings) {
		if s.rotating == nil {
			s.rotating = map[string]*edition.GroupRotation{}
		}
		for _, name := range authorities {
			s.rotating[name] = &recorded
		}
	}
}

// InPhase keeps an authority, or a key, as the phase of its group needs: both generations until the servers are reissued,
// then the current one.
func InPhase(state *edition.GroupRotation) GenerateOption {
	return func(o *generateOptions) {
		o.strategy, o.ignoreOld = KeepOld, state.DropsFormer()
	}
}

// KeysInPhase returns the editions of a name in the order in which a program must have them: it writes, signs or logs in by
// the first, and reads, verifies or accepts by all. So every replica knows a new key before the first one uses it, and
// none forgets a key that is in use. Generate the name with InPhase before.
//
//	Preparing, first    old, current    also if the record is lost: the current one may not be known everywhere
//	until Completing    current, old    rewrite what was written by the old one, before Prepared
//	Completing, then    current
func KeysInPhase(of Reader, state *edition.GroupRotation, name string) []*corev1.Secret {
	current, found := of.Get(name, Current)
	if !found {
		return nil
	}
	old, kept := of.Get(name, Old)
	switch {
	case !kept || state.DropsFormer():
		return []*corev1.Secret{current}
	case state.Phase == "", state.Prepares() && !state.KeyKnown:
		return []*corev1.Secret{old, current}
	}
	return []*corev1.Secret{current, old}
}

// SignedInPhase signs a certificate as the phase of the authority's group needs: clients by the current authority,
// servers by the former one until the phase Completing. Without a record, the signer of its newest edition signs again:
// peers may trust no other.
func SignedInPhase(state *edition.GroupRotation, ca string) GenerateOption {
	switch {
	case state.Phase == "":
		return SignedByCA(ca, func(s *signedBy) { s.class = classSame })
	case state.ReissuesServers():
		return SignedByCA(ca, UseCurrentCA)
	}
	return SignedByCA(ca)
}
