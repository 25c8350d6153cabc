// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package certificaterotation

import (
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	"certrotation.dev/registry/trust"
)

// question is the expected authorization request when alice reports for the only member of the stage.
const question = "alice: create certificaterotations/acknowledge signer/client/client of certrotation.dev in ns"

func TestAcknowledgeAsksWhoReports(t *testing.T) {
	named := func(reporters trust.Reporters) func(*stage) {
		return func(s *stage) { s.inventory.known.Domains[0].Parties[0].Reporters = &reporters }
	}
	tests := map[string]struct {
		change func(*stage)
		user   user.Info
		// party is the one reported for. If it is empty, that is the only party of the stage.
		party string
		want  func(error) bool
		says  []string
		asked []string
	}{
		"whoever has the right for the member": {
			change: func(s *stage) { s.allowed = []string{"signer/client/client"} }, asked: []string{question},
		},
		"whoever has the right for the signer only": {
			change: func(s *stage) { s.allowed = []string{"signer"} }, asked: []string{question},
			want: apierrors.IsForbidden, says: []string{`"alice"`, "resourceNames [signer, signer/client/client]", "reporters"},
		},
		"whoever has the right for another member": {
			change: func(s *stage) { s.allowed = []string{"signer/client/other", "signer/client", "other/client/client"} }, asked: []string{question},
			want: apierrors.IsForbidden,
		},
		"whoever has no right does not learn which parties there are": {
			change: func(s *stage) { s.allowed = []string{} }, party: "other",
			asked: []string{strings.Replace(question, "/client/", "/other/", 1)}, want: apierrors.IsForbidden,
		},
		"nobody knows": {
			change: func(s *stage) { s.unanswered = errors.New("no answer") }, asked: []string{question}, want: apierrors.IsInternalError,
		},
		"who is named":          {change: named(trust.Reporters{Users: []string{"alice"}})},
		"who is named by group": {change: named(trust.Reporters{Groups: []string{"ops"}}), user: &user.DefaultInfo{Name: "bob", Groups: []string{"ops"}}},
		"the account of the member": {
			change: named(trust.Reporters{ServiceAccounts: []string{"{member}"}}), user: &user.DefaultInfo{Name: "system:serviceaccount:ns:client"},
		},
		"the account of another namespace": {
			change: named(trust.Reporters{ServiceAccounts: []string{"{member}"}}), user: &user.DefaultInfo{Name: "system:serviceaccount:other:client"},
			want: apierrors.IsForbidden,
		},
		"who has every right and is not named": {
			change: named(trust.Reporters{Users: []string{"bob"}}), want: apierrors.IsForbidden, says: []string{"client", `"alice"`, "relyingParties[].reporters"},
		},
		"a user without a name": {user: &user.DefaultInfo{}, want: apierrors.IsForbidden},
	}
	for name, tt := range tests {
		for _, dryRun := range [][]string{nil, {metav1.DryRunAll}} {
			t.Run(strings.Join(append([]string{name}, dryRun...), ", dry run: "), func(t *testing.T) {
				s := newStage(t)
				if tt.change != nil {
					tt.change(s)
				}
				ctx := requestContext(t, "ns")
				if tt.user != nil {
					ctx = genericapirequest.WithUser(ctx, tt.user)
				}
				ack := s.acknowledgement("pod", "a", s.now)
				if tt.party != "" {
					ack.Party = tt.party
				}
				_, err := NewAcknowledgeREST(s.actions).Create(ctx, "signer", ack, nil, &metav1.CreateOptions{DryRun: dryRun})
				switch {
				case tt.want == nil && err != nil:
					t.Fatal(err)
				case tt.want != nil && !tt.want(err):
					t.Fatalf("unexpected answer %v", err)
				}
				for _, text := range tt.says {
					if !strings.Contains(err.Error(), text) {
						t.Errorf("%q does not say %q", err, text)
					}
				}
				if tt.want != nil && len(s.writes()) > 0 {
					t.Errorf("writes %v, want none", s.writes())
				}
				if strings.Join(s.asked, "; ") != strings.Join(tt.asked, "; ") {
					t.Errorf("asks %q, want %q", s.asked, tt.asked)
				}
			})
		}
	}
}

func TestAcknowledgeKeepsTheReporter(t *testing.T) {
	s := newStage(t)
	ctx := genericapirequest.WithUser(requestContext(t, "ns"), &user.DefaultInfo{Name: "alice", UID: "uid-of-alice"})
	if _, err := NewAcknowledgeREST(s.actions).Create(ctx, "signer", s.acknowledgement("pod", "a", s.now), nil, &metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := s.observed(t); len(got) != 1 || got[0].ReportedBy != "alice" || got[0].ReportedByUID != "uid-of-alice" {
		t.Errorf("recorded %+v, want the name and the UID of who reported", got)
	}
}
