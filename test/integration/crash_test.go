// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// storiesAtOnce is how many stories run in parallel. Each mostly waits for its own processes.
const storiesAtOnce = 6

// ending is the result of a story.
type ending struct {
	// bootstrap counts the writes of the bootstrap, writes all of them, and stored those that were stored.
	bootstrap, writes, stored int
	// met means that the fault occurred at a write.
	met   bool
	state map[string]ended
	// handshakes counts the checked handshakes.
	handshakes int
}

// chapter is a kind of story.
type chapter struct {
	name   string
	common plot
	faults []fault
	// inTurn means that each write meets only one of the faults, in TestExtendedEveryWrite too.
	inTurn bool
	// every means that in TestEveryWrite only one of this number of writes meets a fault.
	every int
	// bootstrap and rotation are the numbers of their writes, if these are constant.
	bootstrap, rotation int
}

func chapters() []chapter {
	return []chapter{
		// The bootstrap writes, in this order:
		//
		//   - the record of kind Clock, and the roster,
		//   - the signer, the bundle, and the roster before the first leaf,
		//   - three leaves.
		//
		// The rotation writes, in this order:
		//
		//   - the next CA, and the answer to the request (it deletes the record),
		//   - the anchors beside the three leaves, and the bundle,
		//   - the record that the next CA is about to sign,
		//   - the leaves of the clients, the promotion, and the leaf of the server,
		//   - the bundle without the former CA, the anchors beside the three leaves, and the signer without its
		//     key.
		{
			name: "members that lag", every: 1, bootstrap: 8, rotation: 16, common: plot{namespace: "lag", fault: noFault},
			faults: []fault{killedBefore, killedAfter, conflicting, internalError, lostRequest, lostAnswer},
		},
		// An aggregate is written in the same way, so one of the harshest faults at each write is enough.
		{
			name: "eager members and an aggregate", every: 2, common: plot{namespace: "eager", eager: true, aggregated: true, fault: noFault},
			faults: []fault{killedAfter, conflicting, lostAnswer}, inTurn: true,
		},
		// The same holds for the status of a configuration.
		{
			name: "the status", every: 1, common: plot{namespace: "told", statuses: true, fault: noFault},
			faults: []fault{killedAfter, conflicting, lostAnswer}, inTurn: true,
		},
	}
}

// meets reports whether the fault with an index occurs at write n. In TestEveryWrite the faults take turns, one
// per write.
func (c *chapter) meets(index, n int, extended bool) bool {
	inTurn := n%len(c.faults) == index
	if extended {
		return inTurn || !c.inTurn
	}
	return inTurn && n%c.every == 0
}

// TestEveryWrite replays the bootstrap and the rotation of a trust domain on a real kube-apiserver, with the real
// controller as a process. It does so without a fault, and with a fault at a write. All stories end in the same
// state, and no member ever meets a leaf that it does not accept. Each kind of write meets a fault, and each kind
// of fault a write.
func TestEveryWrite(t *testing.T) {
	t.Parallel()
	playChapters(t, false)
}

// TestExtendedEveryWrite lets each write meet each kind of fault, except in chapters with inTurn.
func TestExtendedEveryWrite(t *testing.T) {
	t.Parallel()
	playChapters(t, true)
}

func playChapters(t *testing.T, extended bool) {
	t.Helper()
	p := barePlane.use(t)
	for _, tc := range chapters() {
		if extended {
			tc.common.namespace += "-extended"
		}
		t.Run(tc.name, func(t *testing.T) {
			var undisturbed ending
			if !t.Run(string(noFault), func(t *testing.T) {
				story := p.newStory(t, tc.common)
				undisturbed = story.play()
				story.logWrites(undisturbed)
				if got := [2]int{undisturbed.bootstrap, undisturbed.writes - undisturbed.bootstrap}; tc.common.ordered() && got != [2]int{tc.bootstrap, tc.rotation} {
					t.Errorf("the bootstrap and the rotation take %v writes, want %d and %d", got, tc.bootstrap, tc.rotation)
				}
				story.staysQuiet()
			}) {
				return
			}
			p.playAll(t, &tc, extended, undisturbed)
		})
	}
}

// playAll plays the stories with faults, and compares their endings with the undisturbed story.
func (p *plane) playAll(t *testing.T, c *chapter, extended bool, undisturbed ending) {
	t.Helper()
	var (
		playing sync.WaitGroup
		places  = make(chan struct{}, storiesAtOnce)
		mu      sync.Mutex
		endings []ending
	)
	for i, f := range c.faults {
		for n := 1; n <= undisturbed.writes; n++ {
			if !c.meets(i, n, extended) {
				continue
			}
			places <- struct{}{}
			playing.Go(func() {
				defer func() { <-places }()
				t.Run(fmt.Sprintf("%s %02d", f, n), func(t *testing.T) {
					told := c.common
					told.namespace, told.fault, told.at = fmt.Sprintf("%s-%d-at-%d", told.namespace, i, n), f, n
					e := p.newStory(t, told).play()
					checkEnding(t, told, undisturbed, e)
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

// checkEnding compares a story with the undisturbed one. The workers of the aggregate and of the status may merge
// several changes into one write. With them the number of writes varies, and the last one may be missing.
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

// play takes the trust domain from nothing through a full rotation, and checks that it is then at rest.
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
