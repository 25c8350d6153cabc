// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/apis/certrotation"
	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/controller/internal/apply"
	"certrotation.dev/registry/record"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
	"certrotation.dev/registry/view/projection"
	"certrotation.dev/test/apifake/sources"
)

// clocks is a Skew that counts its questions.
type clocks struct {
	latest, asked time.Duration
	err           error
	asks          int
}

func (c *clocks) Ask(context.Context) (time.Duration, error) {
	c.asks++
	return c.asked, c.err
}

// TestClockWithWitnesses: while another clock disagrees, nothing is written. At rest, no clock is asked.
func TestClockWithWitnesses(t *testing.T) {
	for _, tc := range []struct {
		name   string
		clocks clocks
		held   bool
	}{
		{"everybody agrees", clocks{}, false},
		{"the API server is off by little", clocks{latest: 20 * time.Second, asked: 20 * time.Second}, false},
		{"the API server differs", clocks{latest: time.Hour, asked: time.Hour}, true},
		{"API server and controller have jumped together", clocks{asked: 400 * 24 * time.Hour}, true},
		{"they have jumped back together", clocks{asked: -time.Hour}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, c := settled(t)
				w.clocks, c.skew = &tc.clocks, &tc.clocks
				if w.settle(c); tc.clocks.asks != 0 {
					t.Errorf("%d were asked at rest", tc.clocks.asks)
				}
				requestRotation(w)
				before := w.domain()
				w.settle(c)
				if held := w.domain().Signer.Active.Equal(before.Signer.Active) && w.domain().Signer.Next == nil; held != tc.held {
					t.Errorf("held: %t, want %t", held, tc.held)
				}
				if !tc.held {
					return
				}
				w.spin(c, 2*blockedPatience)
				for c.queue.Len() > 0 {
					k, _ := c.queue.Get()
					c.queue.Done(k)
				}
				// The queue must set its timers before the clock steps.
				synctest.Wait()
				w.clock.Step(heldRetry)
				if synctest.Wait(); c.queue.Len() == 0 {
					t.Error("nobody looks again")
				}
				if !strings.Contains(strings.Join(w.events.all, "\n"), "nothing is issued or retired until") {
					t.Errorf("no event says why:\n%s", strings.Join(w.events.all, "\n"))
				}
				tc.clocks = clocks{}
				w.settle(c)
				if diff := cmp.Diff(rested, endOf(w)); diff != "" {
					t.Errorf("after the clocks agree again (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestClockHoldIsShown: the API names the controller's clock as the reason why a rotation waits. The clock of the
// API server alone does not show this (NoSilentWait).
func TestClockHoldIsShown(t *testing.T) {
	for _, tc := range []struct {
		name   string
		clocks clocks
	}{
		{"the API server differs", clocks{latest: time.Hour, asked: time.Hour}},
		{"the kubelets differ", clocks{asked: -time.Hour}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w, c := settled(t)
			w.clocks, c.skew = &tc.clocks, &tc.clocks
			requestRotation(w)
			w.settle(c)
			blocked := w.shown(certrotation.ConditionBlocked)
			if blocked.Status != metav1.ConditionTrue || !strings.Contains(blocked.Message, "the controller's clock differs") {
				t.Errorf("the API says of a rotation that the clock holds: %s %s: %s", blocked.Status, blocked.Reason, blocked.Message)
			}
			writes := w.api.Writes()
			if w.settle(c); w.api.Writes() != writes {
				t.Errorf("%d writes though nothing has changed", w.api.Writes()-writes)
			}
			tc.clocks = clocks{}
			w.settle(c)
			if blocked := w.shown(certrotation.ConditionBlocked); blocked.Status != metav1.ConditionFalse {
				t.Errorf("the clocks agree again, and the API says: %s: %s", blocked.Reason, blocked.Message)
			}
			if known := w.records(configv1alpha1.RecordClock)[record.ClockName("web")]; known == nil || known.Spec.Clock.SkewSeconds != 0 {
				t.Errorf("the record of the clock is %v", known)
			}
		})
	}
}

// shown returns a condition of the signer as the API serves it: from the stored objects, with a correct clock.
func (w *world) shown(condition string) metav1.Condition {
	w.t.Helper()
	namespace := inventory.Build(sources.Live(w.api, testNamespace))
	in := projection.Input{Namespace: namespace, Now: w.clock.Now()}
	for _, d := range namespace.Domains {
		in.Assessments = append(in.Assessments, trust.Assess(d, w.clock.Now()))
	}
	row := projection.Render(in).Certificates[signerName]
	if found := meta.FindStatusCondition(row.Status.Conditions, condition); found != nil {
		return *found
	}
	w.t.Fatalf("the API shows no condition %s: %v", condition, row.Status.Conditions)
	return metav1.Condition{}
}

// TestClockThatNobodyKnows: if the skew cannot be measured, nothing is written.
func TestClockThatNobodyKnows(t *testing.T) {
	w, c := settled(t)
	no := errors.New("leases is forbidden")
	w.clocks = &clocks{err: no}
	c.skew = w.clocks
	requestRotation(w)
	before := w.api.Writes()
	if err := c.queue.Do(t.Context(), key{namespace: testNamespace, domain: "web"}); !errors.Is(err, no) {
		t.Errorf("got error %v, want %v", err, no)
	}
	if w.api.Writes() != before {
		t.Error("something was written")
	}
}

// TestClockJumpsDuringConfirmation: a skew that is found during the confirmation stops an irreversible action.
func TestClockJumpsDuringConfirmation(t *testing.T) {
	w, c := promotable(t)
	known := &clocks{}
	w.clocks, c.skew = known, known
	c.evidence = collector{refresh: func() error {
		known.latest, known.asked = time.Hour, time.Hour
		return nil
	}}
	if err := c.queue.Do(t.Context(), key{namespace: testNamespace, domain: "web"}); err == nil || !apply.Benign(err) {
		t.Errorf("got error %v, want one that means to look again", err)
	}
	if len(w.domain().Signer.Previous) > 0 {
		t.Error("it was promoted all the same")
	}
}
