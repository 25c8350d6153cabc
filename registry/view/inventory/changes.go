// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/cache"
)

func (i *Inventory) objectHandler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{AddFunc: i.changed, UpdateFunc: i.updated, DeleteFunc: i.changed}
}

// configurationChanged begins or ends to read the ConfigMaps of a namespace before it announces the configuration.
func (i *Inventory) configurationChanged(object any) {
	if namespace, ok := namespaceOf(object); ok {
		i.follow(namespace)
		i.memory.forget(namespace)
		i.tell(namespace)
	}
}

// changed announces an object that came or went.
func (i *Inventory) changed(object any) {
	if namespace, ok := namespaceOf(object); ok {
		i.announce(namespace)
	}
}

func namespaceOf(object any) (string, bool) {
	if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = gone.Obj
	}
	accessor, err := meta.Accessor(object)
	if err != nil {
		return "", false
	}
	return accessor.GetNamespace(), true
}

// updated leaves nothing out but a repetition: the model needs the latest resource version of an object, even if
// nothing else that is known of it has changed.
func (i *Inventory) updated(before, after any) {
	x, errX := meta.Accessor(before)
	y, errY := meta.Accessor(after)
	if errX == nil && errY == nil && x.GetUID() == y.GetUID() && x.GetResourceVersion() == y.GetResourceVersion() {
		return
	}
	i.changed(after)
}

func (i *Inventory) announce(namespace string) {
	i.memory.forget(namespace)
	if i.configured(namespace) {
		i.tell(namespace)
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
