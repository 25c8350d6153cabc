// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// jumps moves the only clock ahead by 20 years, right after a recorded look at the domain.
func jumps(f *fleet) {
	f.d.LookedAt = f.now
	f.now = f.now.Add(20 * years)
}

// jumpsBeforeTheEnd moves it to an hour before the end of the active CA, where the controller looks for two hours.
func jumpsBeforeTheEnd(f *fleet) {
	f.d.LookedAt = f.now
	f.now = f.d.Signer.Active.NotAfter.Add(-time.Hour)
	for range 4 {
		f.settle()
		f.d.LookedAt = f.assess().Looked(&f.d, f.now)
		f.now = f.now.Add(30 * time.Minute)
	}
}

// forgetsLooks makes the model know only its own clock.
func forgetsLooks(d *Domain) { d.LookedAt = time.Time{} }

// wayBack returns the edit that a problem of a clock that was ahead asks for, nil for none.
func wayBack(p *Problem) func(*Domain) {
	switch {
	case strings.Contains(p.Message, "delete Secret/signer:"):
		return deleteSigner
	case strings.Contains(p.Message, "remove the annotation "+AnnotationPublished+" from ConfigMap/bundle:"):
		return func(d *Domain) {
			d.Bundle.Annotations = maps.Clone(d.Bundle.Annotations)
			delete(d.Bundle.Annotations, AnnotationPublished)
		}
	}
	return nil
}

// TestASingleClockJumps: if objects have expired by one clock alone, nothing that live processes need is removed.
// Everything is as before once the clock is right, and what was recorded meanwhile is deleted as the problem says.
func TestASingleClockJumps(t *testing.T) {
	settlesAndComesBack := func(jump, prepare func(f *fleet)) func(f *fleet) error {
		return func(f *fleet) error {
			active, before := f.d.Signer.Active, f.now
			jump(f)
			if prepare != nil {
				prepare(f)
			}
			for range 40 {
				actions := f.assess().Actions
				if len(actions) == 0 {
					break
				}
				f.perform(&actions[0])
			}
			f.now = before.Add(2 * time.Hour)
			if err := f.check(); err != nil {
				return err
			}
			if !slices.ContainsFunc(f.d.Signer.slots(), active.Equal) {
				return errors.New("the key that everybody's leaves are of is gone")
			}
			if p := f.assess().ProblemOf(secret(f.d.Signer.Name)); p != nil && wayBack(p) != nil {
				wayBack(p)(&f.d)
			}
			for range 6 {
				if err := f.settled(); err != nil {
					return err
				}
				f.loadAll()
			}
			if a := f.assess(); a.Stage != Stable || len(f.d.Bundle.Anchors) != 1 {
				return fmt.Errorf("no rest: %s", outline(a))
			}
			return nil
		}
	}
	tellAll(t, []story{
		{name: "everything has expired by it", former: forgetsLooks, tell: settlesAndComesBack(jumps, nil)},
		{name: "everything expires after it", former: forgetsLooks, tell: settlesAndComesBack(jumpsBeforeTheEnd, nil)},
		{name: "leaves and bundle are lost besides", former: forgetsLooks, tell: settlesAndComesBack(jumps, func(f *fleet) {
			for _, name := range f.names() {
				deleteLeaf(name)(&f.d)
			}
			deleteBundle(&f.d)
		})},
	})
}

// TestTimeHasReallyPassed: CAs expired while the controller was away. They are replaced after running members have
// shown what they loaded.
func TestTimeHasReallyPassed(t *testing.T) {
	w := bootstrapped(t)
	w.d.LookedAt = w.now
	old := w.d.Signer.Active
	w.now = w.now.Add(20 * years)
	a := w.settle()
	if !a.has(ReasonClockJumped) || !a.Looked(&w.d, w.now).Equal(w.d.LookedAt) {
		t.Errorf("problems %v, looked at %s", a.Problems, a.Looked(&w.d, w.now))
	}
	for range 8 {
		w.reloadAll()
		w.settle()
	}
	a = w.assess()
	if a.Stage != Stable || w.d.Signer.Active.Equal(old) || len(w.d.Bundle.Anchors) != 1 || a.has(ReasonClockJumped) {
		t.Errorf("no rest: %s", outline(a))
	}
	if looked := a.Looked(&w.d, w.now); looked.Before(w.now.Add(-time.Minute)) {
		t.Errorf("looked at %s, and it is %s", looked, w.now)
	}
}

func TestUnsure(t *testing.T) {
	for _, tt := range []struct {
		name string
		// looked is how long before the end of the leaf the last look was.
		looked time.Duration
		want   bool
	}{
		{"a day before", day, false},
		{"a weekend before", mostUnwatched, false},
		{"a moment longer", mostUnwatched + 1, true},
		{"after it", -time.Hour, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := bootstrapped(t)
			leaf := w.leaf("server").Certificate
			w.now = leaf.NotAfter.Add(time.Hour)
			w.d.LookedAt = leaf.NotAfter.Add(-tt.looked)
			if got := decide(&w.d, w.now).unsure(leaf); got != tt.want {
				t.Errorf("%t, want %t", got, tt.want)
			}
			w.d.LookedAt = time.Time{}
			if decide(&w.d, w.now).unsure(leaf) {
				t.Error("it is unsure, and nobody has recorded a look")
			}
		})
	}
}

// TestLookedOnlyByAClockThatIsBelieved: the recorded time of the last look does not advance while the clock is
// doubted.
func TestLookedOnlyByAClockThatIsBelieved(t *testing.T) {
	w := bootstrapped(t)
	w.d.LookedAt = w.now
	later := w.now.Add(day)
	if got := Assess(&w.d, later).Looked(&w.d, later); !got.Equal(later) {
		t.Errorf("looked at %s, want %s", got, later)
	}
	w.d.ClockSkew = time.Hour
	if got := Assess(&w.d, later).Looked(&w.d, later); !got.Equal(w.d.LookedAt) {
		t.Errorf("with a clock that is off looked at %s, want %s", got, w.d.LookedAt)
	}
}

func TestJudgeSignerThatMayBeInUse(t *testing.T) {
	j := judgement{
		name: "a signer that has expired while nobody looked is deleted", invariant: AnchorInUse, object: "Secret/signer", says: "may be in use", way: "clock",
		before: func(w *world) {
			w.d.LookedAt = w.now
			w.now = w.now.Add(20 * years)
		},
		edit: func(_ *world, d *Domain) { deleteSigner(d) },
	}
	j.run(t)
}
