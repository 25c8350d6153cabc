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

// key is what there is one object of.
type key struct {
	schema.GroupVersionResource
	types.NamespacedName
}

// object is what can be stored.
type object interface {
	runtime.Object
	metav1.Object
}

// change of an object: after is nil if it was deleted, before if it was made. What is gone has the version of its end.
type change struct {
	key           key
	version       int
	before, after object
}

// store has the objects, and what caches have seen of them. What is stored is never modified.
type store struct {
	version int
	live    map[schema.GroupVersionResource]map[types.NamespacedName]object
	// cached is what watches, and reads that want no more, have seen.
	cached        map[schema.GroupVersionResource]map[types.NamespacedName]object
	cachedVersion int
	// lag is how many changes caches are behind, unseen are those, and seen the latest of the others.
	lag    int
	unseen []change
	seen   []change
	// forgotten is the version of the latest change that is among neither.
	forgotten int
	watches   []*subscription
}

func newStore() *store {
	return &store{
		live:   map[schema.GroupVersionResource]map[types.NamespacedName]object{},
		cached: map[schema.GroupVersionResource]map[types.NamespacedName]object{},
	}
}

// get an object that is not to be modified, nil if there is none.
func (s *store) get(k key) object { return s.live[k.GroupVersionResource][k.NamespacedName] }

// put stores an object, which is the store's from now on.
func (s *store) put(k key, o object) {
	s.version++
	o.SetResourceVersion(strconv.Itoa(s.version))
	s.commit(change{key: k, version: s.version, before: s.get(k), after: o})
}

// remove an object that there is.
func (s *store) remove(k key) {
	s.version++
	s.commit(change{key: k, version: s.version, before: s.get(k)})
}

func (s *store) commit(c change) {
	into(s.live, &c)
	s.unseen = append(s.unseen, c)
	s.show(s.lag)
}

// show caches all but the latest changes.
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

// forget what caches have seen: nobody can begin there any more.
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

// since are the changes that caches have seen after a version.
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

// all objects of a resource, as they are or as caches have seen them, with the version.
func (s *store) all(resource schema.GroupVersionResource, cached bool) (map[types.NamespacedName]object, int) {
	if cached {
		return maps.Clone(s.cached[resource]), s.cachedVersion
	}
	return maps.Clone(s.live[resource]), s.version
}
