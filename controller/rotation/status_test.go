// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/controller/internal/apply"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
	"certrotation.dev/test/apifake"
)

// shownStatus is a status without the messages.
type shownStatus struct {
	Accepted, Ready metav1.ConditionStatus
	Reasons         string
	Generation      int64
	Domains         []configv1alpha1.TrustDomainStatus
}

func statusShown(cfg *configv1alpha1.RotationConfiguration) shownStatus {
	out := shownStatus{Generation: cfg.Status.ObservedGeneration, Domains: cfg.Status.TrustDomains}
	var reasons []string
	for _, c := range cfg.Status.Conditions {
		reasons = append(reasons, c.Reason)
	}
	out.Reasons = strings.Join(reasons, " ")
	if c := meta.FindStatusCondition(cfg.Status.Conditions, configv1alpha1.ConditionAccepted); c != nil {
		out.Accepted = c.Status
	}
	if c := meta.FindStatusCondition(cfg.Status.Conditions, configv1alpha1.ConditionReady); c != nil {
		out.Ready = c.Status
	}
	return out
}

func (w *world) statusWrites() int {
	count := 0
	for _, action := range w.api.Actions() {
		if action.GetSubresource() == "status" {
			count++
		}
	}
	return count
}

func TestStatusOfConfiguration(t *testing.T) {
	stable := []configv1alpha1.TrustDomainStatus{{Name: "web", Stage: "Stable"}}
	ready := shownStatus{
		Accepted: metav1.ConditionTrue, Ready: metav1.ConditionTrue, Reasons: "Accepted Ready", Generation: 3, Domains: stable,
	}
	for _, tc := range []struct {
		name   string
		change func(w *world, cfg *configv1alpha1.RotationConfiguration)
		want   shownStatus
		// messages are parts of the messages of Accepted and Ready.
		messages [2]string
	}{
		{"sound", nil, ready, [2]string{}},
		{"a new generation", func(_ *world, cfg *configv1alpha1.RotationConfiguration) { cfg.Generation = 4 }, shownStatus{
			Accepted: metav1.ConditionTrue, Ready: metav1.ConditionTrue, Reasons: "Accepted Ready", Generation: 4, Domains: stable,
		}, [2]string{}},
		{"invalid", func(_ *world, cfg *configv1alpha1.RotationConfiguration) {
			cfg.Spec.TrustDomains[0].Leaves[0].Usages = nil
		}, shownStatus{
			Accepted: metav1.ConditionFalse, Ready: metav1.ConditionFalse, Reasons: "InvalidConfiguration NotAccepted", Generation: 3,
		}, [2]string{"usages", "nothing"}},
		{"in conflict with an older one", func(w *world, cfg *configv1alpha1.RotationConfiguration) {
			other := cfg.DeepCopy()
			other.Name, other.UID = "older", ""
			w.put(other)
			older, err := w.own.ConfigV1alpha1().RotationConfigurations(testNamespace).Get(t.Context(), "older", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			older.CreationTimestamp = metav1.NewTime(w.clock.Now().Add(-24 * time.Hour))
			w.put(older)
		}, shownStatus{
			Accepted: metav1.ConditionFalse, Ready: metav1.ConditionFalse, Reasons: "ConflictingClaim NotAccepted", Generation: 3,
		}, [2]string{"RotationConfiguration/older", "nothing"}},
		{"an object that cannot be read", func(w *world, _ *configv1alpha1.RotationConfiguration) {
			leaf := w.secret(clientLeaf)
			leaf.Data[inventory.ActiveCertKey] = []byte("-----BEGIN CERTIFICATE-----\nbroken")
			w.put(leaf)
		}, shownStatus{
			Accepted: metav1.ConditionTrue, Ready: metav1.ConditionFalse, Reasons: "Accepted ObjectProblem", Generation: 3,
			Domains: []configv1alpha1.TrustDomainStatus{{Name: "web", Stage: "Stable", Message: clientLeaf}},
		}, [2]string{"", clientLeaf}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w, c := settled(t)
			cfg := w.configuration()
			cfg.Generation = 3
			if tc.change != nil {
				tc.change(w, cfg)
			}
			w.put(cfg)
			w.look(c)
			got := statusShown(w.configuration())
			contains := cmp.Comparer(func(x, y configv1alpha1.TrustDomainStatus) bool {
				return x.Name == y.Name && x.Stage == y.Stage && (strings.Contains(x.Message, y.Message) || strings.Contains(y.Message, x.Message)) &&
					(x.Message == "") == (y.Message == "")
			})
			if diff := cmp.Diff(tc.want, got, contains, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
			for i, kind := range []string{configv1alpha1.ConditionAccepted, configv1alpha1.ConditionReady} {
				condition := meta.FindStatusCondition(w.configuration().Status.Conditions, kind)
				if condition == nil || !strings.Contains(condition.Message, tc.messages[i]) || condition.ObservedGeneration != got.Generation {
					t.Errorf("condition %s is %+v, want it to say %q", kind, condition, tc.messages[i])
				}
			}
			before := w.api.Writes()
			w.look(c)
			if n := w.api.Writes() - before; n != 0 {
				t.Errorf("%d writes though nothing has changed", n)
			}
		})
	}
}

// look reconciles until nothing is written. No member reports meanwhile.
func (w *world) look(c *Controller) {
	w.t.Helper()
	for before := -1; before != w.api.Version(); {
		before = w.api.Version()
		for _, k := range []key{{namespace: testNamespace}, {namespace: testNamespace, domain: "web"}, {namespace: testNamespace, status: true}} {
			if err := c.queue.Do(w.t.Context(), k); err != nil {
				w.t.Fatalf("reconcile %s: %v", k, err)
			}
		}
	}
}

// TestStatusFollowsTheRotation: there is one write for each stage, and one each for the start and the end of a
// long wait.
func TestStatusFollowsTheRotation(t *testing.T) {
	w, c := settled(t)
	if got := w.statusWrites(); got != 1 {
		t.Errorf("%d writes of the status in the bootstrap, want one when its first stage is known", got)
	}
	requestRotation(w)
	before := w.statusWrites()
	w.look(c)
	w.clock.Step(blockedPatience / 2)
	w.look(c)
	if got := w.statusWrites() - before; got != 1 {
		t.Errorf("%d writes of the status at the beginning, want one for the stage", got)
	}
	w.clock.Step(blockedPatience)
	w.look(c)
	got := statusShown(w.configuration())
	if got.Ready != metav1.ConditionFalse || got.Reasons != "Accepted Blocked" || got.Domains[0].Stage != string(trust.Distributing) ||
		!strings.Contains(got.Domains[0].Message, "clients/a") {
		t.Errorf("status %+v, want it to wait for clients/a", got)
	}
	since := meta.FindStatusCondition(w.configuration().Status.Conditions, configv1alpha1.ConditionReady).LastTransitionTime
	if n := w.statusWrites() - before; n != 2 {
		t.Errorf("%d writes of the status, want one more for the wait", n)
	}
	next := w.controller()
	w.clock.Step(time.Second)
	w.look(next)
	if n := w.statusWrites() - before; n != 2 {
		t.Errorf("%d writes of the status after a restart, want none", n-2)
	}
	w.settle(next)
	if diff := cmp.Diff(shownStatus{
		Accepted: metav1.ConditionTrue, Ready: metav1.ConditionTrue, Reasons: "Accepted Ready",
		Domains: []configv1alpha1.TrustDomainStatus{{Name: "web", Stage: "Stable"}},
	}, statusShown(w.configuration())); diff != "" {
		t.Errorf("at the end (-want +got):\n%s", diff)
	}
	ready := meta.FindStatusCondition(w.configuration().Status.Conditions, configv1alpha1.ConditionReady)
	if !since.Before(&ready.LastTransitionTime) {
		t.Errorf("ready since %s, not ready since %s", ready.LastTransitionTime, since)
	}
	if n := w.settle(next); n != 0 {
		t.Errorf("%d writes at rest", n)
	}
}

// TestStatusIsNotWrittenOverAnotherOne: a configuration that was deleted and recreated does not get the status of
// the former one.
func TestStatusIsNotWrittenOverAnotherOne(t *testing.T) {
	w, c := settled(t)
	cfg := w.configuration()
	w.api.Lag(apifake.Stale)
	w.drop(cfg)
	cfg.UID, cfg.Status, cfg.Generation = "", configv1alpha1.RotationConfigurationStatus{}, 1
	w.put(cfg)
	wanted := &configv1alpha1.RotationConfigurationStatus{ObservedGeneration: 9}
	if err := c.applyStatus(t.Context(), key{namespace: testNamespace, status: true}, w.Sources(testNamespace).Configurations["web"], wanted); !apply.Benign(err) {
		t.Errorf("got error %v, want one that means to look again", err)
	}
	if got := w.configuration().Status.ObservedGeneration; got != 0 {
		t.Errorf("it was written, generation %d", got)
	}
}
