// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package certificaterotation

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"

	"certrotation.dev/apis/certrotation"
	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/record"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
	"certrotation.dev/test/apifake"
)

// fakeInventory shows each write as soon as the client has made it.
type fakeInventory struct {
	synced  bool
	unknown error
	known   *inventory.Namespace
	api     *apifake.Server
}

func (f *fakeInventory) HasSynced() bool { return f.synced }

func (f *fakeInventory) Await(context.Context, string) error { return f.unknown }

func (f *fakeInventory) OnChange(func(string)) {}

func (f *fakeInventory) Namespace(namespace string) *inventory.Namespace {
	if namespace != "ns" {
		return nil
	}
	return f.known
}

func (f *fakeInventory) Sources(string) *inventory.Sources {
	out := &inventory.Sources{}
	records, err := f.api.Own.ConfigV1alpha1().RotationRecords("ns").List(context.Background(), metav1.ListOptions{})
	if err == nil {
		for i := range records.Items {
			out = out.WithRecord(records.Items[i].Name, &records.Items[i])
		}
	}
	return out
}

// stage is a signer that may rotate, with its subresources.
type stage struct {
	inventory *fakeInventory
	api       *apifake.Server
	actions   *Actions
	clock     *clocktesting.FakePassiveClock
	now       time.Time
	// allowed are the names under which the user may acknowledge, nil for all. asked are the authorization
	// requests.
	allowed []string
	asked   []string
	// unanswered is the error of the authorizer.
	unanswered error
}

// authorize stands in for the authorizer of the API server.
func (s *stage) authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	s.asked = append(s.asked, fmt.Sprintf("%s: %s %s/%s %s of %s in %s", a.GetUser().GetName(), a.GetVerb(), a.GetResource(), a.GetSubresource(),
		a.GetName(), a.GetAPIGroup(), a.GetNamespace()))
	if s.unanswered == nil && (s.allowed == nil || slices.Contains(s.allowed, a.GetName())) {
		return authorizer.DecisionAllow, "", nil
	}
	return authorizer.DecisionNoOpinion, "", s.unanswered
}

func newStage(t *testing.T) *stage {
	t.Helper()
	now := time.Date(2030, time.January, 2, 3, 4, 5, 0, time.UTC)
	ca, err := pki.NewAuthority(pki.Profile{CommonName: "ca", Key: pki.ECDSAP256, Validity: time.Hour}, now)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := ca.Issue(pki.Profile{CommonName: "leaf", Key: pki.ECDSAP256, Validity: time.Hour, Usages: []pki.Usage{pki.ClientAuth}}, now)
	if err != nil {
		t.Fatal(err)
	}
	object := func(name string) trust.Object {
		return trust.Object{Name: name, Present: true, UID: "u-" + name, ResourceVersion: "1", Created: now}
	}
	known := &inventory.Namespace{Name: "ns", Domains: []*trust.Domain{{
		Namespace: "ns", Name: "demo",
		Signer: trust.Signer{Object: object("signer"), Active: ca.Certificate, Policy: trust.Policy{RenewAtPercent: 80}},
		Bundle: trust.Bundle{Object: object("bundle"), Anchors: []*pki.Certificate{ca.Certificate}},
		Leaves: []trust.Leaf{{Object: object("leaf"), Certificate: leaf.Certificate, Policy: trust.Policy{RenewAtPercent: 80}}},
		Parties: []trust.Party{{
			Name: "client", Kind: trust.Acknowledgement, Lease: 10 * time.Minute, Verifies: []string{"leaf"}, Members: []trust.Member{{Name: "client"}},
		}},
	}}}
	s := &stage{now: now, clock: clocktesting.NewFakePassiveClock(now.Add(time.Minute))}
	s.api = apifake.New(t, s.clock)
	s.inventory = &fakeInventory{synced: true, known: known, api: s.api}
	s.actions, err = NewActions(ActionsConfig{
		Inventory: s.inventory, Client: s.api.Own, Authorizer: authorizer.AuthorizerFunc(s.authorize), Clock: s.clock,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.actions.settle = 10 * time.Millisecond
	return s
}

func requestContext(t *testing.T, namespace string) context.Context {
	t.Helper()
	ctx := genericapirequest.WithNamespace(t.Context(), namespace)
	return genericapirequest.WithUser(ctx, &user.DefaultInfo{Name: "alice"})
}

// writes returns the verbs of the client's requests, without reads.
func (s *stage) writes() []string {
	var out []string
	for _, action := range s.api.Actions() {
		var dryRun []string
		switch a := action.(type) {
		case clienttesting.CreateActionImpl:
			dryRun = a.CreateOptions.DryRun
		case clienttesting.UpdateActionImpl:
			dryRun = a.UpdateOptions.DryRun
		case clienttesting.DeleteActionImpl:
			dryRun = a.DeleteOptions.DryRun
		default:
			continue
		}
		verb := action.GetVerb()
		if len(dryRun) > 0 {
			verb += " (dry run)"
		}
		out = append(out, verb)
	}
	return out
}

func (s *stage) records(t *testing.T) map[string]*record.Record {
	t.Helper()
	list, err := s.api.Own.ConfigV1alpha1().RotationRecords("ns").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*record.Record{}
	for i := range list.Items {
		said, err := record.Decode(&list.Items[i])
		if err != nil {
			t.Fatal(err)
		}
		out[list.Items[i].Name] = said
	}
	return out
}

// put stores a record as the controller or another replica does.
func (s *stage) put(r *configv1alpha1.RotationRecord, err error) {
	if err == nil {
		_, err = s.api.Own.ConfigV1alpha1().RotationRecords("ns").Create(context.Background(), r, metav1.CreateOptions{})
	}
	if err != nil {
		panic(err)
	}
	s.api.ForgetActions()
}

func TestRotate(t *testing.T) {
	request := func(reason string, compromised bool) *trust.Request {
		return &trust.Request{Kind: trust.RequestRotate, Secret: "signer", Reason: reason, Compromised: compromised}
	}
	standing := func(compromised bool) func(s *stage) {
		return func(s *stage) { s.put(record.OfRequest("ns", "demo", request("first", compromised), "bob")) }
	}
	tests := map[string]struct {
		namespace, name string
		request         certrotation.RotationRequest
		dryRun          bool
		change          func(s *stage)
		validate        rest.ValidateObjectFunc
		wantError       func(error) bool
		// want is nil if nothing is recorded.
		want       *trust.Request
		wantBy     string
		wantWrites string
	}{
		"with a reason":    {name: "signer", request: certrotation.RotationRequest{Reason: "drill"}, want: request("drill", false), wantBy: "alice", wantWrites: "create"},
		"without a reason": {name: "signer", want: request("", false), wantBy: "alice", wantWrites: "create"},
		"compromised": {name: "signer", request: certrotation.RotationRequest{Reason: "leaked", Compromised: true},
			want: request("leaked", true), wantBy: "alice", wantWrites: "create"},
		"dry run": {name: "signer", dryRun: true, wantWrites: "create (dry run)"},
		"it stands already": {name: "signer", request: certrotation.RotationRequest{Reason: "second"}, change: standing(false),
			want: request("first", false), wantBy: "bob", wantWrites: "create"},
		"it stands already, and more": {name: "signer", request: certrotation.RotationRequest{Reason: "second"}, change: standing(true),
			want: request("first", true), wantBy: "bob", wantWrites: "create"},
		"that it is compromised is news": {name: "signer", request: certrotation.RotationRequest{Reason: "leaked", Compromised: true}, change: standing(false),
			want: request("leaked", true), wantBy: "alice", wantWrites: "create, update"},
		"a record that nobody can read": {name: "signer", request: certrotation.RotationRequest{Reason: "second"}, change: func(s *stage) {
			r, err := record.OfRequest("ns", "demo", request("first", false), "bob")
			r.Spec.Kind = "Other"
			s.put(r, err)
		}, want: request("second", false), wantBy: "alice", wantWrites: "create, update"},
		"the former one was answered": {name: "signer", change: func(s *stage) {
			standing(false)(s)
			s.inventory.known.Domains[0].Signer.Annotations = map[string]string{trust.AnnotationAnswered: "uid-1"}
		}, wantError: apierrors.IsConflict, want: request("first", false), wantBy: "bob"},
		"no Secret": {name: "signer", change: func(s *stage) {
			s.inventory.known.Domains[0].Signer.Object = trust.Object{Name: "signer"}
		}, wantError: apierrors.IsConflict},
		"unknown":         {name: "nobody", wantError: apierrors.IsNotFound},
		"other namespace": {namespace: "elsewhere", name: "signer", wantError: apierrors.IsNotFound},
		"not synced":      {name: "signer", change: func(s *stage) { s.inventory.synced = false }, wantError: apierrors.IsServiceUnavailable},
		"a namespace that is not known yet": {name: "signer", change: func(s *stage) { s.inventory.unknown = context.DeadlineExceeded },
			wantError: apierrors.IsServiceUnavailable},
		"invalid": {name: "signer", request: certrotation.RotationRequest{Reason: strings.Repeat("x", 300)}, wantError: apierrors.IsInvalid},
		"not admitted": {name: "signer", validate: func(context.Context, runtime.Object) error {
			return apierrors.NewForbidden(schema.GroupResource{}, "", nil)
		}, wantError: apierrors.IsForbidden},
		"in flight": {name: "signer", change: rotating, wantError: apierrors.IsConflict},
		"no right to": {name: "signer", change: func(s *stage) {
			s.api.Fault = func(*apifake.Request) apifake.Fault { return apifake.Forbidden }
		}, wantError: apierrors.IsForbidden},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			if tt.change != nil {
				tt.change(s)
			}
			namespace, options := tt.namespace, &metav1.CreateOptions{}
			if namespace == "" {
				namespace = "ns"
			}
			if tt.dryRun {
				options.DryRun = []string{metav1.DryRunAll}
			}
			out, err := NewRotateREST(s.actions).Create(requestContext(t, namespace), tt.name, &tt.request, tt.validate, options)
			if tt.wantError != nil {
				if !tt.wantError(err) {
					t.Errorf("unexpected error %v", err)
				}
			} else {
				if err != nil {
					t.Fatal(err)
				}
				if plan, ok := out.(*certrotation.RotationPlan); !ok || plan.Target != tt.name || len(plan.Steps) == 0 {
					t.Errorf("answer %+v, want a plan", out)
				}
				if got := strings.Join(s.writes(), ", "); got != tt.wantWrites {
					t.Errorf("writes %q, want %q", got, tt.wantWrites)
				}
			}
			var got *trust.Request
			if r := s.records(t)["rotate.signer"]; r != nil {
				got = r.Request
				if r.RequestedBy != tt.wantBy || r.Domain != "demo" {
					t.Errorf("recorded as requested by %q in domain %q", r.RequestedBy, r.Domain)
				}
			}
			if diff := cmp.Diff(tt.want, got, cmpopts.IgnoreFields(trust.Request{}, "ID", "Record", "Newest")); diff != "" {
				t.Errorf("recorded (-want +got):\n%s", diff)
			}
		})
	}
}

func rotating(s *stage) {
	next, err := pki.NewAuthority(pki.Profile{CommonName: "next", Key: pki.ECDSAP256, Validity: time.Hour}, s.now)
	if err != nil {
		panic(err)
	}
	s.inventory.known.Domains[0].Signer.Next = next.Certificate
}

func TestAbort(t *testing.T) {
	s := newStage(t)
	abort := NewAbortREST(s.actions)
	create := func(name string) error {
		_, err := abort.Create(requestContext(t, "ns"), name, &certrotation.AbortRequest{Reason: "wrong"}, nil, &metav1.CreateOptions{})
		return err
	}
	if err := create("leaf"); !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), `"signer"`) {
		t.Errorf("abort of a leaf: %v, want a bad request that names the signer", err)
	}
	if err := create("signer"); !apierrors.IsConflict(err) {
		t.Errorf("abort of nothing: %v, want Conflict", err)
	}
	if writes := s.writes(); len(writes) != 0 {
		t.Errorf("writes %v, want none", writes)
	}
	rotating(s)
	if err := create("signer"); err != nil {
		t.Fatal(err)
	}
	want := &trust.Request{ID: "uid-1", Record: "abort.signer", Kind: trust.RequestAbort, Secret: "signer", Reason: "wrong"}
	if got := s.records(t)["abort.signer"]; got == nil || got.RequestedBy != "alice" || !cmp.Equal(want, got.Request) {
		t.Errorf("recorded %+v, want %+v", got, want)
	}
}
