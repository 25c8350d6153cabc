// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package apifake

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
)

// anyVersion is the resource version of reads that a cache may answer.
const anyVersion = "0"

// read answers a get or a list, or fails it with the injected fault.
func (s *Server) read(r *Request, action clienttesting.Action) (runtime.Object, error) {
	if err := s.befallsRead(r); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch action := action.(type) {
	case clienttesting.GetActionImpl:
		objects, _ := s.store.all(r.Resource, action.GetOptions.ResourceVersion == anyVersion)
		if o := objects[r.key().NamespacedName]; o != nil {
			return o.DeepCopyObject(), nil
		}
		return nil, apierrors.NewNotFound(r.Resource.GroupResource(), r.Name)
	case clienttesting.ListActionImpl:
		return s.list(r, &action.ListOptions)
	}
	return nil, refused(r)
}

func (s *Server) befallsRead(r *Request) error {
	if s.ReadFault == nil {
		return nil
	}
	return s.ReadFault(r).Before(r.Resource.GroupResource(), r.Name)
}

// list returns the selected objects, sorted by namespace and name, and at most one page if there is a limit.
func (s *Server) list(r *Request, opts *metav1.ListOptions) (runtime.Object, error) {
	empty, err := s.kinds.empty(r.Resource)
	if err != nil {
		return nil, err
	}
	selected, err := selectionOf(r.Resource, r.Namespace, empty.(object), opts)
	if err != nil {
		return nil, err
	}
	objects, version := s.store.all(r.Resource, opts.ResourceVersion == anyVersion)
	var found []object
	for _, o := range objects {
		if selected.has(o) {
			found = append(found, o)
		}
	}
	slices.SortFunc(found, func(a, b object) int { return cmp.Compare(placeOf(a), placeOf(b)) })
	if opts.Continue != "" {
		after, _ := slices.BinarySearchFunc(found, opts.Continue, func(o object, place string) int { return cmp.Compare(placeOf(o), place) })
		if after < len(found) && placeOf(found[after]) == opts.Continue {
			after++
		}
		found = found[after:]
	}
	more, left := "", 0
	if limit := int(opts.Limit); limit > 0 && len(found) > limit {
		left = len(found) - limit
		found = found[:limit]
		more = placeOf(found[limit-1])
	}
	items := make([]runtime.Object, 0, len(found))
	for _, o := range found {
		items = append(items, o.DeepCopyObject())
	}
	return s.listOf(r, items, version, more, int64(left))
}

// placeOf returns an object's sort key in a list, which is also the continue token of the next page.
func placeOf(o object) string { return o.GetNamespace() + "/" + o.GetName() }

func (s *Server) listOf(r *Request, items []runtime.Object, version int, more string, left int64) (runtime.Object, error) {
	list, err := s.kinds.list(r.Resource, items)
	if err != nil {
		return nil, err
	}
	accessor, err := meta.ListAccessor(list)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", r.Resource.Resource, err)
	}
	accessor.SetResourceVersion(strconv.Itoa(version))
	if more != "" {
		accessor.SetContinue(more)
		accessor.SetRemainingItemCount(&left)
	}
	return list, nil
}

// metadataOfRead returns an object or a list as the metadata client sees it.
func (k *kinds) metadataOfRead(o runtime.Object) (runtime.Object, error) {
	if !meta.IsListType(o) {
		return k.metadataOf(o)
	}
	accessor, err := meta.ListAccessor(o)
	if err != nil {
		return nil, err
	}
	out := &metav1.List{ListMeta: metav1.ListMeta{
		ResourceVersion: accessor.GetResourceVersion(), Continue: accessor.GetContinue(), RemainingItemCount: accessor.GetRemainingItemCount(),
	}}
	return out, meta.EachListItem(o, func(item runtime.Object) error {
		metadata, err := k.metadataOf(item)
		out.Items = append(out.Items, runtime.RawExtension{Object: metadata})
		return err
	})
}
