// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/go-logr/logr"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"

	"certrotation.dev/controller/rotation"
	"certrotation.dev/registry/trust"
	"certrotation.dev/test/apifake"
)

// leader is a replica of the controller that believes that it leads. There may be two for a while.
type leader struct {
	world      *world
	name       string
	off        time.Duration
	view       view
	controller *rotation.Controller
	dead       bool
	// looked are the domains whose members it has observed since it began.
	looked map[string]bool
	// crashAfter is the number of writes after which it crashes, 0 for never. Only the explorer sets it.
	crashAfter, writes int
	// undisturbed says that its caches were up to date when it began to reconcile, and that nothing has happened or
	// was written since.
	undisturbed bool
}

func newLeader(w *world, name string, off time.Duration) (*leader, error) {
	l := &leader{world: w, name: name, off: off, looked: map[string]bool{}}
	l.view = view{leader: l}
	l.view.catchUp()
	controller, err := rotation.New(rotation.Config{
		Client: &client{leader: l}, Records: &ownClient{leader: l}, Inventory: &l.view, Evidence: l, Recorder: silent{}, Clock: &offClock{world: &w.clock, off: off},
		Skew: knownSkew(off), Issuer: l, Workers: 1,
		Assess: func(d *trust.Domain, now time.Time) *trust.Assessment { return w.protocol(d, now) },
	})
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	l.controller = controller
	return l, nil
}

// knownSkew is the clock skew of a leader, as measured.
type knownSkew time.Duration

// Ask implements rotation.Skew.
func (s knownSkew) Ask(context.Context) (time.Duration, error) { return time.Duration(s), nil }

// stop ends the goroutines of the queue.
func (l *leader) stop() {
	ctx, cancel := context.WithCancel(quiet(context.Background()))
	cancel()
	l.controller.Run(ctx)
}

// quiet is a context without logs.
func quiet(ctx context.Context) context.Context { return klog.NewContext(ctx, logr.Discard()) }

// reconcile reconciles a domain once. An error is no violation, unless it is a panic.
func (l *leader) reconcile(domain string) error {
	l.undisturbed = l.view.upToDate()
	err := l.controller.Reconcile(quiet(context.Background()), namespace, domain)
	if err != nil && strings.Contains(err.Error(), "panic") {
		return violated("NoPanic", "%s: %w", l.name, err)
	}
	if err != nil {
		l.world.say("  %s is told: %v", l.name, err)
	}
	return l.world.takeBroken()
}

// read precedes every read of a leader. It may fail.
func (l *leader) read() error {
	if l.dead {
		return apifake.ErrCrash
	}
	if l.world.faultless || !in(l.world.dice, 40, "fault of a read") {
		return nil
	}
	l.world.injected(apifake.FailedRead)
	return failure()
}

// written does a write of a leader. Another event may precede it, and any fault may hit it.
func written[T any](l *leader, object string, store func() (T, error)) (T, error) {
	var none T
	w := l.world
	w.meanwhile(l)
	if l.dead {
		return none, apifake.ErrCrash
	}
	f := l.fault()
	if err := f.Before(secretResource, object); err != nil {
		l.dead = f.Kills()
		return none, err
	}
	if err := w.api.refuses[object]; err != nil {
		w.counts.event(refusedWrite)
		w.say("  the server refuses that %s writes %s", l.name, object)
		return none, err
	}
	before := w.domains()
	stored, err := store()
	if err != nil {
		return none, err
	}
	l.writes++
	w.counts.writes++
	w.say("  %s writes %s", l.name, object)
	w.breaks(w.afterWrite(l, object, before))
	// The other actions were decided on a state that has changed.
	l.undisturbed = false
	if err := f.After(); err != nil {
		l.dead = f.Kills()
		return none, err
	}
	return stored, nil
}

func (l *leader) fault() apifake.Fault {
	if l.crashAfter > 0 && l.writes+1 == l.crashAfter {
		return apifake.CrashAfterWrite
	}
	if l.world.faultless || !in(l.world.dice, 6, "fault of a write") {
		return apifake.NoFault
	}
	f := one(l.world.dice, "which fault", writeFaults())
	l.world.injected(f)
	return f
}

// LookedOnce implements rotation.Evidence: what was recorded before the leader began counts only after a first
// probe.
func (l *leader) LookedOnce(_, domain string) bool {
	d := l.world.domain(domain)
	if l.looked[domain] || d == nil {
		return true
	}
	l.looked[domain] = true
	l.world.probeAll(d)
	return false
}

// Absences implements rotation.Evidence.
func (l *leader) Absences(_ context.Context, d *trust.Domain, missing []trust.RosterMember) (map[string]string, error) {
	return l.world.absences(d, missing), nil
}

// Refresh implements rotation.Evidence as controller/evidence does: it probes every member that can be probed.
func (l *leader) Refresh(_ context.Context, d *trust.Domain) error {
	if err := l.read(); err != nil {
		return err
	}
	l.world.looker = l
	l.world.probeAll(d)
	l.world.looker = nil
	return nil
}

// silent drops events.
type silent struct{}

var _ events.EventRecorder = silent{}

func (silent) Eventf(runtime.Object, runtime.Object, string, string, string, string, ...any) {}
