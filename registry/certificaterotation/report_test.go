// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package certificaterotation

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/apis/certrotation"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/record"
	"certrotation.dev/registry/trust"
	"certrotation.dev/test/apifake"
)

const evidenceName = "evidence.demo.client.client"

func sum(digit string) pki.Fingerprint { return pki.Fingerprint(strings.Repeat(digit, 64)) }

// acknowledgement returns one of a process that has just observed itself.
func (s *stage) acknowledgement(instance, trusts string, started time.Time) *certrotation.Acknowledgement {
	return &certrotation.Acknowledgement{
		Party: "client", Member: "client", Trusts: []string{string(sum(trusts))}, Instance: instance,
		StartedAt: metav1.NewMicroTime(started), ObservedAt: metav1.NewMicroTime(s.clock.Now()),
	}
}

func (s *stage) acknowledge(t *testing.T, ack *certrotation.Acknowledgement, dryRun ...string) (*certrotation.Acknowledgement, error) {
	t.Helper()
	out, err := NewAcknowledgeREST(s.actions).Create(requestContext(t, "ns"), "signer", ack, nil, &metav1.CreateOptions{DryRun: dryRun})
	if err != nil {
		return nil, err
	}
	return out.(*certrotation.Acknowledgement), nil
}

// observed returns the recorded observations of the member.
func (s *stage) observed(t *testing.T) []trust.Observation {
	t.Helper()
	r := s.records(t)[evidenceName]
	if r == nil {
		return nil
	}
	return r.Evidence.Observations
}

func TestAcknowledge(t *testing.T) {
	s := newStage(t)
	now := s.clock.Now()
	of := func(instance, trusts string, started time.Time) trust.Observation {
		return trust.Observation{
			Instance: instance, Kind: trust.Acknowledgement, Trusts: []pki.Fingerprint{sum(trusts)}, ReportedBy: "alice",
			StartedAt: started, ObservedAt: now, Expires: now.Add(10 * time.Minute),
		}
	}
	steps := []struct {
		name     string
		instance string
		trusts   string
		started  time.Time
		refused  bool
		writes   string
		want     []trust.Observation
	}{
		{name: "a first report", instance: "new", trusts: "b", started: s.now, writes: "create",
			want: []trust.Observation{of("new", "b", s.now)}},
		{name: "it says nothing new", instance: "new", trusts: "b", started: s.now,
			want: []trust.Observation{of("new", "b", s.now)}},
		{name: "an older replica is heard", instance: "old", trusts: "a", started: s.now.Add(-time.Hour), writes: "update",
			want: []trust.Observation{of("new", "b", s.now), of("old", "a", s.now.Add(-time.Hour))}},
		{name: "it was started again", instance: "new", trusts: "c", started: s.now.Add(time.Second), writes: "update",
			want: []trust.Observation{of("new", "c", s.now.Add(time.Second)), of("old", "a", s.now.Add(-time.Hour))}},
		// The inventory has not seen the record, so the live one counts.
		{name: "what it said before that", instance: "new", trusts: "b", started: s.now, refused: true,
			want: []trust.Observation{of("new", "c", s.now.Add(time.Second)), of("old", "a", s.now.Add(-time.Hour))}},
	}
	for _, step := range steps {
		s.api.ForgetActions()
		answer, err := s.acknowledge(t, s.acknowledgement(step.instance, step.trusts, step.started))
		switch {
		case step.refused:
			if !apierrors.IsConflict(err) {
				t.Errorf("%s: %v, want Conflict", step.name, err)
			}
		case err != nil:
			t.Fatalf("%s: %v", step.name, err)
		case answer.Expires == nil || !answer.Expires.Time.Equal(now.Add(10*time.Minute)):
			t.Errorf("%s: it counts until %v, want the end of the party's lease", step.name, answer.Expires)
		}
		if got := strings.Join(s.writes(), ", "); got != step.writes {
			t.Errorf("%s: writes %q, want %q", step.name, got, step.writes)
		}
		if diff := cmp.Diff(step.want, s.observed(t)); diff != "" {
			t.Errorf("%s: recorded (-want +got):\n%s", step.name, diff)
		}
	}
}

func TestAcknowledgeRefuses(t *testing.T) {
	now := time.Date(2030, time.January, 2, 3, 5, 5, 0, time.UTC)
	for name, tt := range map[string]struct {
		edit func(ack *certrotation.Acknowledgement)
		want func(error) bool
	}{
		"an unknown party":           {func(a *certrotation.Acknowledgement) { a.Party = "other" }, apierrors.IsConflict},
		"an unknown member":          {func(a *certrotation.Acknowledgement) { a.Member = "other" }, apierrors.IsConflict},
		"a start in the future":      {func(a *certrotation.Acknowledgement) { a.StartedAt.Time = now.Add(time.Hour) }, apierrors.IsConflict},
		"a report of the future":     {func(a *certrotation.Acknowledgement) { a.ObservedAt.Time = now.Add(time.Hour) }, apierrors.IsConflict},
		"a report of long ago":       {func(a *certrotation.Acknowledgement) { a.ObservedAt.Time = now.Add(-30 * 24 * time.Hour) }, apierrors.IsConflict},
		"a replay without a start":   {func(a *certrotation.Acknowledgement) { a.StartedAt = metav1.MicroTime{} }, apierrors.IsInvalid},
		"a report without its time":  {func(a *certrotation.Acknowledgement) { a.ObservedAt = metav1.MicroTime{} }, apierrors.IsInvalid},
		"a process without identity": {func(a *certrotation.Acknowledgement) { a.Instance = "" }, apierrors.IsInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			ack := s.acknowledgement("pod", "a", s.now)
			tt.edit(ack)
			if _, err := s.acknowledge(t, ack); !tt.want(err) {
				t.Errorf("unexpected error %v", err)
			}
			if writes := s.writes(); len(writes) != 0 {
				t.Errorf("writes %v, want none", writes)
			}
		})
	}
}

// TestAcknowledgeLease: the lease decides when an unchanged report is written again.
func TestAcknowledgeLease(t *testing.T) {
	for name, tt := range map[string]struct {
		after  time.Duration
		change func(s *stage)
		writes string
	}{
		"stable, half of the lease is over":    {after: 6 * time.Minute},
		"stable, it has lapsed":                {after: 11 * time.Minute, writes: "update"},
		"in flight, just reported":             {after: time.Minute, change: rotating},
		"in flight, half of the lease is over": {after: 5 * time.Minute, change: rotating, writes: "update"},
		"in flight, of the roster alone": {after: 11 * time.Minute, writes: "update", change: func(s *stage) {
			rotating(s)
			d := s.inventory.known.Domains[0]
			d.Parties, d.Roster = nil, &trust.Roster{Members: []trust.RosterMember{
				{Party: "client", Member: "client", Kind: trust.Acknowledgement, Verifies: []string{"leaf"}},
			}}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			if _, err := s.acknowledge(t, s.acknowledgement("pod", "a", s.now)); err != nil {
				t.Fatal(err)
			}
			if tt.change != nil {
				tt.change(s)
			}
			s.api.ForgetActions()
			s.clock.SetTime(s.clock.Now().Add(tt.after))
			answer, err := s.acknowledge(t, s.acknowledgement("pod", "a", s.now))
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(s.writes(), ", "); got != tt.writes {
				t.Errorf("writes %q, want %q", got, tt.writes)
			}
			if recorded := s.observed(t); len(recorded) != 1 || !recorded[0].Expires.Equal(answer.Expires.Time) {
				t.Errorf("answered that it counts until %v, recorded %+v", answer.Expires, recorded)
			}
		})
	}
}

// TestAcknowledgeForgets: a process is forgotten after it was silent for a full lease in which it had to report. A
// lease that ended while the process was the only known one does not count.
func TestAcknowledgeForgets(t *testing.T) {
	s := newStage(t)
	for _, step := range []struct {
		after    time.Duration
		instance string
		writes   string
		want     []string
	}{
		{instance: "gone", writes: "create", want: []string{"gone"}},
		{after: 10 * time.Minute, instance: "live", writes: "update", want: []string{"gone", "live"}},
		{after: 4 * time.Minute, instance: "live", want: []string{"gone", "live"}},
		{after: time.Minute, instance: "live", writes: "update", want: []string{"gone", "live"}},
		{after: 5 * time.Minute, instance: "live", writes: "update", want: []string{"live"}},
		{after: 5 * time.Minute, instance: "live", want: []string{"live"}},
	} {
		s.api.ForgetActions()
		s.clock.SetTime(s.clock.Now().Add(step.after))
		if _, err := s.acknowledge(t, s.acknowledgement(step.instance, "a", s.now)); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(s.writes(), ", "); got != step.writes {
			t.Errorf("%s reports after %s: writes %q, want %q", step.instance, step.after, got, step.writes)
		}
		var got []string
		for _, o := range s.observed(t) {
			got = append(got, o.Instance)
		}
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Errorf("%s reports after %s: recorded (-want +got):\n%s", step.instance, step.after, diff)
		}
	}
}

func TestAcknowledgeBeginsWithTheLook(t *testing.T) {
	s := newStage(t)
	ack := s.acknowledgement("pod", "a", s.now)
	ack.ObservedAt.Time = s.clock.Now().Add(-30 * time.Second)
	if _, err := s.acknowledge(t, ack); err != nil {
		t.Fatal(err)
	}
	ahead := s.acknowledgement("ahead", "a", s.now)
	ahead.ObservedAt.Time = s.clock.Now().Add(30 * time.Second)
	if _, err := s.acknowledge(t, ahead); err != nil {
		t.Fatal(err)
	}
	got := s.observed(t)
	if len(got) != 2 || !got[0].ObservedAt.Equal(s.clock.Now()) || !got[1].ObservedAt.Equal(s.clock.Now().Add(-30*time.Second)) {
		t.Errorf("recorded %+v, want one of now and one of when the process looked", got)
	}
}

func TestAcknowledgeReplacesWhatNobodyCanRead(t *testing.T) {
	s := newStage(t)
	broken, err := record.OfEvidence("ns", "demo", "client", "client", nil)
	if err == nil {
		broken.Spec.Kind = "Other"
	}
	s.put(broken, err)
	if _, err := s.acknowledge(t, s.acknowledgement("pod", "a", s.now)); err != nil {
		t.Fatal(err)
	}
	if got := s.observed(t); len(got) != 1 {
		t.Errorf("recorded %+v, want the report", got)
	}
}

func TestAcknowledgeDryRun(t *testing.T) {
	s := newStage(t)
	if _, err := s.acknowledge(t, s.acknowledgement("pod", "a", s.now), metav1.DryRunAll); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(s.writes(), ", "); got != "create (dry run)" {
		t.Errorf("writes %q, want a dry run", got)
	}
}

func TestAcknowledgeRaces(t *testing.T) {
	s := newStage(t)
	lost := 3
	s.api.Fault = func(*apifake.Request) apifake.Fault {
		if lost--; lost < 0 {
			return apifake.NoFault
		}
		return apifake.AlreadyExists
	}
	if _, err := s.acknowledge(t, s.acknowledgement("pod", "a", s.now)); err != nil {
		t.Fatal(err)
	}
	if got := s.observed(t); len(got) != 1 {
		t.Errorf("recorded %+v, want the report", got)
	}
}
