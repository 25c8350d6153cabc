// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"certrotation.dev/registry/injection"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
	"certrotation.dev/test/apifake"
)

var guard = trust.InjectionTarget{Kind: "ValidatingWebhookConfiguration", Name: "guard"}

// guarded is a namespace with one domain. kube-apiserver verifies its server by one target.
func guarded(cas ...*pki.Pair) *inventory.Namespace {
	return &inventory.Namespace{Name: testNamespace, Domains: []*trust.Domain{{
		Namespace: testNamespace, Name: "web",
		Signer: trust.Signer{Object: trust.Object{Name: "web-signer", Present: true}, Active: cas[0].Certificate},
		Bundle: trust.Bundle{
			Object: trust.Object{Name: "web-bundle", Present: true}, Anchors: []*pki.Certificate{cas[0].Certificate},
			InjectInto: []trust.InjectionTarget{guard},
		},
		Parties: []trust.Party{{Name: "kube-apiserver", Kind: trust.CABundle, Grace: time.Second, Members: []trust.Member{{Name: guard.Member()}}}},
	}}}
}

// theGuard is the target, with one webhook for each list of CAs.
func theGuard(uid types.UID, webhooks ...[]*pki.Pair) *admissionregistrationv1.ValidatingWebhookConfiguration {
	out := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{
		Name: guard.Name, UID: uid, Annotations: map[string]string{injection.Annotation: testNamespace + "/web-bundle"},
	}}
	for i, cas := range webhooks {
		webhook := admissionregistrationv1.ValidatingWebhook{Name: string(rune('a'+i)) + ".example"}
		for _, ca := range cas {
			webhook.ClientConfig.CABundle = append(webhook.ClientConfig.CABundle, ca.Certificate.PEM()...)
		}
		out.Webhooks = append(out.Webhooks, webhook)
	}
	return out
}

// guardRecord returns the recorded observation of the target, nil without a record.
func guardRecord(t *testing.T, api *apifake.Server) *trust.Observation {
	t.Helper()
	list := recordOf(t, api, "web", "kube-apiserver", guard.Member())
	if len(list) == 0 {
		return nil
	}
	if len(list) > 1 {
		t.Fatalf("%d observations of one object", len(list))
	}
	return &list[0]
}

func sorted(list []pki.Fingerprint) []pki.Fingerprint { return slices.Sorted(slices.Values(list)) }

func TestTarget(t *testing.T) {
	a, b := newAuthority(t, "ca@1"), newAuthority(t, "ca@2")
	with := func(annotations map[string]string) runtime.Object {
		object := theGuard("uid", []*pki.Pair{a, b})
		object.Annotations = annotations
		return object
	}
	const nobodyAsks = "no ValidatingWebhookConfiguration guard asks for this bundle: make it, give it the annotation certrotation.dev/inject-ca-from: " +
		testNamespace + "/web-bundle, or take it out of bundle.injectInto"
	for _, test := range []struct {
		name        string
		object      runtime.Object
		certManager bool
		fault       apifake.Fault
		trusts      []pki.Fingerprint
		failure     string
	}{
		{name: "both webhooks hold both", object: theGuard("uid", []*pki.Pair{a, b}, []*pki.Pair{b, a}), trusts: sorted(prints(a, b))},
		{name: "one lags", object: theGuard("uid", []*pki.Pair{a, b}, []*pki.Pair{a}), trusts: prints(a)},
		{name: "one is empty", object: theGuard("uid", []*pki.Pair{a, b}, nil), failure: "the caBundle of its webhook b.example is empty"},
		{name: "no webhooks", object: theGuard("uid"), failure: "it has no caBundle"},
		{name: "it does not exist", failure: nobodyAsks},
		{name: "it asks for nothing", object: with(nil), failure: nobodyAsks},
		{name: "it asks for another bundle", object: with(map[string]string{injection.Annotation: testNamespace + "/other"}), failure: nobodyAsks},
		{name: "it asks another namespace", object: with(map[string]string{injection.Annotation: "other/web-bundle"}), failure: nobodyAsks},
		{name: "it asks as cert-manager", certManager: true, object: with(map[string]string{injection.AnnotationCertManager: testNamespace + "/web-bundle"}), trusts: sorted(prints(a, b))},
		{name: "it asks as cert-manager, which is not understood", object: with(map[string]string{injection.AnnotationCertManager: testNamespace + "/web-bundle"}), failure: nobodyAsks},
		{name: "it may not be read", fault: apifake.Forbidden, failure: "certrotation may not read ValidatingWebhookConfiguration guard: that needs the installation with manifests/components/ca-bundles"},
	} {
		t.Run(test.name, func(t *testing.T) {
			n := guarded(a, b)
			var objects []runtime.Object
			if test.object != nil {
				objects = append(objects, test.object)
			}
			api := apifake.New(t, clock.RealClock{}, objects...)
			c := collectorWith(t, api, &Config{Inventory: &fixed{n: n}, CertManager: test.certManager})
			api.ReadFault = func(r *apifake.Request) apifake.Fault {
				if r.Resource.Resource == "validatingwebhookconfigurations" {
					return test.fault
				}
				return apifake.NoFault
			}
			if err := c.Refresh(t.Context(), n.Domains[0]); err != nil {
				t.Fatal(err)
			}
			got := guardRecord(t, api)
			if got == nil {
				t.Fatal("nothing is recorded")
			}
			if diff := cmp.Diff(test.trusts, got.Trusts); diff != "" || got.Kind != trust.CABundle {
				t.Errorf("a record of the kind %s (-want +got):\n%s", got.Kind, diff)
			}
			if (test.failure == "") != (got.Failure == "") || !strings.Contains(got.Failure, test.failure) || (test.failure == "") != (got.Instance == "uid" && !got.StartedAt.IsZero()) {
				t.Errorf("record: %+v, want the failure ...%s...", got, test.failure)
			}
			written := writes(api)
			n.Domains[0].Parties[0].Members[0].Observations = []trust.Observation{*got}
			if err := c.Refresh(t.Context(), n.Domains[0]); err != nil {
				t.Fatal(err)
			}
			if n := writes(api); n != written {
				t.Errorf("%d writes for what was known", n-written)
			}
		})
	}
}

func TestTargetLeavesTheRecordAloneWhenNobodyAnswers(t *testing.T) {
	n := guarded(newAuthority(t, "ca@1"))
	c, api := newCollector(t, &fixed{n: n})
	api.ReadFault = func(*apifake.Request) apifake.Fault { return apifake.Unavailable }
	if err := c.Refresh(t.Context(), n.Domains[0]); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("got %v, want that the API server is away", err)
	}
	if got := writes(api); got != 0 {
		t.Errorf("%d writes although nothing is known", got)
	}
}

// TestTargetInFlight: in flight, a target is read every few seconds, and at once after a write of its caBundle. A
// renewed observation keeps the time since when it holds.
func TestTargetInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newAuthority(t, "ca@1"), newAuthority(t, "ca@2")
		inv := &fixed{n: guarded(a)}
		d := inv.n.Domains[0]
		d.Signer.Next, d.Bundle.Anchors = b.Certificate, append(d.Bundle.Anchors, b.Certificate)
		c, api := newCollector(t, inv, theGuard("uid", []*pki.Pair{a}))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); c.Run(ctx) }()
		// know updates the inventory with the record, as happens a moment later.
		know := func() *trust.Observation {
			t.Helper()
			synctest.Wait()
			o := guardRecord(t, api)
			if o == nil {
				t.Fatal("nothing is recorded")
			}
			next := *d
			next.Parties = slices.Clone(d.Parties)
			next.Parties[0].Members = []trust.Member{{Name: guard.Member(), Observations: []trust.Observation{*o}}}
			inv.set(&next)
			return o
		}
		pass := func(long time.Duration) {
			time.Sleep(long) //nolint:forbidigo // this passes in no time
		}
		c.NamespaceChanged(testNamespace)
		first := know()
		if diff := cmp.Diff(prints(a), first.Trusts); diff != "" {
			t.Errorf("at first (-want +got):\n%s", diff)
		}

		if err := api.Put(theGuard("uid", []*pki.Pair{a, b})); err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		c.TargetWritten(testNamespace, guard)
		second := know()
		if diff := cmp.Diff(sorted(prints(a, b)), second.Trusts); diff != "" || !second.StartedAt.Equal(first.StartedAt.Add(time.Second)) {
			t.Errorf("it was written: since %s, after %s (-want +got):\n%s", second.StartedAt, first.StartedAt, diff)
		}

		pass(2 * lease / 3)
		renewed := know()
		if !renewed.StartedAt.Equal(second.StartedAt) || !renewed.Expires.After(second.Expires) {
			t.Errorf("it was renewed: since %s until %s, before since %s until %s", renewed.StartedAt, renewed.Expires, second.StartedAt, second.Expires)
		}

		if err := api.Put(theGuard("uid", []*pki.Pair{b})); err != nil {
			t.Fatal(err)
		}
		pass(fallbackInterval * 11 / 10)
		lost := know()
		if diff := cmp.Diff(prints(b), lost.Trusts); diff != "" || !lost.StartedAt.Equal(second.StartedAt) {
			t.Errorf("it has lost one: since %s (-want +got):\n%s", lost.StartedAt, diff)
		}

		if err := api.Put(theGuard("another", []*pki.Pair{b})); err != nil {
			t.Fatal(err)
		}
		pass(fallbackInterval * 11 / 10)
		if other := know(); other.Instance != "another" || !other.StartedAt.After(lost.StartedAt) {
			t.Errorf("it was made anew: %+v", other)
		}
		cancel()
		<-ended
	})
}

func TestTargetIsNotLookedAtAtRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t, "ca@1")
		inv := &fixed{n: guarded(a)}
		c, api := newCollector(t, inv, theGuard("uid", []*pki.Pair{a}))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); c.Run(ctx) }()
		c.NamespaceChanged(testNamespace)
		synctest.Wait()
		inv.n.Domains[0].Parties[0].Members[0].Observations = []trust.Observation{*guardRecord(t, api)}
		time.Sleep(10 * time.Minute) //nolint:forbidigo // this passes in no time
		synctest.Wait()
		api.ForgetActions()
		c.NamespaceChanged(testNamespace)
		time.Sleep(time.Hour) //nolint:forbidigo // this hour passes in no time
		synctest.Wait()
		if actions := api.Actions(); len(actions) > 0 {
			t.Errorf("%d requests while nothing happened, the first is %v", len(actions), actions[0])
		}
		cancel()
		<-ended
	})
}

func TestAbsencesOfTargets(t *testing.T) {
	a := newAuthority(t, "ca@1")
	for _, test := range []struct {
		name   string
		object runtime.Object
		fault  apifake.Fault
		member string
		want   string
	}{
		{name: "it does not exist", want: "no ValidatingWebhookConfiguration is called guard"},
		{name: "it exists", object: theGuard("uid", []*pki.Pair{a})},
		{name: "it exists and holds nothing", object: theGuard("uid")},
		{name: "it may not be read", fault: apifake.Forbidden},
		{name: "nobody answers", fault: apifake.Unavailable},
		{name: "a kind that has no caBundle", member: "Secret.guard"},
		{name: "no target at all", member: "guard"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var objects []runtime.Object
			if test.object != nil {
				objects = append(objects, test.object)
			}
			c, api := newCollector(t, &fixed{}, objects...)
			api.ReadFault = func(*apifake.Request) apifake.Fault { return test.fault }
			missing := trust.RosterMember{Party: "kube-apiserver", Member: guard.Member(), Kind: trust.CABundle}
			if test.member != "" {
				missing.Member = test.member
			}
			want := map[string]string{}
			if test.want != "" {
				want[trust.AbsenceKey(&missing)] = test.want
			}
			got, err := c.Absences(t.Context(), &trust.Domain{Namespace: testNamespace, Name: "web"}, []trust.RosterMember{missing})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("proofs (-want +got):\n%s", diff)
			}
		})
	}
}
