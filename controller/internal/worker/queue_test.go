// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"

	"certrotation.dev/controller/internal/apply"
)

// bench runs a Queue that works by do, and records when it worked on each key.
type bench struct {
	*Queue[string]

	mu    sync.Mutex
	times map[string][]time.Duration
	begun time.Time
}

func newBench(do func(ctx context.Context, key string, attempt int) error) *bench {
	b := &bench{times: map[string][]time.Duration{}, begun: time.Now()}
	b.Queue = New(Config[string]{
		Name: "test", Describe: func(key string) []any { return []any{"key", key} }, Workers: 2,
		FirstRetry: time.Second, LastRetry: 4 * time.Second, Clock: clock.RealClock{},
		Work: func(ctx context.Context, key string) error {
			b.mu.Lock()
			b.times[key] = append(b.times[key], time.Since(b.begun))
			attempt := len(b.times[key])
			b.mu.Unlock()
			return do(ctx, key, attempt)
		},
	})
	return b
}

func (b *bench) worked(key string) []time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.times[key]
}

func (b *bench) run(t *testing.T, long time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), long)
	defer cancel()
	b.Run(ctx)
}

func TestRetries(t *testing.T) {
	failure := errors.New("it does not work yet")
	for name, tc := range map[string]struct {
		do   func(attempt int) error
		want int
	}{
		"it works":                  {do: func(int) error { return nil }, want: 1},
		"it works at the third":     {do: failing(2, failure), want: 3},
		"somebody else was faster":  {do: failing(1, apply.ErrStale), want: 2},
		"it panics once":            {do: panicking, want: 2},
		"it never works: 0 1 3 7 s": {do: func(int) error { return failure }, want: 4},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(func(_ context.Context, _ string, attempt int) error { return tc.do(attempt) })
				b.Add("demo")
				b.run(t, 10*time.Second)
				if got := b.worked("demo"); len(got) != tc.want {
					t.Errorf("worked on at %v, want %d times", got, tc.want)
				}
			})
		})
	}
}

// failing returns an error for the first attempts.
func failing(attempts int, err error) func(attempt int) error {
	return func(attempt int) error {
		if attempt <= attempts {
			return err
		}
		return nil
	}
}

func panicking(attempt int) error {
	if attempt == 1 {
		panic("one object brings a fault of ours to light")
	}
	return nil
}

// TestPanicStopsNobodyElse: one key always panics, and another one is still processed.
func TestPanicStopsNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(func(_ context.Context, key string, _ int) error {
			if key == "broken" {
				panic("for ever")
			}
			return nil
		})
		b.Add("broken")
		b.AddAfter("whole", 5*time.Second)
		b.run(t, 10*time.Second)
		if got := b.worked("whole"); len(got) != 1 || got[0] != 5*time.Second {
			t.Errorf("worked on at %v", got)
		}
	})
}

func TestDoNamesWhatItIsAbout(t *testing.T) {
	for name, tc := range map[string]struct {
		do   func(ctx context.Context) error
		want string
	}{
		"a panic": {do: func(context.Context) error { panic("at the disco") }, want: "panic while working on demo: at the disco"},
		"no end":  {do: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, want: "work on demo"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(func(ctx context.Context, _ string, _ int) error { return tc.do(ctx) })
				defer b.ShutDown()
				err := b.Do(t.Context(), "demo")
				if err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("error %v, want one with %q", err, tc.want)
				}
				if took := time.Since(b.begun); took > Deadline {
					t.Errorf("it took %s", took)
				}
			})
		})
	}
}

// TestEndFinishesWhatHasBegun: when the queue ends, the work in progress completes and no other begins.
func TestEndFinishesWhatHasBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		finished := false
		b := newBench(func(ctx context.Context, key string, _ int) error {
			if key == "slow" {
				<-ctx.Done()
				finished = true
				return errors.New("cut off")
			}
			return nil
		})
		b.Add("slow")
		b.AddAfter("later", time.Minute)
		b.run(t, 3*time.Second)
		if !finished || len(b.worked("slow")) != 1 || len(b.worked("later")) != 0 {
			t.Errorf("finished %t, slow at %v, later at %v", finished, b.worked("slow"), b.worked("later"))
		}
	})
}
