// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/klog/v2/ktesting"
	testclock "k8s.io/utils/clock/testing"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/controller/internal/apply"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/record"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
	"certrotation.dev/test/apifake"
)

var (
	secretsResource    = schema.GroupResource{Resource: "secrets"}
	configMapsResource = schema.GroupResource{Resource: "configmaps"}
	recordsResource    = configv1alpha1.Resource("rotationrecords")
)

// spin runs controller and members for a while, in steps of five seconds, despite refused writes.
func (w *world) spin(c *Controller, d time.Duration) {
	w.t.Helper()
	_, ctx := ktesting.NewTestContext(w.t)
	for end := w.clock.Now().Add(d); w.clock.Now().Before(end); w.clock.Step(5 * time.Second) {
		for _, k := range []key{{namespace: testNamespace}, {namespace: testNamespace, domain: "web"}, {namespace: testNamespace, status: true}} {
			refused := func(err error) bool { return w.api.Admit != nil && apierrors.IsForbidden(err) }
			if err := c.queue.Do(ctx, k); err != nil && !apierrors.IsInternalError(err) && !apply.Benign(err) && !refused(err) {
				w.t.Fatalf("reconcile %s: %v", k, err)
			}
		}
		w.acknowledge()
	}
}

// said counts the events of a type about an object.
func (w *world) said(eventType, object string) int {
	count := 0
	for _, e := range w.events.all {
		if strings.HasPrefix(e, eventType+" ") && strings.Contains(e, " "+object+": ") {
			count++
		}
	}
	return count
}

// refusedCase is a write that the API server refuses from the start of a rotation. If fresh is true, it refuses it
// from the start of the domain.
type refusedCase struct {
	name  string
	fresh bool
	// verb and object (Kind/name) of the refused write, and the answer.
	verb, object string
	answer       error
	// unrecorded is true if the refusal cannot be recorded.
	unrecorded bool
	// goesOn reports whether the other steps happened nevertheless.
	goesOn func(d *trust.Domain, before *trust.Domain) bool
}

func refusedCases() []refusedCase {
	reissued := func(d, before *trust.Domain) bool {
		return !d.Leaf(serverLeaf).Certificate.Equal(before.Leaf(serverLeaf).Certificate)
	}
	// The other leaf has both CAs beside it. An anchor is published only once both leaves have it.
	copied := func(name string) func(d, _ *trust.Domain) bool {
		return func(d, _ *trust.Domain) bool { return len(d.Leaf(name).Anchors) == 2 && len(d.Bundle.Anchors) == 1 }
	}
	generated := func(d, _ *trust.Domain) bool { return d.Signer.Next != nil }
	nothing := func(*trust.Domain, *trust.Domain) bool { return true }
	kind := schema.GroupKind{Kind: "ConfigMap"}
	return []refusedCase{
		{
			name: "one leaf whose update always fails", verb: "update", object: "Secret/" + serverLeaf,
			answer: apierrors.NewForbidden(secretsResource, serverLeaf, errors.New("admission webhook \"policy.example.com\" denied the request: no")),
			goesOn: copied(clientLeaf),
		},
		{
			name: "immutable bundle", verb: "update", object: "ConfigMap/" + bundleName,
			answer: apierrors.NewInvalid(kind, bundleName, field.ErrorList{field.Forbidden(field.NewPath("data"), "field is immutable when `immutable` is set")}),
			goesOn: generated,
		},
		{
			name: "webhook that denies with a code of its own", verb: "update", object: "Secret/" + clientLeaf,
			answer: &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusTeapot, Message: "denied"}},
			goesOn: copied(serverLeaf),
		},
		{
			name: "webhook that is down for good", verb: "update", object: "Secret/" + clientLeaf,
			answer: apierrors.NewInternalError(errors.New("failed calling webhook \"policy.example.com\": connection refused")),
			goesOn: copied(serverLeaf),
		},
		{
			name: "quota", fresh: true, verb: "create", object: "Secret/" + serverLeaf,
			answer: apierrors.NewForbidden(secretsResource, serverLeaf, errors.New("exceeded quota: small, requested: secrets=1, used: secrets=2, limited: secrets=2")),
			goesOn: func(d, _ *trust.Domain) bool { return d.Leaf(clientLeaf).Certificate != nil },
		},
		{
			name: "RBAC that lacks the records", fresh: true, verb: "create", object: "RotationRecord/roster.web",
			answer: apierrors.NewForbidden(recordsResource, "roster.web", errors.New("User \"controller\" cannot create resource")),
			goesOn: nothing, unrecorded: true,
		},
		{
			name: "too large an aggregate", verb: "update", object: "ConfigMap/all-bundles",
			answer: apierrors.NewRequestEntityTooLargeError("limit is 1048576"), goesOn: reissued,
		},
	}
}

func (tc *refusedCase) says(r *apifake.Request) error {
	if _, isRecord := r.Object.(*configv1alpha1.RotationRecord); isRecord && tc.unrecorded && r.Verb == tc.verb {
		return tc.answer
	}
	if nameOf(r.Object) == tc.object && r.Verb == tc.verb {
		return tc.answer
	}
	return nil
}

// TestRefusedWrite: a refused write is recorded with one event and retried less and less often. It stops only what
// depends on it, and the record is deleted once it succeeds.
func TestRefusedWrite(t *testing.T) {
	for _, tc := range refusedCases() {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t, webConfig)
			c := w.controller()
			if !tc.fresh {
				w.settle(c)
				requestRotation(w)
			}
			before := w.domain()
			events := w.said("Normal", tc.object)
			attempts := 0
			w.api.Admit = func(r *apifake.Request) error {
				err := tc.says(r)
				if err != nil && nameOf(r.Object) == tc.object {
					attempts++
				}
				return err
			}
			const during = 20 * time.Minute
			w.spin(c, during)
			if attempts < 10 || attempts > 16 {
				t.Errorf("%d attempts in %s, want some that become rarer", attempts, during)
			}
			if !tc.goesOn(w.domain(), before) {
				t.Error("what does not depend on it was not done")
			}
			tc.checkRecord(t, w)
			if got := w.said("Warning WriteRefused", tc.object); got != 1 {
				t.Errorf("it was said %d times, want once:\n%s", got, strings.Join(w.events.all, "\n"))
			}
			if got := w.said("Normal", tc.object); got != events {
				t.Errorf("%d events say that something was done with it", got-events)
			}
			if shown := shownBy(t, c); shown == 0 {
				t.Error("the metrics do not show it")
			}

			w.api.Admit = nil
			w.spin(c, lastRefusedRetry+time.Minute)
			w.settle(c)
			if diff := cmp.Diff(rested, endOf(w)); diff != "" {
				t.Errorf("at the end (-want +got):\n%s", diff)
			}
			if left := w.records(configv1alpha1.RecordRefusal); len(left) > 0 {
				t.Errorf("the record is still there: %v", left)
			}
			if shown := shownBy(t, c); shown != 0 {
				t.Errorf("the metrics still show %g", shown)
			}
			if n := w.settle(c); n != 0 {
				t.Errorf("%d writes at rest", n)
			}
		})
	}
}

// nameOf returns Kind/name of an object.
func nameOf(o metav1.Object) string {
	kind := trust.SecretKind
	switch o.(type) {
	case *corev1.ConfigMap:
		kind = trust.ConfigMapKind
	case *configv1alpha1.RotationRecord:
		kind = trust.RecordKind
	case *configv1alpha1.RotationConfiguration:
		kind = inventory.ConfigurationKind
	}
	return string(kind) + "/" + o.GetName()
}

// shownBy returns the number of refused writes that the metrics show.
func shownBy(t *testing.T, c *Controller) float64 {
	t.Helper()
	sum := 0.0
	for _, value := range shownWith(t, c.reported, c.refused, c.clock, "certrotation_rotation_refused_writes") {
		sum += value
	}
	return sum
}

func (tc *refusedCase) checkRecord(t *testing.T, w *world) {
	t.Helper()
	records := w.records(configv1alpha1.RecordRefusal)
	if tc.unrecorded {
		if len(records) > 0 {
			t.Errorf("recorded: %v", records)
		}
		return
	}
	if len(records) != 1 {
		t.Fatalf("%d refusals are recorded, want one", len(records))
	}
	for _, r := range records {
		got := *r.Spec.Refusal
		if age := w.clock.Since(got.Since.Time); age < 19*time.Minute {
			t.Errorf("it is said to be refused for %s only", age)
		}
		got.Since = metav1.Time{}
		want := configv1alpha1.RecordedRefusal{Object: tc.object, Verb: tc.verb, Answer: tc.answer.Error()}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("record (-want +got):\n%s", diff)
		}
	}
	blocked := func(b trust.Blocker) bool { return b.Object == tc.object && b.Reason == trust.ReasonWriteRefused }
	if !slices.ContainsFunc(trust.Assess(w.domain(), w.clock.Now()).Blockers, blocked) {
		t.Error("the model is not told")
	}
}

// TestRefusalIsKnownToTheNextLeader: a new leader repeats no event and keeps the start time of the refusal.
func TestRefusalIsKnownToTheNextLeader(t *testing.T) {
	w, c := settled(t)
	tc := refusedCases()[0]
	w.api.Admit = tc.says
	requestRotation(w)
	w.spin(c, 10*time.Minute)
	since := refusalOf(t, w).Since
	next := w.controller()
	w.spin(next, 10*time.Minute)
	if got := refusalOf(t, w).Since; !got.Equal(&since) {
		t.Errorf("it is refused since %s, want %s", got, since)
	}
	if got := w.said("Warning WriteRefused", tc.object); got != 1 {
		t.Errorf("it was said %d times, want once", got)
	}
	w.api.Admit = nil
	w.spin(next, lastRefusedRetry+time.Minute)
	w.settle(next)
	if diff := cmp.Diff(rested, endOf(w)); diff != "" {
		t.Errorf("at the end (-want +got):\n%s", diff)
	}
}

func refusalOf(t *testing.T, w *world) *configv1alpha1.RecordedRefusal {
	t.Helper()
	for _, r := range w.records(configv1alpha1.RecordRefusal) {
		return r.Spec.Refusal
	}
	t.Fatal("no refusal is recorded")
	return nil
}

// TestLostRefusalIsRecordedAgain: a deleted record is created again while the write is still refused.
func TestLostRefusalIsRecordedAgain(t *testing.T) {
	w, c := settled(t)
	w.api.Admit = refusedCases()[0].says
	requestRotation(w)
	w.spin(c, 5*time.Minute)
	for _, r := range w.records(configv1alpha1.RecordRefusal) {
		w.drop(r)
	}
	w.spin(c, 2*lastRefusedRetry)
	refusalOf(t, w)
	if got := w.said("Warning WriteRefused", refusedCases()[0].object); got != 1 {
		t.Errorf("it was said %d times, want once", got)
	}
}

// TestRefusalEndsWithWhatWasWanted: a refusal ends when the write is no longer wanted.
func TestRefusalEndsWithWhatWasWanted(t *testing.T) {
	w, c := settled(t)
	tc := refusedCases()[0]
	w.api.Admit = tc.says
	w.request(trust.RequestRotate, serverLeaf)
	w.spin(c, time.Minute)
	refusalOf(t, w)
	for _, r := range w.records(configv1alpha1.RecordRequest) {
		w.drop(r)
	}
	w.spin(c, 10*time.Second)
	if left := w.records(configv1alpha1.RecordRefusal); len(left) > 0 {
		t.Errorf("the refusal is still recorded: %v", left)
	}
	if shown := shownBy(t, c); shown != 0 {
		t.Errorf("the metrics still show %g", shown)
	}
}

// TestChangedObjectIsTriedAtOnce: a change of the object ends the back-off.
func TestChangedObjectIsTriedAtOnce(t *testing.T) {
	w, c := settled(t)
	tc := refusedCases()[1]
	w.api.Admit = tc.says
	requestRotation(w)
	w.spin(c, 20*time.Minute)
	w.api.Admit = nil
	w.put(w.configMap(bundleName))
	w.spin(c, 10*time.Second)
	if got := len(w.domain().Bundle.Anchors); got != 2 {
		t.Errorf("%d anchors are published, want 2", got)
	}
}

// TestRefusalOfWhatIsNoMore: a record about an object that no configuration names is deleted.
func TestRefusalOfWhatIsNoMore(t *testing.T) {
	w, c := settled(t)
	for _, o := range []string{"Secret/gone", "ConfigMap/all-bundles", "Secret/" + signerName} {
		made, err := record.OfRefusal(testNamespace, "web", &trust.RefusedWrite{Object: o, Verb: "update", Answer: "no", Since: w.clock.Now()})
		if err != nil {
			t.Fatal(err)
		}
		w.put(made)
	}
	w.settle(c)
	if left := w.records(configv1alpha1.RecordRefusal); len(left) > 0 {
		t.Errorf("still recorded: %v", left)
	}
}

// TestRestartsAreOfSomebodyElse: controller/rollout/workload records and removes what holds up a restart. This
// controller leaves these records alone.
func TestRestartsAreOfSomebodyElse(t *testing.T) {
	w, c := settled(t)
	made, err := record.OfRefusal(testNamespace, "web", &trust.RefusedWrite{
		Object: "Deployment/web", Verb: trust.VerbRestart, Answer: "it is paused", Since: w.clock.Now(),
	})
	if err != nil {
		t.Fatal(err)
	}
	w.put(made)
	w.settle(c)
	if left := w.records(configv1alpha1.RecordRefusal); len(left) != 1 {
		t.Errorf("recorded: %v", left)
	}
	if blockers := c.assess(w.domain(), w.clock.Now()).Blockers; len(blockers) != 1 || blockers[0].Reason != trust.ReasonRestartHeld {
		t.Errorf("blockers %+v", blockers)
	}
}

func TestWeigh(t *testing.T) {
	terminating := apierrors.NewForbidden(secretsResource, "x", errors.New("namespace is being terminated"))
	terminating.ErrStatus.Details.Causes = append(terminating.ErrStatus.Details.Causes, metav1.StatusCause{Type: corev1.NamespaceTerminatingCause})
	for _, tc := range []struct {
		name string
		err  error
		want weight
	}{
		{"forbidden", apierrors.NewForbidden(secretsResource, "x", errors.New("no")), refused},
		{"invalid", apierrors.NewInvalid(schema.GroupKind{Kind: "Secret"}, "x", nil), refused},
		{"bad request", apierrors.NewBadRequest("no"), refused},
		{"too large", apierrors.NewRequestEntityTooLargeError("no"), refused},
		{"not allowed", apierrors.NewMethodNotSupported(secretsResource, "create"), refused},
		{"internal error", apierrors.NewInternalError(errors.New("webhook")), doubtful},
		{"conflict", apierrors.NewConflict(secretsResource, "x", errors.New("no")), hiccup},
		{"exists", apierrors.NewAlreadyExists(secretsResource, "x"), hiccup},
		{"not found", apierrors.NewNotFound(configMapsResource, "x"), hiccup},
		{"gone", apierrors.NewResourceExpired("no"), hiccup},
		{"unauthorized", apierrors.NewUnauthorized("no"), hiccup},
		{"too many requests", apierrors.NewTooManyRequests("no", 1), hiccup},
		{"timeout", apierrors.NewTimeoutError("no", 1), hiccup},
		{"server timeout", apierrors.NewServerTimeout(secretsResource, "update", 1), hiccup},
		{"unavailable", apierrors.NewServiceUnavailable("no"), hiccup},
		{"namespace that goes away", terminating, hiccup},
		{"no answer", errors.New("connection refused"), hiccup},
		{"stale", apply.ErrStale, hiccup},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, got := weigh(&apply.WriteError{Verb: "update", Err: tc.err}); got != tc.want {
				t.Errorf("as a write it weighs %d, want %d", got, tc.want)
			}
			if _, got := weigh(tc.err); got != hiccup {
				t.Errorf("as a read it weighs %d", got)
			}
		})
	}
}

// TestReplacedKeyMovesToPrevious: only DestroyPrevious destroys a key.
func TestReplacedKeyMovesToPrevious(t *testing.T) {
	w, c := settled(t)
	requestRotation(w)
	for range 2 {
		if err := c.queue.Do(t.Context(), key{namespace: testNamespace, domain: "web"}); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		name   string
		action trust.ActionKind
		moved  func(d *trust.Domain) *pki.Certificate
	}{
		{"dropped", trust.DropNext, func(d *trust.Domain) *pki.Certificate { return d.Signer.Next }},
		{"made anew", trust.GenerateActive, func(d *trust.Domain) *pki.Certificate { return d.Signer.Active }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := w.domain()
			moved := tc.moved(d)
			former := d.Signer.Previous
			action := trust.Action{
				Kind: tc.action, ObjectKind: trust.SecretKind, Object: signerName, ResourceVersion: d.Signer.ResourceVersion,
				Profile: d.Signer.Policy.Profile,
			}
			k := key{namespace: testNamespace, domain: "web"}
			if err := c.perform(t.Context(), k, d, domainContent{c, d}, &action); err != nil {
				t.Fatal(err)
			}
			after := w.domain().Signer
			if after.Problem != nil {
				t.Fatal(after.Problem.Message)
			}
			if len(after.Previous) != len(former)+1 || !after.Previous[0].Equal(moved) {
				t.Errorf("%d previous CAs, want %d with the one that was replaced in front", len(after.Previous), len(former)+1)
			}
		})
	}
}

// TestBackOffEndsByAnyClock: a refused write is retried, even if the clock jumps back.
func TestBackOffEndsByAnyClock(t *testing.T) {
	k := key{namespace: testNamespace, domain: "web"}
	action := &trust.Action{Kind: trust.IssueLeaf, ObjectKind: trust.SecretKind, Object: serverLeaf, ResourceVersion: "7"}
	refusal := &apply.WriteError{Verb: apply.VerbUpdate, Err: apierrors.NewForbidden(secretsResource, serverLeaf, errors.New("no"))}
	for _, tc := range []struct {
		name  string
		after time.Duration
		waits bool
	}{
		{name: "at once", waits: true},
		{name: "a moment later", after: firstRefusedRetry - time.Millisecond, waits: true},
		{name: "in time", after: firstRefusedRetry},
		{name: "the clock came back", after: -26 * time.Hour},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := testclock.NewFakePassiveClock(time.Unix(1e9, 0))
			r := newRefusals(c)
			if _, _, ok := r.failed(k, action, refusal, nil); !ok {
				t.Fatal("it is no refusal")
			}
			c.SetTime(c.Now().Add(tc.after))
			if got := r.wait(k, action) > 0; got != tc.waits {
				t.Errorf("waits: %t, want %t", got, tc.waits)
			}
		})
	}
}
