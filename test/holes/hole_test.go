// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package holes

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"certrotation.dev/registry/trust"
)

// rules decide in a story. The zero value means our rules. Each field replaces one of them by a rule of an older
// system, or by a plain mistake.
type rules struct {
	// assess decides what the controller does.
	assess func(d *trust.Domain, now time.Time) *trust.Assessment
	// judge decides which edits the webhook admits.
	judge func(before, after *trust.Domain, now time.Time) []trust.Violation
	// refused is what a system does after a conflict.
	refused func()
	// nodeLeft is what a system does after a node was removed.
	nodeLeft func(node string)
}

// broken is a set of rules with which a story must fail.
type broken struct {
	name  string
	rules func(w *world) rules
	// says is a part of the expected failure, so that the story fails for the right reason.
	says string
}

func byAssess(name, says string, assess func(d *trust.Domain, now time.Time) *trust.Assessment) broken {
	return broken{name: name, says: says, rules: func(*world) rules { return rules{assess: assess} }}
}

// noWebhook returns rules that admit every edit.
func noWebhook(says string) broken {
	return broken{name: "nobody judges edits", says: says, rules: func(*world) rules {
		return rules{judge: func(_, _ *trust.Domain, _ time.Time) []trust.Violation { return nil }}
	}}
}

// hole runs a story with our rules, which must pass, and with each of the broken ones, which must fail.
func hole(t *testing.T, s setting, story func(w *world), variants ...broken) {
	t.Helper()
	t.Parallel()
	if len(variants) == 0 {
		t.Fatal("no broken rule shows that this test can fail")
	}
	if failure := tell(t, s, story, nil); failure != "" {
		t.Error(failure)
	}
	for _, v := range variants {
		mustFail(t, v, func(b broken) string { return tell(t, s, story, b.rules) })
	}
}

func mustFail(t *testing.T, b broken, told func(b broken) string) {
	t.Helper()
	switch failure := told(b); {
	case failure == "":
		t.Errorf("broken rule %q: nobody noticed", b.name)
	case !strings.Contains(failure, b.says):
		t.Errorf("broken rule %q: it fails with %q, want something about %q", b.name, failure, b.says)
	default:
		t.Logf("broken rule %q is noticed: %s", b.name, failure)
	}
}

// tell plays a story in a world of its own and returns its first failure, "" if there is none. The story has its
// own goroutine because a failure ends it in the middle.
func tell(t *testing.T, s setting, story func(w *world), with func(w *world) rules) string {
	t.Helper()
	w := newWorld(t, s)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if !s.empty {
			w.follow()
			w.expect(w.stage() == trust.Stable, "the bootstrap ends in the stage %s", w.stage())
		}
		if with != nil {
			w.rules = with(w)
		}
		story(w)
	}()
	<-done
	return w.failure
}

// expect ends the story if a condition does not hold.
func (w *world) expect(ok bool, format string, args ...any) {
	if !ok {
		w.failf(format, args...)
	}
}

func (w *world) failf(format string, args ...any) {
	if w.failure == "" {
		w.failure = sprintf(format, args...)
	}
	runtime.Goexit()
}

// TestAStoryCanFail checks that a failure in a story is its result.
func TestAStoryCanFail(t *testing.T) {
	t.Parallel()
	if got := tell(t, web, func(*world) {}, nil); got != "" {
		t.Errorf("a story in which nothing happens fails: %s", got)
	}
	if got := tell(t, web, func(w *world) { w.expect(false, "on purpose") }, nil); got != "on purpose" {
		t.Errorf("a story that fails ends with %q", got)
	}
	empty := func(w *world) {
		w.api.put(w.api.configMap("bundle"))
		cm := w.api.configMap("bundle")
		cm.Data = nil
		w.api.put(cm)
		w.check()
	}
	if got := tell(t, web, empty, nil); got != "the bundle holds no anchor" {
		t.Errorf("an empty bundle ends with %q", got)
	}
}
