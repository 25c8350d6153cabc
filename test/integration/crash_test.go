// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"k8s.io/client-go/kubernetes"

	"certrotation.dev/test/cluster"
)

// storiesAtOnce is how many stories are played side by side: most of the time each of them waits for the others of its
// own processes.
const storiesAtOnce = 6

// ending is what a story comes to.
type ending struct {
	// bootstrap and rotation are the numbers of writes.
	bootstrap, rotation int
	state               map[string]ended
	// handshakes that were checked.
	handshakes int
}

// TestEveryWrite plays the bootstrap and the rotation of a trust domain again and again, on a real kube-apiserver and with
// the real controller as a process: without a fault, and with each fault at each write. All end in the same state, and no
// member ever meets a leaf that it does not accept.
func TestEveryWrite(t *testing.T) {
	c := cluster.ForTest(t)
	client, err := kubernetes.NewForConfig(c.AdminConfig())
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{Cluster: c, client: client, binary: build(t)}

	var undisturbed ending
	if !t.Run("no fault", func(t *testing.T) {
		story := s.newStory(t, "undisturbed", noFault, 0)
		undisturbed = story.play()
		story.logWrites(undisturbed)
		story.staysQuiet()
	}) {
		return
	}
	total := undisturbed.bootstrap + undisturbed.rotation
	var (
		playing sync.WaitGroup
		places  = make(chan struct{}, storiesAtOnce)
		mu      sync.Mutex
		checked int
	)
	for i, f := range []fault{killedBefore, killedAfter, conflicting, internalError, lostRequest, lostAnswer} {
		for n := 1; n <= total; n++ {
			places <- struct{}{}
			playing.Go(func() {
				defer func() { <-places }()
				t.Run(fmt.Sprintf("%s %02d", f, n), func(t *testing.T) {
					got := s.newStory(t, fmt.Sprintf("fault-%d-at-%d", i, n), f, n).play()
					if diff := cmp.Diff(undisturbed.state, got.state); diff != "" {
						t.Errorf("the end differs from that of the undisturbed story (-want +got):\n%s", diff)
					}
					want := total
					if !f.stores() {
						want++
					}
					if writes := got.bootstrap + got.rotation; writes != want {
						t.Errorf("%d writes, want %d", writes, want)
					}
					mu.Lock()
					defer mu.Unlock()
					checked += got.handshakes
				})
			})
		}
	}
	playing.Wait()
	t.Logf("%d stories, %d faults each at %d writes; %d verifications of a leaf by a member, none failed", 6*total+1, 6, total, checked)
}

// play takes the trust domain from nothing through a full rotation and checks that it rests then.
func (s *story) play() ending {
	s.t.Helper()
	before := s.active(s.settle(""))
	s.wake(1)
	bootstrap := s.writes()
	s.request()
	o := s.settle(before)
	s.wake(2)
	s.checkEnd(s.t, s.now(), before)
	if s.proxy.fault != noFault && s.writes() < s.proxy.at {
		s.t.Errorf("there was no write %d for the fault to befall: %s", s.proxy.at, s.describe(o))
	}
	if lives := s.proxy.life.Load(); s.proxy.fault.kills() != (lives == 1) {
		s.t.Errorf("the controller was killed %d times", lives)
	}
	return ending{bootstrap: bootstrap, rotation: s.writes() - bootstrap, state: s.endOf(s.t), handshakes: s.handshakes}
}

// wake makes an edit that means nothing and returns once the controller has looked at it and has nothing more to do.
func (s *story) wake(count int) {
	s.t.Helper()
	s.awaitIdle(0)
	before := s.queued(s.t.Context())
	s.annotate("web-server", strconv.Itoa(count), "example.com/wake-up")
	s.awaitIdle(before.adds)
}

// queue is what the controller's metrics say of its work queue.
type queue struct{ adds, done, depth float64 }

// awaitIdle waits until more than that many keys were added to the queue, and all were worked on.
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

// queued asks the controller; it answers nothing while it starts.
func (s *story) queued(ctx context.Context) (q queue) {
	s.t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.metrics+"/metrics", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return queue{}
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return queue{}
	}
	for _, match := range queueMetric.FindAllStringSubmatch(string(body), -1) {
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

// staysQuiet wakes the controller of a settled system again and again; it writes nothing.
func (s *story) staysQuiet() {
	s.t.Helper()
	before, start, looked := s.writes(), time.Now(), s.queued(s.t.Context())
	const edits = 20
	for i := range edits {
		s.wake(10 + i)
	}
	if wrote := s.writes() - before; wrote != 0 {
		s.t.Errorf("%d writes to a settled system, want none", wrote)
	}
	s.t.Logf("settled: 0 writes in %s, in which %d edits had the controller look %g times",
		time.Since(start).Round(time.Millisecond), edits, s.queued(s.t.Context()).adds-looked.adds)
}

var doneLine = regexp.MustCompile(`"Done" .*action="(\w+)" kind="(\w+)" object="[^/"]+/([^"]+)"`)

// logWrites prints the writes of a story with the actions that they belong to, which the controller logs in that order.
func (s *story) logWrites(e ending) {
	s.t.Helper()
	log, err := os.ReadFile(s.controller.LogFile())
	if err != nil {
		s.t.Fatal(err)
	}
	actions := doneLine.FindAllStringSubmatch(string(log), -1)
	writes, err := s.proxy.written()
	if err != nil || len(actions) != len(writes) {
		s.t.Fatalf("%d actions are logged for %d writes, error %v", len(actions), len(writes), err)
	}
	var table strings.Builder
	fmt.Fprintf(&table, "a bootstrap takes %d writes, a rotation %d:\n", e.bootstrap, e.rotation)
	for i, write := range writes {
		phase := "bootstrap"
		if i >= e.bootstrap {
			phase = "rotation"
		}
		verb, _, _ := strings.Cut(write, " ")
		fmt.Fprintf(&table, "%3d  %-10s %-4s %-16s %s/%s\n", i+1, phase, verb, actions[i][1], actions[i][2], actions[i][3])
	}
	s.t.Log(table.String())
}
