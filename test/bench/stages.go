// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"

	"certrotation.dev/apis/certrotation/v1alpha1"
	certrotationclient "certrotation.dev/generated/clientset/versioned/typed/certrotation/v1alpha1"
)

// stages are the stages of a trust domain that the API has shown, with the time each was first seen. They come
// from its bundle, which unlike the signer does not list the members.
type stages struct {
	mu      sync.Mutex
	shown   []shownStage
	changed chan struct{}
	ended   error
}

type shownStage struct {
	stage v1alpha1.Stage
	at    time.Time
}

// followStages watches until ctx ends.
func followStages(ctx context.Context, bundles certrotationclient.BundleStatusInterface) *stages {
	s := &stages{changed: make(chan struct{})}
	lists := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			return bundles.List(ctx, opts)
		},
		WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			return bundles.Watch(ctx, opts)
		},
	}
	go func() {
		_, err := watchtools.UntilWithSync(ctx, lists, &v1alpha1.BundleStatus{}, nil, func(event watch.Event) (bool, error) {
			if bundle, ok := event.Object.(*v1alpha1.BundleStatus); ok {
				s.see(bundle.Status.Stage, nil)
			}
			return false, nil
		})
		s.see("", err)
	}()
	return s
}

func (s *stages) see(stage v1alpha1.Stage, ended error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.shown); ended == nil && n > 0 && s.shown[n-1].stage == stage {
		return
	}
	if s.ended = ended; ended == nil {
		s.shown = append(s.shown, shownStage{stage, time.Now()})
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

// await returns the time of the first of the wanted stages that was seen at since or later.
func (s *stages) await(ctx context.Context, since time.Time, wanted ...v1alpha1.Stage) (time.Time, error) {
	for {
		at, changed, err := s.reached(since, wanted)
		switch {
		case !at.IsZero():
			return at, nil
		case err != nil:
			return time.Time{}, fmt.Errorf("wait for the stages %v: %w", wanted, err)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return time.Time{}, fmt.Errorf("wait for the stages %v, the last one is %v: %w", wanted, s.last(), ctx.Err())
		}
	}
}

var errNotFollowed = errors.New("the watch has ended")

func (s *stages) reached(since time.Time, wanted []v1alpha1.Stage) (time.Time, <-chan struct{}, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.shown {
		if !one.at.Before(since) && slices.Contains(wanted, one.stage) {
			return one.at, s.changed, nil
		}
	}
	if s.ended != nil {
		return time.Time{}, s.changed, errors.Join(errNotFollowed, s.ended)
	}
	return time.Time{}, s.changed, nil
}

func (s *stages) last() v1alpha1.Stage {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.shown) == 0 {
		return ""
	}
	return s.shown[len(s.shown)-1].stage
}
