// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package certificaterotation

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"

	"certrotation.dev/apis/certrotation"
	"certrotation.dev/registry/evidence"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// fakeInventory sees a write as soon as the client has made it, unless it is blind.
type fakeInventory struct {
	synced bool
	known  *inventory.Namespace
	client *fake.Clientset

	mu     sync.Mutex
	listen []func(string)
}

func (f *fakeInventory) HasSynced() bool { return f.synced }

func (f *fakeInventory) OnChange(fn func(string)) { f.listen = append(f.listen, fn) }

func (f *fakeInventory) Namespace(namespace string) *inventory.Namespace {
	if namespace != "ns" {
		return nil
	}
	return f.known
}

func (f *fakeInventory) Sources(string) *inventory.Sources {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := &inventory.Sources{Secrets: map[string]*inventory.Secret{}, ConfigMaps: map[string]*inventory.ConfigMap{}}
	secret, err := f.client.CoreV1().Secrets("ns").Get(context.Background(), "signer", metav1.GetOptions{})
	if err == nil {
		out.Secrets[secret.Name] = &inventory.Secret{ObjectMeta: secret.ObjectMeta}
	}
	records, err := f.client.CoreV1().ConfigMaps("ns").List(context.Background(), metav1.ListOptions{})
	if err == nil {
		for i := range records.Items {
			out.ConfigMaps[records.Items[i].Name] = &inventory.ConfigMap{ObjectMeta: records.Items[i].ObjectMeta}
		}
	}
	return out
}

// stage is a Secret of a signer that may rotate, and the subresources over it.
type stage struct {
	inventory *fakeInventory
	client    *fake.Clientset
	actions   *Actions
	now       time.Time
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
	client := fake.NewClientset(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "signer", ResourceVersion: "1"}, Type: corev1.SecretTypeTLS,
	})
	known := &inventory.Namespace{Name: "ns", Domains: []*trust.Domain{{
		Namespace: "ns", Name: "demo",
		Signer: trust.Signer{Object: object("signer"), Active: ca.Certificate, Policy: trust.Policy{RenewAtPercent: 80}},
		Bundle: trust.Bundle{Object: object("bundle"), Anchors: []*pki.Certificate{ca.Certificate}},
		Leaves: []trust.Leaf{{Object: object("leaf"), Certificate: leaf.Certificate, Policy: trust.Policy{RenewAtPercent: 80}}},
		Parties: []trust.Party{{
			Name: "client", Kind: trust.Acknowledgement, Verifies: []string{"leaf"}, Members: []trust.Member{{Name: "client"}},
		}},
	}}}
	s := &stage{client: client, now: now, inventory: &fakeInventory{synced: true, known: known, client: client}}
	s.actions, err = NewActions(ActionsConfig{
		Inventory: s.inventory, Client: client, Clock: clocktesting.NewFakePassiveClock(now.Add(time.Minute)), Settle: 10 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func requestContext(t *testing.T, namespace string) context.Context {
	t.Helper()
	ctx := genericapirequest.WithNamespace(t.Context(), namespace)
	return genericapirequest.WithUser(ctx, &user.DefaultInfo{Name: "alice"})
}

// writes are the verbs and resources that the client was used for, but for reads.
func (s *stage) writes() []string {
	var out []string
	for _, action := range s.client.Actions() {
		if verb := action.GetVerb(); verb != "get" && verb != "list" {
			out = append(out, verb+" "+action.GetResource().Resource)
		}
	}
	return out
}

func TestRotate(t *testing.T) {
	conflict := func(s *stage) {
		s.client.PrependReactor("patch", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewConflict(schema.GroupResource{Resource: "secrets"}, "signer", nil)
		})
	}
	tests := map[string]struct {
		namespace, name string
		request         certrotation.RotationRequest
		dryRun          bool
		change          func(s *stage)
		validate        rest.ValidateObjectFunc
		wantError       func(error) bool
		wantValue       string
	}{
		"with a reason":    {name: "signer", request: certrotation.RotationRequest{Reason: "drill"}, wantValue: "drill (requested by alice)"},
		"without a reason": {name: "signer", wantValue: "requested by alice at 2030-01-02T03:05:05Z"},
		"compromised":      {name: "signer", request: certrotation.RotationRequest{Reason: "leaked", Compromised: true}, wantValue: "compromised: leaked (requested by alice)"},
		"dry run":          {name: "signer", dryRun: true, wantValue: "requested by alice at 2030-01-02T03:05:05Z"},
		"unknown":          {name: "nobody", wantError: apierrors.IsNotFound},
		"other namespace":  {namespace: "elsewhere", name: "signer", wantError: apierrors.IsNotFound},
		"not synced":       {name: "signer", change: func(s *stage) { s.inventory.synced = false }, wantError: apierrors.IsServiceUnavailable},
		"invalid":          {name: "signer", request: certrotation.RotationRequest{Reason: strings.Repeat("x", 300)}, wantError: apierrors.IsInvalid},
		"not admitted": {name: "signer", validate: func(context.Context, runtime.Object) error {
			return apierrors.NewForbidden(schema.GroupResource{}, "", nil)
		}, wantError: apierrors.IsForbidden},
		"in flight": {name: "signer", change: func(s *stage) {
			domain := s.inventory.known.Domains[0]
			next, err := pki.NewAuthority(pki.Profile{CommonName: "next", Key: pki.ECDSAP256, Validity: time.Hour}, s.now)
			if err != nil {
				panic(err)
			}
			domain.Signer.Next = next.Certificate
		}, wantError: apierrors.IsConflict},
		"changed meanwhile": {name: "signer", change: conflict, wantError: apierrors.IsConflict},
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
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if plan, ok := out.(*certrotation.RotationPlan); !ok || plan.Target != tt.name || len(plan.Steps) == 0 {
				t.Errorf("answer %+v, want a plan", out)
			}
			s.wantPatch(t, tt.wantValue, tt.dryRun)
		})
	}
}

// wantPatch expects exactly one write: the annotation, on the version that was judged.
func (s *stage) wantPatch(t *testing.T, value string, dryRun bool) {
	t.Helper()
	if writes := s.writes(); len(writes) != 1 || writes[0] != "patch secrets" {
		t.Fatalf("writes %v, want one patch", writes)
	}
	for _, action := range s.client.Actions() {
		patch, ok := action.(clienttesting.PatchActionImpl)
		if !ok {
			continue
		}
		want := `{"metadata":{"annotations":{"certrotation.dev/rotate-requested":"` + value + `"},"resourceVersion":"1"}}`
		if got := string(patch.GetPatch()); got != want {
			t.Errorf("patch %s, want %s", got, want)
		}
		if got := len(patch.PatchOptions.DryRun) > 0; got != dryRun {
			t.Errorf("dry run %t, want %t", got, dryRun)
		}
	}
}

func TestAbort(t *testing.T) {
	s := newStage(t)
	abort := NewAbortREST(s.actions)
	create := func(name string) error {
		_, err := abort.Create(requestContext(t, "ns"), name, &certrotation.AbortRequest{}, nil, &metav1.CreateOptions{})
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
}

func TestAcknowledge(t *testing.T) {
	s := newStage(t)
	acknowledge := NewAcknowledgeREST(s.actions)
	report := func(trusts string, started time.Time, dryRun ...string) error {
		ack := &certrotation.Acknowledgement{Party: "client", Member: "client", Trusts: []string{strings.Repeat(trusts, 64)}}
		if !started.IsZero() {
			ack.StartedAt = &metav1.Time{Time: started}
		}
		_, err := acknowledge.Create(requestContext(t, "ns"), "signer", ack, nil, &metav1.CreateOptions{DryRun: dryRun})
		return err
	}
	if err := report("a", s.now); err != nil {
		t.Fatal(err)
	}
	if err := report("a", s.now); err != nil { // It says nothing new.
		t.Fatal(err)
	}
	if err := report("b", s.now.Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	// The inventory has not seen the record; the live one counts.
	if err := report("c", s.now); !apierrors.IsConflict(err) {
		t.Errorf("report of an older process: %v, want Conflict", err)
	}
	if got, want := strings.Join(s.writes(), ", "), "create configmaps, update configmaps"; got != want {
		t.Errorf("writes %q, want %q", got, want)
	}
	record, err := s.client.CoreV1().ConfigMaps("ns").Get(t.Context(), evidence.RecordName("demo", "client", "client"), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, _, _, observation, err := evidence.Decode(record.Data)
	if err != nil || len(observation.Trusts) != 1 || observation.Trusts[0] != pki.Fingerprint(strings.Repeat("b", 64)) {
		t.Errorf("record %+v, %v", observation, err)
	}
	if record.Labels[trust.LabelEvidence] == "" {
		t.Errorf("labels %v, want the one of evidence", record.Labels)
	}
}

func TestAcknowledgeRaces(t *testing.T) {
	s := newStage(t)
	lost := 3
	s.client.PrependReactor("create", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		if lost--; lost < 0 {
			return false, nil, nil
		}
		return true, nil, apierrors.NewAlreadyExists(schema.GroupResource{Resource: "configmaps"}, "x")
	})
	ack := &certrotation.Acknowledgement{Party: "client", Member: "client"}
	if _, err := NewAcknowledgeREST(s.actions).Create(requestContext(t, "ns"), "signer", ack, nil, &metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}
