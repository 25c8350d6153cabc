// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"k8s.io/client-go/kubernetes"

	"certrotation.dev/test/cluster"
)

// storiesAtOnce is how many stories are played side by side: most of the time each waits for processes of its own.
const storiesAtOnce = 6

// ending is what a story comes to.
type ending struct {
	// writes of the bootstrap and of all, and how many of all were stored.
	bootstrap, writes, stored int
	// met says whether the fault befell a write.
	met   bool
	state map[string]ended
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
	s := &stage{Cluster: c, client: client, own: define(t, c), binary: build(t)}
	for _, tc := range []struct {
		name   string
		common plot
		faults []fault
		// inTurn has each write meet one of the faults, the next write the next one. Otherwise each write meets all.
		inTurn bool
		// bootstrap and rotation are how many writes they take, where these are always the same.
		bootstrap, rotation int
	}{
		// The bootstrap writes the roster, the signer, the bundle and three leaves. The rotation writes the next CA, the bundle,
		// that the request is answered (it deletes the record), the leaves of the clients, the promotion, the leaf of the server,
		// the bundle without the former CA, and the signer without its key.
		{
			name: "members that lag", bootstrap: 6, rotation: 9, common: plot{namespace: "lag", fault: noFault},
			faults: []fault{killedBefore, killedAfter, conflicting, internalError, lostRequest, lostAnswer},
		},
		// An aggregate is written in the same way as the rest, so one of the harshest faults at each write does.
		{
			name: "eager members and an aggregate", common: plot{namespace: "eager", eager: true, aggregated: true, fault: noFault},
			faults: []fault{killedAfter, conflicting, lostAnswer}, inTurn: true,
		},
		// So is the status of a configuration.
		{
			name: "the status", common: plot{namespace: "told", statuses: true, fault: noFault},
			faults: []fault{killedAfter, conflicting, lostAnswer}, inTurn: true,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var undisturbed ending
			if !t.Run(string(noFault), func(t *testing.T) {
				story := s.newStory(t, tc.common)
				undisturbed = story.play()
				story.logWrites(undisturbed)
				if got := [2]int{undisturbed.bootstrap, undisturbed.writes - undisturbed.bootstrap}; tc.common.ordered() && got != [2]int{tc.bootstrap, tc.rotation} {
					t.Errorf("the bootstrap and the rotation take %v writes, want %d and %d", got, tc.bootstrap, tc.rotation)
				}
				story.staysQuiet()
			}) {
				return
			}
			s.playAll(t, tc.common, tc.faults, tc.inTurn, undisturbed)
		})
	}
}

// playAll has the faults befall each write, all of them or one after the other in turn, and compares the endings with that of the
// undisturbed story.
func (s *stage) playAll(t *testing.T, common plot, faults []fault, inTurn bool, undisturbed ending) {
	t.Helper()
	var (
		playing sync.WaitGroup
		places  = make(chan struct{}, storiesAtOnce)
		mu      sync.Mutex
		endings []ending
	)
	for i, f := range faults {
		for n := 1; n <= undisturbed.writes; n++ {
			if inTurn && n%len(faults) != i {
				continue
			}
			places <- struct{}{}
			playing.Go(func() {
				defer func() { <-places }()
				t.Run(fmt.Sprintf("%s %02d", f, n), func(t *testing.T) {
					p := common
					p.namespace, p.fault, p.at = fmt.Sprintf("%s-%d-at-%d", common.namespace, i, n), f, n
					e := s.newStory(t, p).play()
					checkEnding(t, p, undisturbed, e)
					mu.Lock()
					defer mu.Unlock()
					endings = append(endings, e)
				})
			})
		}
	}
	playing.Wait()
	met, least, most, handshakes := 0, undisturbed.stored, undisturbed.stored, undisturbed.handshakes
	for _, e := range endings {
		least, most, handshakes = min(least, e.stored), max(most, e.stored), handshakes+e.handshakes
		if e.met {
			met++
		}
	}
	t.Logf("%d stories with a fault, which befell %d of them; %d to %d writes were stored; "+
		"the members verified leaves %d times", len(endings), met, least, most, handshakes)
}

// checkEnding compares a story with the undisturbed one. The workers of the aggregate and of the status may see several
// changes as one or one by one, so with them the number of writes varies, and the last may be missing.
func checkEnding(t *testing.T, p plot, undisturbed, e ending) {
	t.Helper()
	if diff := cmp.Diff(undisturbed.state, e.state); diff != "" {
		t.Errorf("the end differs from that of the undisturbed story (-want +got):\n%s", diff)
	}
	if !p.ordered() {
		return
	}
	if !e.met {
		t.Errorf("there was no write %d for the fault to befall", p.at)
	}
	if e.stored != undisturbed.stored {
		t.Errorf("%d writes were stored, want %d: nothing is done twice", e.stored, undisturbed.stored)
	}
}

// play takes the trust domain from nothing through a full rotation and checks that it rests then.
func (s *story) play() ending {
	s.t.Helper()
	before := s.active(s.settle(""))
	s.wake(1)
	bootstrap, _ := s.writes()
	s.request()
	s.settle(before)
	s.wake(2)
	s.checkEnd(s.t, s.now(), before)
	e := ending{bootstrap: bootstrap, state: s.endOf(s.t), handshakes: s.handshakes}
	e.writes, e.stored = s.writes()
	e.met = s.proxy.at > 0 && e.writes >= s.proxy.at
	if lives := s.proxy.life.Load(); (e.met && s.proxy.fault.kills()) != (lives == 1) {
		s.t.Errorf("the controller was killed %d times", lives)
	}
	return e
}
