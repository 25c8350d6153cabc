// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import "k8s.io/apimachinery/pkg/api/meta"

// configurationChanged first updates what the namespace reads for its configurations.
func (i *Inventory) configurationChanged(n *namespace) {
	i.follow(n)
	if i.current(n) {
		i.memory.forget(n.name)
		i.tell(n.name)
	}
}

// current is false for late events of a namespace that is no longer managed.
func (i *Inventory) current(n *namespace) bool { return i.managed.of(n.name) == n }

// updated ignores repeated events, and updates of a pod that make no difference: certrotation never writes pods, and
// their status changes all the time. It announces any other object even if only its resource version has changed,
// because the model needs the latest.
func (i *Inventory) updated(n *namespace, before, after any) {
	if was, ok := before.(*Pod); ok {
		if is, ok := after.(*Pod); ok && was.same(is) {
			return
		}
	}
	x, errX := meta.Accessor(before)
	y, errY := meta.Accessor(after)
	if errX == nil && errY == nil && x.GetUID() == y.GetUID() && x.GetResourceVersion() == y.GetResourceVersion() {
		return
	}
	i.announce(n)
}

func (i *Inventory) announce(n *namespace) {
	if !i.current(n) {
		return
	}
	i.memory.forget(n.name)
	if n.configured() {
		i.tell(n.name)
	}
}

func (i *Inventory) nodeChanged(any) {
	i.memory.forgetNodes()
	for _, namespace := range i.Namespaces() {
		i.tell(namespace)
	}
}

func (i *Inventory) nodeUpdated(before, after any) {
	x, okX := before.(*Node)
	y, okY := after.(*Node)
	if okX && okY && x.same(y) {
		return
	}
	i.nodeChanged(after)
}

// classUpdated treats a class like a node: it may concern any namespace.
func (i *Inventory) classUpdated(before, after any) {
	x, okX := before.(*Class)
	y, okY := after.(*Class)
	if okX && okY && x.ResourceVersion == y.ResourceVersion {
		return
	}
	i.nodeChanged(after)
}

func (i *Inventory) tell(namespace string) {
	for _, fn := range i.onChange {
		fn(namespace)
	}
}
