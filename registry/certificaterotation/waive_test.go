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
	"certrotation.dev/registry/record"
	"certrotation.dev/registry/trust"
)

func TestWaive(t *testing.T) {
	now := time.Date(2030, time.January, 2, 3, 5, 5, 0, time.UTC)
	after := func(d time.Duration) *certrotation.Waiver {
		return &certrotation.Waiver{Party: "client", Member: "client", Reason: "off", ExpiresAfter: &metav1.Duration{Duration: d}}
	}
	until := func(at time.Time) *certrotation.Waiver {
		return &certrotation.Waiver{Party: "client", Member: "client", Reason: "off", Expires: &metav1.Time{Time: at}}
	}
	recorded := func(expires time.Duration) *trust.Waiver {
		return &trust.Waiver{Party: "client", Member: "client", Reason: "off", By: "alice", Expires: now.Add(expires)}
	}
	former := &trust.Waiver{Party: "client", Member: "client", Reason: "former", By: "bob", Expires: now.Add(time.Minute)}
	standing := func(s *stage) { s.put(record.OfWaiver("ns", "demo", former)) }
	tests := map[string]struct {
		name      string
		waiver    *certrotation.Waiver
		change    func(s *stage)
		dryRun    bool
		wantError func(error) bool
		// want is nil if no waiver remains recorded.
		want   *trust.Waiver
		writes string
	}{
		"for a day":                  {waiver: after(24 * time.Hour), want: recorded(24 * time.Hour), writes: "create"},
		"until tomorrow":             {waiver: until(now.Add(24 * time.Hour)), want: recorded(24 * time.Hour), writes: "create"},
		"again":                      {waiver: after(time.Hour), change: standing, want: recorded(time.Hour), writes: "update"},
		"dry run":                    {waiver: after(time.Hour), dryRun: true, writes: "create (dry run)"},
		"withdrawn":                  {waiver: after(0), change: standing, writes: "delete"},
		"withdrawn by a past end":    {waiver: until(now.Add(-time.Hour)), change: standing, writes: "delete"},
		"withdrawn in a dry run":     {waiver: after(0), change: standing, dryRun: true, want: former, writes: "delete (dry run)"},
		"withdrawn though not given": {waiver: after(0), writes: "delete"},
		"withdrawn from one who does not count any more": {waiver: after(0), writes: "delete", change: func(s *stage) {
			standing(s)
			s.inventory.known.Domains[0].Parties = nil
		}},
		"for more than 30 days": {waiver: after(721 * time.Hour), wantError: apierrors.IsConflict},
		"an unknown party": {waiver: &certrotation.Waiver{Party: "x", Member: "x", Reason: "off", ExpiresAfter: &metav1.Duration{Duration: time.Hour}},
			wantError: func(err error) bool {
				return apierrors.IsConflict(err) && strings.Contains(err.Error(), "no relying party x")
			}},
		"an unknown member": {waiver: &certrotation.Waiver{Party: "client", Member: "x", Reason: "off", ExpiresAfter: &metav1.Duration{Duration: time.Hour}},
			wantError: func(err error) bool { return apierrors.IsConflict(err) && strings.Contains(err.Error(), "no member x") }},
		"without a reason": {waiver: &certrotation.Waiver{Party: "client", Member: "client", ExpiresAfter: &metav1.Duration{Duration: time.Hour}},
			wantError: apierrors.IsInvalid},
		"at a leaf": {name: "leaf", waiver: after(time.Hour), wantError: apierrors.IsBadRequest},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			if tt.change != nil {
				tt.change(s)
			}
			options := &metav1.CreateOptions{}
			if tt.dryRun {
				options.DryRun = []string{metav1.DryRunAll}
			}
			target := tt.name
			if target == "" {
				target = "signer"
			}
			out, err := NewWaiveREST(s.actions).Create(requestContext(t, "ns"), target, tt.waiver, nil, options)
			if tt.wantError != nil {
				if !tt.wantError(err) {
					t.Errorf("unexpected error %v", err)
				}
			} else {
				if err != nil {
					t.Fatal(err)
				}
				answer, ok := out.(*certrotation.Waiver)
				if !ok || answer.WaivedBy != "alice" || answer.Expires.IsZero() || answer.ExpiresAfter != nil {
					t.Errorf("answer %+v, want who has waived, and until when", out)
				}
			}
			if got := strings.Join(s.writes(), ", "); got != tt.writes {
				t.Errorf("writes %q, want %q", got, tt.writes)
			}
			var got *trust.Waiver
			if r := s.records(t)["waiver.demo.client.client"]; r != nil {
				got = r.Waiver
			}
			if tt.want != nil && tt.want != former {
				tt.want.Rotation.From = s.inventory.known.Domains[0].Signer.Active.Fingerprint
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("recorded (-want +got):\n%s", diff)
			}
		})
	}
}
