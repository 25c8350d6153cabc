// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"

	"certrotation.dev/registry/view/inventory"
)

// TestLiveReadsAreShared: all callers that arrive during a read share one more read, which begins after they
// arrived.
func TestLiveReadsAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reads, proceed := 0, make(chan struct{})
		l := newLiveReads(func(_ context.Context, namespace string) (*state, error) {
			reads++
			number := strconv.Itoa(reads)
			<-proceed
			return &state{sources: &inventory.Sources{Namespace: namespace + number}}, nil
		})
		var asked sync.WaitGroup
		ask := func(want string) {
			asked.Go(func() {
				if s, err := l.read(t.Context(), "ns"); err != nil || s.sources.Namespace != want {
					t.Errorf("got %v, %v; want the read %s", s, err, want)
				}
			})
		}
		ask("ns1")
		synctest.Wait()
		for range maxWaiting - 1 {
			ask("ns2")
		}
		synctest.Wait()
		if reads != 1 {
			t.Errorf("%d reads at a time, want 1", reads)
		}
		if _, err := l.read(t.Context(), "ns"); !errors.Is(err, errBusy) {
			t.Errorf("one too many waits: error %v", err)
		}
		proceed <- struct{}{}
		synctest.Wait()
		if reads != 2 {
			t.Errorf("%d reads, want the second for all who wait", reads)
		}
		close(proceed)
		asked.Wait()
		if reads != 2 || len(l.namespaces) != 0 {
			t.Errorf("%d reads, want 2; %d namespaces are remembered, want none", reads, len(l.namespaces))
		}
	})
}

// TestLiveReadsOfOthers: a caller that gives up does not affect the others, and namespaces do not wait for each
// other.
func TestLiveReadsOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		l := newLiveReads(func(_ context.Context, namespace string) (*state, error) {
			if namespace == "slow" {
				<-release
				return nil, errors.New("slow")
			}
			return &state{}, nil
		})
		var asked sync.WaitGroup
		asked.Go(func() {
			if _, err := l.read(t.Context(), "slow"); err == nil || err.Error() != "slow" {
				t.Errorf("error %v, want that of the read", err)
			}
		})
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		asked.Go(func() {
			if _, err := l.read(ctx, "slow"); !errors.Is(err, context.Canceled) {
				t.Errorf("error %v, want that of the context", err)
			}
		})
		synctest.Wait()
		cancel()
		if _, err := l.read(t.Context(), "quick"); err != nil {
			t.Error(err)
		}
		close(release)
		asked.Wait()
	})
}
