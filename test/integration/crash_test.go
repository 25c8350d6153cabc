// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
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

// chapter is a kind of story.
type chapter struct {
	name   string
	common plot
	faults []fault
	// inTurn has each write meet one of the faults in TestExtendedEveryWrite too, and not all of them.
	inTurn bool
	// every is how many writes there are for each one that meets a fault in TestEveryWrite.
	every int
	// bootstrap and rotation are how many writes they take, where these are always the same.
	bootstrap, rotation int
}

func chapters() []chapter {
	return []chapter{
		// The bootstrap writes that somebody looks, the roster, the signer, the bundle, the roster before the first leaf, and three leaves. The rotation writes the next
		// CA, that the request is answered (it deletes the record), the anchors beside the three leaves, the bundle, that the next CA is about to
		// sign, the leaves of the clients, the promotion, the leaf of the server, the bundle without the former CA, the anchors beside the three
		// leaves, and the signer without its key.
		{
			name: "members that lag", every: 1, bootstrap: 8, rotation: 16, common: plot{namespace: "lag", fault: noFault},
			faults: []fault{killedBefore, killedAfter, conflicting, internalError, lostRequest, lostAnswer},
		},
		// An aggregate is written in the same way as the rest, so one of the harshest faults at each write does.
		{
			name: "eager members and an aggregate", every: 2, common: plot{namespace: "eager", eager: true, aggregated: true, fault: noFault},
			faults: []fault{killedAfter, conflicting, lostAnswer}, inTurn: true,
		},
		// So is the status of a configuration.
		{
			name: "the status", every: 1, common: plot{namespace: "told", statuses: true, fault: noFault},
			faults: []fault{killedAfter, conflicting, lostAnswer}, inTurn: true,
		},
	}
}

// meets says whether the fault of that index befalls write n. In TestEveryWrite, write n meets one of the faults, and write n+1 the
// next of them.
func (c *chapter) meets(index, n int, extended bool) bool {
	inTurn := n%len(c.faults) == index
	if extended {
		return inTurn || !c.inTurn
	}
	return inTurn && n%c.every == 0
}

// TestEveryWrite plays the bootstrap and the rotation of a trust domain again and again, on a real kube-apiserver and with
// the real controller as a process: without a fault, and with a fault at a write. All end in the same state, and no
// member ever meets a leaf that it does not accept. Each kind of write meets a fault, and each kind of fault a write.
func TestEveryWrite(t *testing.T) {
	t.Parallel()
	playChapters(t, false)
}

// TestExtendedEveryWrite has each write meet each kind of fault.
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

// playAll has faults befall writes, and compares the endings with that of the undisturbed story.
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
