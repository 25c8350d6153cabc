// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"certrotation.dev/test/cluster/installation"
)

// wake makes an edit without meaning, and returns when the controller has processed it and is idle.
func (s *story) wake(count int) {
	s.t.Helper()
	s.awaitIdle(0)
	before := s.queued(s.t.Context())
	s.annotate("web-server", strconv.Itoa(count), "example.com/wake-up")
	s.awaitIdle(before.adds)
}

// queue has the metrics of the controller's work queue.
type queue struct{ adds, done, depth float64 }

// awaitIdle waits until more keys than this were added to the queue, and all of them are done.
func (s *story) awaitIdle(more float64) {
	s.t.Helper()
	eventually(s.t, "the controller is idle", func(ctx context.Context) error {
		if q := s.queued(ctx); q.adds <= more || q.done < q.adds || q.depth > 0 {
			return fmt.Errorf("queue %+v, want more than %g adds and all of them done", q, more)
		}
		return nil
	})
}

var queueMetric = regexp.MustCompile(`(?m)^workqueue_(adds_total|work_duration_seconds_count|depth)\{name="rotation"\} (\S+)$`)

// queued scrapes the controller. It returns zeros while the controller starts.
func (s *story) queued(ctx context.Context) (q queue) {
	s.t.Helper()
	address, err := healthAddress(s.controller)
	if err != nil {
		return queue{}
	}
	body, err := installation.Scrape(ctx, s.admin, "https://"+address+"/metrics")
	if err != nil {
		return queue{}
	}
	for _, match := range queueMetric.FindAllStringSubmatch(body, -1) {
		value, err := strconv.ParseFloat(match[2], 64)
		if err != nil {
			s.t.Fatal(err)
		}
		switch match[1] {
		case "adds_total":
			q.adds = value
		case "depth":
			q.depth = value
		default:
			q.done = value
		}
	}
	return q
}

// staysQuiet wakes the controller of a settled system repeatedly, and asserts that it writes nothing.
func (s *story) staysQuiet() {
	s.t.Helper()
	before, _ := s.writes()
	start, looked := time.Now(), s.queued(s.t.Context())
	const edits = 20
	for i := range edits {
		s.wake(10 + i)
	}
	if after, _ := s.writes(); after != before {
		s.t.Errorf("%d writes to a settled system, want none", after-before)
	}
	s.t.Logf("settled: 0 writes in %s, in which %d edits had the controller look %g times",
		time.Since(start).Round(time.Millisecond), edits, s.queued(s.t.Context()).adds-looked.adds)
}

var doneLine = regexp.MustCompile(`"Done" .*action="(\w+)" kind="(\w+)" object="[^/"]+/([^"]+)"`)

// logWrites logs the writes of a story with their actions. The controller logs the actions in the same order.
func (s *story) logWrites(e ending) {
	s.t.Helper()
	if s.proxy.statuses {
		s.t.Logf("the status is written %d times in a bootstrap and %d times in a rotation", e.bootstrap, e.writes-e.bootstrap)
		return
	}
	log, err := os.ReadFile(s.controller.LogFile())
	if err != nil {
		s.t.Fatal(err)
	}
	actions := doneLine.FindAllStringSubmatch(string(log), -1)
	writes, _, err := s.proxy.written()
	if len(writes) > 0 {
		// The first write is the record of kind Clock, which belongs to no action.
		writes = writes[1:]
	}
	if err != nil || len(actions) != len(writes) {
		s.t.Fatalf("%d actions are logged for %d writes, error %v\n%s", len(actions), len(writes), err, s.describe(s.now()))
	}
	var table strings.Builder
	fmt.Fprintf(&table, "a bootstrap takes %d writes, a rotation %d:\n", e.bootstrap, e.writes-e.bootstrap)
	for i, write := range writes {
		phase := "bootstrap"
		if i+1 >= e.bootstrap {
			phase = "rotation"
		}
		verb, _, _ := strings.Cut(write, " ")
		fmt.Fprintf(&table, "%3d  %-10s %-4s %-24s %s/%s\n", i+2, phase, verb, actions[i][1], actions[i][2], actions[i][3])
	}
	s.t.Log(table.String())
}
