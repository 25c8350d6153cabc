// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package secrets

import corev1 "k8s.io/api/core/v1"

// GetOption says which Secret of a name is meant.
type GetOption func(*class)

// class of a Secret within a name.
type class string

const (
	classCurrent class = "current"
	classOld     class = "old"
	classBundle  class = "bundle"
)

// Current is the edition that was generated.
func Current(c *class) { *c = classCurrent }

// Old is the one before it, if it is kept.
func Old(c *class) { *c = classOld }

// Bundle is what is trusted.
func Bundle(c *class) { *c = classBundle }

// Get implements Interface. It knows what this instance has generated, or signed with, and nothing else; what it returns belongs to the
// caller.
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
