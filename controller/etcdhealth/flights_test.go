// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package etcdhealth

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"certrotation.dev/registry/quorum"
)

// slow returns a check that takes a second and returns its number.
func slow(began *atomic.Int64) checkFunc {
	return func(ctx context.Context) (quorum.Observation, error) {
		n := began.Add(1)
		select {
		case <-time.After(time.Second):
			return quorum.Observation{Leader: uint64(n)}, nil
		case <-ctx.Done():
			return quorum.Observation{}, ctx.Err()
		}
	}
}

// TestNoAnswerIsOlderThanItsQuestion: callers that ask while a check runs share the next one.
func TestNoAnswerIsOlderThanItsQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &flights{keys: map[string]*line{}}
		var (
			began  atomic.Int64
			asking sync.WaitGroup
		)
		ask := func(want uint64) {
			asking.Go(func() {
				o, err := f.share(t.Context(), "key", slow(&began))
				if err != nil || o.Leader != want {
					t.Errorf("got the answer of check %d, %v; want that of %d", o.Leader, err, want)
				}
			})
			synctest.Wait()
		}
		ask(1)
		for range 10 {
			ask(2)
		}
		<-time.After(1500 * time.Millisecond)
		ask(3)
		asking.Wait()
		if began.Load() != 3 || len(f.keys) != 0 {
			t.Errorf("%d checks, %d lines are left; want 3 and none", began.Load(), len(f.keys))
		}
	})
}

func TestOtherQuestionsDoNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &flights{keys: map[string]*line{}}
		var (
			began  atomic.Int64
			asking sync.WaitGroup
		)
		before := time.Now()
		for _, key := range []string{"a", "b"} {
			asking.Go(func() {
				if _, err := f.share(t.Context(), key, slow(&began)); err != nil {
					t.Error(err)
				}
			})
		}
		asking.Wait()
		if took := time.Since(before); took != time.Second {
			t.Errorf("both took %s, want a second", took)
		}
	})
}

// TestCheckEndsWithItsLastAsker: a check continues for the second caller when the first one leaves, and ends with
// the last.
func TestCheckEndsWithItsLastAsker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &flights{keys: map[string]*line{}}
		var (
			began  atomic.Int64
			asking sync.WaitGroup
		)
		ask := func(want error) context.CancelFunc {
			ctx, cancel := context.WithCancel(t.Context())
			asking.Go(func() {
				if _, err := f.share(ctx, "key", slow(&began)); !errors.Is(err, want) {
					t.Errorf("got %v, want %v", err, want)
				}
			})
			synctest.Wait()
			return cancel
		}
		leave := ask(context.Canceled)
		first, second := ask(context.Canceled), ask(nil)
		defer second()
		leave()
		first()
		asking.Wait()
		last := ask(context.Canceled)
		last()
		asking.Wait()
		synctest.Wait()
		if began.Load() != 3 || len(f.keys) != 0 {
			t.Errorf("%d checks, %d lines are left; want 3 and none", began.Load(), len(f.keys))
		}
	})
}
