// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import "cmp"

// demand is a source that a configuration needs: the ConfigMaps (the zero value), the pods of a label selector, the
// editions of an identity, or a Secret with passwords.
type demand struct {
	kind demanding
	// selector of pods, the identity, or the name of the Secret.
	selector string
}

func compareDemands(x, y demand) int {
	return cmp.Or(cmp.Compare(x.kind, y.kind), cmp.Compare(x.selector, y.selector))
}

type demanding string

const (
	demandsPods      demanding = "pods"
	demandsEditions  demanding = "editions"
	demandsPasswords demanding = "passwords"
)

// demands returns the sources that the configurations of the namespace need.
func (n *namespace) demands() map[demand]bool { return demandsOf(n.configurations.store.List()) }

func demandsOf(configurations []any) map[demand]bool {
	out := map[demand]bool{}
	for _, object := range configurations {
		cfg, ok := object.(*Configuration)
		if !ok {
			continue
		}
		out[demand{}] = true
		for _, selector := range cfg.Selectors {
			out[demand{demandsPods, selector}] = true
		}
		for _, identity := range cfg.Identities {
			out[demand{demandsEditions, identity}] = true
		}
		for _, name := range cfg.Passwords {
			out[demand{demandsPasswords, name}] = true
		}
	}
	return out
}

func (i *Inventory) sourceOf(key demand) *source {
	switch key.kind {
	case demandsPods:
		return i.sources.podsOf(key.selector)
	case demandsEditions:
		return i.sources.editionsOf(key.selector)
	case demandsPasswords:
		return i.sources.passwordsIn(key.selector)
	}
	return i.sources.configMaps
}
