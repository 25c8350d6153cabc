// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package certificaterotation

import (
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	"certrotation.dev/apis/certrotation"
	"certrotation.dev/registry/trust"
)

// ofPods makes the stage's only party one of pods. It has one pod, client, whose container started at the given
// time.
func (s *stage) ofPods(started time.Time) {
	p := &s.inventory.known.Domains[0].Parties[0]
	p.OfPods = true
	p.Members = []trust.Member{{Name: "client", Instance: "uid-1", Pod: &trust.Pod{Started: true}, RestartedAt: started}}
}

// bound returns the user info of a pod's bound service account token, as kube-apiserver presents it.
func bound(pod, uid string) *user.DefaultInfo {
	return &user.DefaultInfo{Name: "system:serviceaccount:ns:default", Extra: map[string][]string{
		"authentication.kubernetes.io/pod-name": {pod}, "authentication.kubernetes.io/pod-uid": {uid},
	}}
}

func (s *stage) acknowledgeAs(t *testing.T, who user.Info, ack *certrotation.Acknowledgement, dryRun ...string) error {
	t.Helper()
	ctx := genericapirequest.WithUser(requestContext(t, "ns"), who)
	_, err := NewAcknowledgeREST(s.actions).Create(ctx, "signer", ack, nil, &metav1.CreateOptions{DryRun: dryRun})
	return err
}

func TestAcknowledgeOfPods(t *testing.T) {
	tests := map[string]struct {
		change   func(*stage)
		user     *user.DefaultInfo
		instance string
		want     func(error) bool
		says     string
	}{
		"the pod itself": {user: bound("client", "uid-1"), instance: "uid-1"},
		"the pod itself, under another instance": {user: bound("client", "uid-1"), instance: "client", want: apierrors.IsConflict,
			says: "of a pod the instance is its UID, uid-1"},
		"a neighbour with the same account": {user: bound("other", "uid-2"), instance: "uid-1", want: apierrors.IsConflict, says: "bound to pod other"},
		"the pod that was replaced":         {user: bound("client", "uid-0"), instance: "uid-0", want: apierrors.IsConflict, says: "UID uid-0"},
		"a token of no pod": {user: &user.DefaultInfo{Name: "system:serviceaccount:ns:default"}, instance: "uid-1", want: apierrors.IsConflict,
			says: "report from inside the pod"},
		"a token of two pods": {user: &user.DefaultInfo{Name: "system:serviceaccount:ns:default", Extra: map[string][]string{
			"authentication.kubernetes.io/pod-name": {"client", "other"}, "authentication.kubernetes.io/pod-uid": {"uid-1", "uid-2"},
		}}, instance: "uid-1", want: apierrors.IsConflict, says: "bound to no pod"},
		"a person": {user: &user.DefaultInfo{Name: "alice"}, instance: "uid-1", want: apierrors.IsConflict, says: `"alice" is bound to no pod`},
		"the pod without the right to report": {change: func(s *stage) { s.allowed = []string{"signer"} }, user: bound("client", "uid-1"), instance: "uid-1",
			want: apierrors.IsForbidden},
		"the pod whose account is not named": {change: func(s *stage) {
			s.inventory.known.Domains[0].Parties[0].Reporters = &trust.Reporters{ServiceAccounts: []string{"other"}}
		}, user: bound("client", "uid-1"), instance: "uid-1", want: apierrors.IsForbidden},
		"the pod whose account is named": {change: func(s *stage) {
			s.inventory.known.Domains[0].Parties[0].Reporters = &trust.Reporters{ServiceAccounts: []string{"default"}}
		}, user: bound("client", "uid-1"), instance: "uid-1"},
		"a neighbour whose account is named": {change: func(s *stage) {
			s.inventory.known.Domains[0].Parties[0].Reporters = &trust.Reporters{ServiceAccounts: []string{"default"}}
		}, user: bound("other", "uid-2"), instance: "uid-1", want: apierrors.IsConflict},
		"a member that is no pod": {change: func(s *stage) {
			s.inventory.known.Domains[0].Parties[0].Members = []trust.Member{{Name: "client"}}
		}, user: &user.DefaultInfo{Name: "alice"}, instance: "1"},
	}
	for name, tt := range tests {
		for _, dryRun := range [][]string{nil, {metav1.DryRunAll}} {
			t.Run(strings.Join(append([]string{name}, dryRun...), ", dry run: "), func(t *testing.T) {
				s := newStage(t)
				s.ofPods(s.now)
				if tt.change != nil {
					tt.change(s)
				}
				err := s.acknowledgeAs(t, tt.user, s.acknowledgement(tt.instance, "a", s.now), dryRun...)
				switch {
				case tt.want == nil && err != nil:
					t.Fatal(err)
				case tt.want == nil:
					if len(s.writes()) != 1 {
						t.Errorf("writes %v, want one", s.writes())
					}
				case !tt.want(err) || !strings.Contains(err.Error(), tt.says):
					t.Errorf("answer %v, want one that says %q", err, tt.says)
				case len(s.writes()) > 0:
					t.Errorf("writes %v, want none", s.writes())
				}
			})
		}
	}
}

// TestAcknowledgeAfterRestart: a sidecar repeats its report after the program restarted. The repetition is new
// evidence.
func TestAcknowledgeAfterRestart(t *testing.T) {
	s := newStage(t)
	s.ofPods(s.now)
	report := func(writes string) {
		t.Helper()
		s.api.ForgetActions()
		if err := s.acknowledgeAs(t, bound("client", "uid-1"), s.acknowledgement("uid-1", "a", s.now)); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(s.writes(), ", "); got != writes {
			t.Errorf("writes %q, want %q", got, writes)
		}
	}
	report("create")
	report("")
	s.clock.SetTime(s.clock.Now().Add(time.Minute))
	s.ofPods(s.clock.Now().Add(-time.Second))
	report("update")
	report("")
	if got := s.observed(t); len(got) != 1 || !got[0].ObservedAt.Equal(s.clock.Now()) || got[0].Instance != "uid-1" {
		t.Errorf("recorded %+v, want one of the pod of now", got)
	}
}
