// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"context"

	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/utils/ptr"
)

// Watch streams the changes of the selected objects. The options follow upstream: without a
// resource version ("" or "0") the stream starts with an ADDED event per object, unless
// initial events are declined; with one it resumes behind it, unless they are asked for.
// Anything that goes wrong after the options were parsed is an ERROR event, after which the
// stream ends. A consumer that falls behind the history is cut off.
func (s *Store) Watch(ctx context.Context, key string, opts storage.ListOptions) (watch.Interface, error) {
	key, err := storage.PrepareKey(s.cfg.ResourcePrefix, key, opts.Recursive)
	if err != nil {
		return nil, err
	}
	requested, err := s.parse(opts.ResourceVersion)
	if err != nil {
		return nil, err
	}
	start, err := s.readable()
	if err != nil {
		return nil, err
	}
	initial := ptr.Deref(opts.SendInitialEvents, requested == 0)
	if requested != 0 {
		if start, err = s.admit(ctx, requested, !initial, watchExpired); err != nil {
			return newEndedWatch(err), nil
		}
	}
	w := newWatcher(ctx, s, newSelection(key, opts), opts)
	w.cursor = start.revision
	if !initial && requested != 0 {
		w.cursor = requested
	}
	if !initial {
		start = nil
	}
	if !s.enter() {
		return newEndedWatch(nil), nil
	}
	go func() {
		defer s.running.Done()
		w.run(start)
	}()
	return w, nil
}
