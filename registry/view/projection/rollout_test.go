// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/apis/certrotation"
	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/rollout"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

func rollingOut(status *rollout.Status) *inventory.Rollout {
	return &inventory.Rollout{Config: &configv1alpha1.StaticPodRollout{Name: "etcd"}, Domains: []string{"demo"}, Status: status}
}

func rolloutCondition(kind string, status bool, reason, message string) rollout.Condition {
	return rollout.Condition{Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: start().Add(10 * time.Second)}
}

func TestRenderRollout(t *testing.T) {
	at := start().Add(10 * time.Second)
	ago := metav1.NewTime(at)
	slow := rollout.Blocker{Node: "n2", Reason: rollout.ReasonStaticPodPending, Message: "its pod is not Ready", Since: at, Overdue: true}
	quick := rollout.Blocker{Reason: rollout.ReasonSourceChanging, Message: "the bundle is newer", Since: at}
	tests := map[string]struct {
		rollout    *inventory.Rollout
		problems   []trust.Problem
		conditions []string
		blockers   []certrotation.Blocker
		degraded   string
		since      time.Time
	}{
		"none":                 {degraded: "False Healthy"},
		"of another domain":    {rollout: &inventory.Rollout{Config: &configv1alpha1.StaticPodRollout{Name: "x"}, Domains: []string{"x"}, Status: &rollout.Status{Blockers: []rollout.Blocker{slow}}}, degraded: "False Healthy"},
		"nothing is known yet": {rollout: rollingOut(nil), degraded: "False Healthy"},
		"all is well": {
			rollout: rollingOut(&rollout.Status{Conditions: []rollout.Condition{
				rolloutCondition("NodeInstallerDegraded", false, "AsExpected", ""),
				rolloutCondition("NodeInstallerProgressing", false, "AllNodesAtLatestRevision", "3 nodes"),
				rolloutCondition("StaticPodsAvailable", true, "", ""),
			}}),
			conditions: []string{
				"NodeInstallerDegraded False AsExpected ", "NodeInstallerProgressing False AllNodesAtLatestRevision 3 nodes",
				"StaticPodsAvailable True StaticPodsAvailable ",
			},
			degraded: "False Healthy",
		},
		"degraded": {
			rollout: rollingOut(&rollout.Status{Conditions: []rollout.Condition{
				rolloutCondition("NodeInstallerDegraded", true, "InstallerPodFailed", "node n1: no space"),
				rolloutCondition("StaticPodsDegraded", true, "Error", ""),
			}}),
			conditions: []string{"NodeInstallerDegraded True InstallerPodFailed node n1: no space", "StaticPodsDegraded True Error "},
			degraded:   "True NodeInstallerDegraded rollout etcd: NodeInstallerDegraded: node n1: no space; StaticPodsDegraded: Error", since: at,
		},
		"blocked, not for long": {
			rollout:  rollingOut(&rollout.Status{Blockers: []rollout.Blocker{quick}}),
			blockers: []certrotation.Blocker{{Object: "ConfigMap/etcd-rollout", Reason: "SourceChanging", Message: "the bundle is newer", Since: &ago}},
			degraded: "False Healthy",
		},
		"blocked for too long": {
			rollout: rollingOut(&rollout.Status{Blockers: []rollout.Blocker{quick, slow}}),
			blockers: []certrotation.Blocker{
				{Member: "n2", Object: "Node/n2", Reason: "StaticPodPending", Message: "its pod is not Ready", Since: &ago},
				{Object: "ConfigMap/etcd-rollout", Reason: "SourceChanging", Message: "the bundle is newer", Since: &ago},
			},
			degraded: "True StaticPodPending rollout etcd: Node/n2: its pod is not Ready", since: at,
		},
		"a problem of the domain comes first": {
			rollout:    rollingOut(&rollout.Status{Conditions: []rollout.Condition{rolloutCondition("StaticPodsDegraded", true, "Error", "x")}}),
			problems:   []trust.Problem{{Object: "Node/east", Reason: trust.ReasonNodeWithoutAddress, Message: "has no address"}},
			conditions: []string{"StaticPodsDegraded True Error x"}, degraded: "True ProblemsInDomain Node/east: has no address",
		},
		"a status that cannot be read": {
			rollout: func() *inventory.Rollout {
				r := rollingOut(nil)
				r.Problem = &trust.Problem{Object: "ConfigMap/etcd-rollout", Reason: inventory.ReasonInvalidStatus, Message: "it is no JSON object"}
				return r
			}(),
			degraded: "True InvalidRolloutStatus ConfigMap/etcd-rollout: it is no JSON object",
		},
		"conditions by the names of our own, and twice": {
			rollout: rollingOut(&rollout.Status{Conditions: []rollout.Condition{
				rolloutCondition("Ready", false, "Hostile", ""), rolloutCondition("A", true, "x", ""), rolloutCondition("A", false, "y", ""),
			}}),
			conditions: []string{"A True x "}, degraded: "False Healthy",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.rollout, w.assessment.Problems = tt.rollout, tt.problems
			objects := w.render(nil)
			status := objects.Certificates["signer"].Status
			var conditions []string
			for _, c := range status.Conditions[4:] {
				conditions = append(conditions, fmt.Sprintf("%s %s %s %s", c.Type, c.Status, c.Reason, c.Message))
				if !c.LastTransitionTime.Time.Equal(at) {
					t.Errorf("%s changed at %s, want %s", c.Type, c.LastTransitionTime, at)
				}
			}
			if diff := cmp.Diff(tt.conditions, conditions); diff != "" {
				t.Errorf("conditions (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.blockers, status.Blockers); diff != "" {
				t.Errorf("blockers (-want +got):\n%s", diff)
			}
			degraded := find(status.Conditions, "Degraded")
			if got := fmt.Sprintf("%s %s %s", degraded.Status, degraded.Reason, degraded.Message); !strings.HasPrefix(got, tt.degraded) {
				t.Errorf("degraded %q, want %q", got, tt.degraded)
			}
			if !tt.since.IsZero() && !degraded.LastTransitionTime.Time.Equal(tt.since) {
				t.Errorf("degraded since %s, want %s", degraded.LastTransitionTime, tt.since)
			}
			if ready := find(status.Conditions, "Ready"); ready.Status != metav1.ConditionTrue {
				t.Errorf("the signer is not ready: %+v", ready)
			}
			if n := len(objects.Certificates["server"].Status.Conditions); n != 4 {
				t.Errorf("the leaf has %d conditions, want 4", n)
			}
			// A later rendering of the same facts must not differ.
			w.now = w.now.Add(time.Hour)
			if changes := diff("ns", objects.Certificates, w.render(objects).Certificates); len(changes) != 0 {
				t.Errorf("%d changes of nothing", len(changes))
			}
		})
	}
}

func TestRolloutIsBounded(t *testing.T) {
	status := &rollout.Status{}
	for i := range 100 {
		status.Conditions = append(status.Conditions, rolloutCondition(fmt.Sprintf("C%d", i), false, "x", strings.Repeat("y", 2000)))
		status.Blockers = append(status.Blockers, rollout.Blocker{Node: fmt.Sprintf("n%d", i), Reason: "R", Message: strings.Repeat("z", 2000), Overdue: true})
	}
	w := newWorld(t)
	w.rollout = rollingOut(status)
	got := w.render(nil).Certificates["signer"].Status
	if len(got.Conditions) != 4+maxRolloutConditions || len(got.Blockers) != maxRolloutBlockers+1 {
		t.Errorf("%d conditions, %d blockers", len(got.Conditions), len(got.Blockers))
	}
	want := certrotation.Blocker{Object: "ConfigMap/etcd-rollout", Reason: "MoreBlockers", Message: "the rollout waits for 84 more; all of them are in this ConfigMap"}
	if diff := cmp.Diff(want, got.Blockers[maxRolloutBlockers]); diff != "" {
		t.Errorf("last blocker (-want +got):\n%s", diff)
	}
	for _, c := range got.Conditions {
		if len(c.Message) > maxMessage {
			t.Errorf("%s has a message of %d bytes", c.Type, len(c.Message))
		}
	}
}
