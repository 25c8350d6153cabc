// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import "k8s.io/apimachinery/pkg/api/meta"

// configurationChanged starts or stops reading what the configurations of a namespace demand before it announces the
// configuration.
func (i *Inventory) configurationChanged(n *namespace) {
	i.follow(n)
	if i.current(n) {
		i.memory.forget(n.name)
		i.tell(n.name)
	}
}

// current is false for late events of a namespace that is not managed any more.
func (i *Inventory) current(n *namespace) bool { return i.managed.of(n.name) == n }

// updated ignores only repetitions: the model needs the latest resource version of an object, even if nothing else in
// it has changed. A pod is not written by anybody here, and its status changes all the time.
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

// announce tells that an object was added, changed or deleted.
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

// classUpdated: a class may concern any namespace, like a node.
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
