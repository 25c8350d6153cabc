// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/cache"
)

// changed announces an object that came or went.
func (i *Inventory) changed(object any) {
	if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = gone.Obj
	}
	i.announce(object)
}

// updated leaves nothing out but a repetition: the model needs the latest resource version of an object, even if
// nothing else that is known of it has changed.
func (i *Inventory) updated(before, after any) {
	x, errX := meta.Accessor(before)
	y, errY := meta.Accessor(after)
	if errX == nil && errY == nil && x.GetUID() == y.GetUID() && x.GetResourceVersion() == y.GetResourceVersion() {
		return
	}
	i.announce(after, before)
}

// announce takes the states of one object.
func (i *Inventory) announce(states ...any) {
	object, err := meta.Accessor(states[0])
	if err != nil {
		return
	}
	namespace := object.GetNamespace()
	i.memory.forget(namespace)
	if i.configured(namespace) || anyConfiguration(states) {
		i.tell(namespace)
	}
}

func anyConfiguration(states []any) bool {
	for _, state := range states {
		if cm, ok := state.(*ConfigMap); ok && cm.Configuration != nil {
			return true
		}
	}
	return false
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

func (i *Inventory) tell(namespace string) {
	for _, fn := range i.onChange {
		fn(namespace)
	}
}
