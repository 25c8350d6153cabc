// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package secrets

import corev1 "k8s.io/api/core/v1"

// GetOption selects one of the Secrets of a name.
type GetOption func(*class)

type class string

const (
	classCurrent class = "current"
	classOld     class = "old"
	classBundle  class = "bundle"
	// classSame is the edition that has signed before.
	classSame class = "same"
)

// Current selects the edition that was generated.
func Current(c *class) { *c = classCurrent }

// Old selects the edition before it, if it is kept.
func Old(c *class) { *c = classOld }

// Bundle selects the bundle of what is trusted.
func Bundle(c *class) { *c = classBundle }

// Get implements Interface. It finds only what this instance has generated, or signed with. The caller owns the
// result.
func (i *Instance) Get(name string, options ...GetOption) (*corev1.Secret, bool) {
	of := i.entry(name)
	if of == nil {
		return nil, false
	}
	which := classBundle
	if of.bundle == nil {
		which = classCurrent
	}
	for _, option := range options {
		option(&which)
	}
	found := map[class]*corev1.Secret{classCurrent: of.current, classOld: of.old, classBundle: of.bundle}[which]
	if found == nil {
		return nil, false
	}
	return found.DeepCopy(), true
}

func (i *Instance) entry(name string) *entry {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.entries[name]
}
