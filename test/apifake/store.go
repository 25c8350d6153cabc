// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package apifake

import (
	"fmt"
	"maps"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// remembered is how many changes a watch can catch up with.
const remembered = 1000

// key identifies one object.
type key struct {
	schema.GroupVersionResource
	types.NamespacedName
}

type object interface {
	runtime.Object
	metav1.Object
}

// change is a change of an object: after is nil for a deletion, before for a creation. A deletion has its own
// version.
type change struct {
	key           key
	version       int
	before, after object
}

// store holds the objects, and what caches have seen of them. It never modifies a stored object.
type store struct {
	version int
	live    map[schema.GroupVersionResource]map[types.NamespacedName]object
	// cached holds what watches, and reads of resource version 0, have seen.
	cached        map[schema.GroupVersionResource]map[types.NamespacedName]object
	cachedVersion int
	// lag is how many changes caches are behind. unseen are those changes, seen the latest of the others.
	lag    int
	unseen []change
	seen   []change
	// forgotten is the version of the latest change that is in neither of them.
	forgotten int
	watches   []*subscription
}

func newStore() *store {
	return &store{
		live:   map[schema.GroupVersionResource]map[types.NamespacedName]object{},
		cached: map[schema.GroupVersionResource]map[types.NamespacedName]object{},
	}
}

// get returns an object that must not be modified, nil if there is none.
func (s *store) get(k key) object { return s.live[k.GroupVersionResource][k.NamespacedName] }

// put stores an object, which the store owns from now on.
func (s *store) put(k key, o object) {
	s.version++
	o.SetResourceVersion(strconv.Itoa(s.version))
	s.commit(change{key: k, version: s.version, before: s.get(k), after: o})
}

// remove deletes an existing object.
func (s *store) remove(k key) {
	s.version++
	s.commit(change{key: k, version: s.version, before: s.get(k)})
}

func (s *store) commit(c change) {
	into(s.live, &c)
	s.unseen = append(s.unseen, c)
	s.show(s.lag)
}

// show lets caches see all but the latest changes.
func (s *store) show(but int) {
	for len(s.unseen) > but {
		c := s.unseen[0]
		s.unseen = s.unseen[1:]
		into(s.cached, &c)
		s.cachedVersion = c.version
		s.seen = append(s.seen, c)
		if len(s.seen) > 2*remembered {
			s.forgotten = s.seen[remembered-1].version
			s.seen = append([]change(nil), s.seen[remembered:]...)
		}
		for _, w := range s.watches {
			w.tell(&c)
		}
	}
}

// forget drops the changes that caches have seen, so that no watch can begin there.
func (s *store) forget() {
	s.forgotten, s.seen = s.cachedVersion, nil
}

func into(objects map[schema.GroupVersionResource]map[types.NamespacedName]object, c *change) {
	if c.after == nil {
		delete(objects[c.key.GroupVersionResource], c.key.NamespacedName)
		return
	}
	if objects[c.key.GroupVersionResource] == nil {
		objects[c.key.GroupVersionResource] = map[types.NamespacedName]object{}
	}
	objects[c.key.GroupVersionResource][c.key.NamespacedName] = c.after
}

// since returns the changes after a version that caches have seen.
func (s *store) since(version int) ([]change, error) {
	if version < s.forgotten {
		return nil, apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", version, s.forgotten))
	}
	for i := range s.seen {
		if s.seen[i].version > version {
			return s.seen[i:], nil
		}
	}
	return nil, nil
}

// all returns the objects of a resource, current or as caches have seen them, with the version.
func (s *store) all(resource schema.GroupVersionResource, cached bool) (map[types.NamespacedName]object, int) {
	if cached {
		return maps.Clone(s.cached[resource]), s.cachedVersion
	}
	return maps.Clone(s.live[resource]), s.version
}
