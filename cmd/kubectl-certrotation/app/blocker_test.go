// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"strings"
	"testing"

	"certrotation.dev/apis/certrotation"
	"certrotation.dev/apis/certrotation/v1alpha1"
	"certrotation.dev/registry/display"
	"certrotation.dev/registry/rollout"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/projection"
)

// TestBlockersReadAlike: conditions and events, the API, its table and the plugin use the same text for a blocker.
func TestBlockersReadAlike(t *testing.T) {
	for name, tc := range map[string]struct {
		blocker    trust.Blocker
		want, cell string
	}{
		"the only member of a party": {
			trust.Blocker{Party: "server", Member: "server", Reason: trust.ReasonAnchorNotLoaded, Message: "has not loaded CN=ca"},
			"server: has not loaded CN=ca", "server: AnchorNotLoaded",
		},
		"one of several members": {
			trust.Blocker{Party: "clients", Member: "a", Reason: trust.ReasonNotObserved, Message: "was not seen"},
			"clients/a: was not seen", "clients/a: NotObserved",
		},
		"a party": {
			trust.Blocker{Party: "clients", Reason: trust.ReasonNoHolder, Message: "has no member"},
			"clients: has no member", "clients: NoHolder",
		},
		"an object": {
			trust.Blocker{Object: "Secret/ca", Reason: trust.ReasonWriteRefused, Message: "the API server refuses it"},
			"Secret/ca: the API server refuses it", "Secret/ca: WriteRefused",
		},
		"a message that names its object": {
			trust.Blocker{Object: "Secret/ca", Reason: trust.ReasonObjectProblem, Message: "Secret/ca does not exist"},
			"Secret/ca does not exist", "Secret/ca: ObjectProblem",
		},
		"nobody": {
			trust.Blocker{Reason: trust.ReasonRotationQueued, Message: "another rotation is in flight"},
			"RotationQueued: another rotation is in flight", "RotationQueued",
		},
	} {
		t.Run(name, func(t *testing.T) {
			hub := projection.Blockers([]trust.Blocker{tc.blocker})
			if got := tc.blocker.String(); got != tc.want {
				t.Errorf("the model says %q, want %q", got, tc.want)
			}
			if got := blockerText(served(t, &hub[0])); got != tc.want {
				t.Errorf("the plugin says %q, want %q", got, tc.want)
			}
			if got := display.Blocker(hub); got != tc.cell || !strings.HasPrefix(got, blockerName(served(t, &hub[0]))) {
				t.Errorf("the table says %q, want %q", got, tc.cell)
			}
		})
	}
}

// TestRolloutBlockersReadAlike: the plugin shows a blocker of a rollout with the text of the rollout's own
// conditions.
func TestRolloutBlockersReadAlike(t *testing.T) {
	for name, tc := range map[string]struct {
		blocker rollout.Blocker
		want    string
	}{
		"of a node":      {rollout.Blocker{Node: "master-0", Message: "its installer has failed"}, "Node/master-0: its installer has failed"},
		"of the rollout": {rollout.Blocker{Message: "the sources differ"}, "ConfigMap/etcd-rollout: the sources differ"},
	} {
		t.Run(name, func(t *testing.T) {
			b := &tc.blocker
			if got := b.Text("etcd"); got != tc.want {
				t.Errorf("the rollout says %q, want %q", got, tc.want)
			}
			shown := certrotation.Blocker{Member: b.Node, Object: b.Object("etcd"), Message: b.Message}
			if got := blockerText(served(t, &shown)); got != tc.want {
				t.Errorf("the plugin says %q, want %q", got, tc.want)
			}
		})
	}
}

// served converts a blocker to the version that the plugin reads.
func served(t *testing.T, in *certrotation.Blocker) *v1alpha1.Blocker {
	t.Helper()
	out := &v1alpha1.Blocker{}
	if err := v1alpha1.Convert_certrotation_Blocker_To_v1alpha1_Blocker(in, out, nil); err != nil {
		t.Fatal(err)
	}
	return out
}
