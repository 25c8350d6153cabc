// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"slices"
	"strings"
	"testing"
	"time"

	"certrotation.dev/registry/pki"
)

// fuzzed are the annotations that a person may write, on every object.
var fuzzed = []string{
	AnnotationNotBefore, AnnotationNotAfter, AnnotationIssuer, AnnotationHostnames, AnnotationRefreshPeriod, AnnotationRolloutRevision,
	AnnotationCompromised, AnnotationPlan, AnnotationAnswered, AnnotationPublished,
	AnnotationIssuedAt, AnnotationPromotedAt,
}

// FuzzParsePublished: what is parsed occurs in the text, and survives a round trip.
func FuzzParsePublished(f *testing.F) {
	for _, text := range []string{
		"", "=", "ab=2026-01-02T03:04:05Z", "ab=2026-01-02T03:04:05.9+02:00 cd=2027-01-02T03:04:05Z", "ab=x ab=2026-01-02T03:04:05Z",
		"ab", "ab==", "\x00=\xff", "ab=0000-01-01T00:00:00Z", "ab=9999-12-31T23:59:59Z", strings.Repeat("a=2026-01-02T03:04:05Z ", 100),
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		times := parsePublished(text)
		for fingerprint := range times {
			if !strings.Contains(text, string(fingerprint)+"=") {
				t.Fatalf("%q is not in %q", fingerprint, text)
			}
		}
		again := parsePublished(formatPublished(times))
		for fingerprint, at := range times {
			written, ok := again[fingerprint]
			// RFC 3339 cannot express a year of five digits.
			if !ok && at.UTC().Year() <= 9998 {
				t.Fatalf("%q is lost", fingerprint)
			}
			if ok && (written.Before(at) || written.Sub(at) >= time.Second) {
				t.Fatalf("%s becomes %s", at, written)
			}
		}
	})
}

// FuzzAnnotations writes any text into any annotation of any object at any stage. It must not panic. An edit that
// the guard admits opens no gate. An edit past the guard opens none that content keeps closed.
func FuzzAnnotations(f *testing.F) {
	fleets := stagesOf(f)
	values := []string{
		"", "2020-01-01T00:00:00Z", "2999-01-01T00:00:00Z", "yesterday", "-1", "99999999999999999999", "\x00\xff",
		string(fleets[0].d.Signer.Active.Fingerprint), string(fleets[0].d.Signer.Active.Fingerprint) + "=2020-01-01T00:00:00Z",
	}
	for stage := range fleets {
		for key := range fuzzed {
			f.Add(byte(stage), byte(stage+key), byte(key), false, values[(stage+key)%len(values)])
			f.Add(byte(stage), byte(key), byte(key), stage%2 == 0, values[key%len(values)])
		}
		if next := fleets[stage].d.Signer.Next; next != nil {
			f.Add(byte(stage), byte(1), byte(10), false, string(next.Fingerprint)+"=2020-01-01T00:00:00Z")
		}
	}
	f.Fuzz(func(t *testing.T, stage, object, key byte, remove bool, value string) {
		fl := fleets[int(stage)%len(fleets)]
		before, after := fl.clone(), fl.clone()
		objects := []*Object{&after.Signer.Object, &after.Bundle.Object}
		for i := range after.Leaves {
			objects = append(objects, &after.Leaves[i].Object)
		}
		o, name := objects[int(object)%len(objects)], fuzzed[int(key)%len(fuzzed)]
		if remove {
			delete(o.Annotations, name)
		} else {
			o.Annotations[name] = value
		}
		was, is := Assess(before, fl.now), Assess(after, fl.now)
		neverEarlier(t, after, is, fl.now)
		if len(Judge(before, after, fl.now)) == 0 && was.InFlight() {
			opensNothing(t, was, is)
		}
		for i := range is.Actions {
			if is.Actions[i].Kind == IssueLeaf {
				continue
			}
			for k := range is.Actions[i].Annotations {
				if !KnownAnnotation(k) {
					t.Fatalf("writes the annotation %q", k)
				}
			}
		}
	})
}

// stagesOf returns a fleet of all evidence kinds at every step of a rotation.
func stagesOf(f *testing.F) []*fleet {
	var out []*fleet
	top := topology{servers: []EvidenceKind{TLSProbe, GracePeriod}, clients: []EvidenceKind{Acknowledgement, Renewed, GracePeriod}}
	for steps := range 14 {
		fl := newFleet(f, top)
		fl.d.Unlisted = &Unlisted{Drain: time.Hour}
		fl.d.ReissuePerMinute = 3
		fl.pass(day)
		fl.request("fuzz")
		for range steps {
			if actions := fl.assess().Actions; len(actions) > 0 {
				fl.act(&actions[0])
			} else {
				fl.pass(40 * time.Minute)
			}
			fl.loadAll()
		}
		out = append(out, fl)
	}
	return out
}

// neverEarlier requires, also without a guard, that a proof by time waits for the grace since a CA or leaf was
// made.
func neverEarlier(t *testing.T, d *Domain, a *Assessment, now time.Time) {
	t.Helper()
	old := func(c *pki.Certificate) bool {
		return c == nil || !now.Before(c.NotBefore.Add(d.Signer.Policy.Profile.Backdate+fleetGrace))
	}
	for i, m := range a.Members {
		if m.Kind != GracePeriod {
			continue
		}
		if m.Trusted && !old(a.Newest) {
			t.Errorf("%s trusts %s within its grace period", m.Member, a.Newest.Subject)
		}
		if c := leafCertificate(d, m.Member); m.Delivered && !old(c) {
			t.Errorf("member %d presents %s within its grace period", i, c.Subject)
		}
	}
}

func leafCertificate(d *Domain, name string) *pki.Certificate {
	for i := range d.Leaves {
		if d.Leaves[i].Name == name {
			return d.Leaves[i].Certificate
		}
	}
	return nil
}

// opensNothing requires that the edit made nothing trusted, delivered, safe or possible.
func opensNothing(t *testing.T, was, is *Assessment) {
	t.Helper()
	for i := range is.Members {
		if is.Members[i].Trusted && !was.Members[i].Trusted || is.Members[i].Delivered && !was.Members[i].Delivered {
			t.Errorf("member %+v, was %+v", is.Members[i], was.Members[i])
		}
	}
	for i := range is.Anchors {
		if is.Anchors[i].SafeToRemove && !was.Anchors[i].SafeToRemove {
			t.Errorf("anchor of the slot %s is safe to remove", is.Anchors[i].Slot)
		}
	}
	could := map[string]bool{}
	for i := range was.Actions {
		could[string(was.Actions[i].Kind)+was.Actions[i].Object+string(was.Actions[i].Authority)] = true
	}
	for i := range is.Actions {
		a := &is.Actions[i]
		switch a.Kind {
		case Promote, RetireAnchors, DestroyPrevious:
			if !could[string(a.Kind)+a.Object+string(a.Authority)] {
				t.Errorf("%s %s has become possible: %s", a.Kind, a.Object, a.Reason)
			}
		}
	}
	order := []Stage{Stable, Distributing, Reissuing, Draining, Retiring}
	if is.Stage == Stable || slices.Index(order, is.Stage) > slices.Index(order, was.Stage) {
		t.Errorf("the stage was %s and is %s", was.Stage, is.Stage)
	}
}
