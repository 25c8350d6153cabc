// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/apis/certrotation"
	"certrotation.dev/registry/trust"
)

func TestRenderConditions(t *testing.T) {
	type want struct {
		status metav1.ConditionStatus
		reason string
		text   string
	}
	blocker := trust.Blocker{Party: "client", Member: "east", Reason: trust.ReasonAnchorNotLoaded, Message: "restart it"}
	tests := map[string]struct {
		change  func(w *world)
		object  string // a certificate, or "bundle"
		kind    string
		want    want
		atSince func(w *world) time.Time
	}{
		"signer usable":  {object: "signer", kind: "Ready", want: want{"True", "Usable", "in the bundle"}},
		"signer missing": {change: func(w *world) { missing(&w.domain.Signer.Object); w.domain.Signer.Active = nil }, object: "signer", kind: "Ready", want: want{"False", "Missing", "Secret/signer does not exist"}},
		"signer unreadable": {change: func(w *world) {
			w.domain.Signer.Problem = &trust.Problem{Reason: trust.ReasonUnparsable, Message: "no PEM"}
		}, object: "signer", kind: "Ready", want: want{"False", "Unparsable", "no PEM"}},
		"signer of somebody else": {change: func(w *world) {
			w.domain.Signer = trust.Signer{Object: trust.NotAdopted(trust.SecretKind, &w.domain.Signer.Object, "ns", "pki")}
		}, object: "signer", kind: "Ready", want: want{"False", "NotAdopted", "kubectl certrotation adopt -n ns pki"}},
		"signer lost, next distributing": {change: func(w *world) { w.domain.Signer.Active = nil }, object: "signer", kind: "Ready", want: want{"False", "NoActiveCA", ""}},
		"signer expired":                 {change: func(w *world) { w.now = start().Add(101 * time.Hour) }, object: "signer", kind: "Ready", want: want{"False", "Expired", "2030-01-06T07:04:05Z"}},
		"signer not valid yet":           {change: func(w *world) { w.now = start().Add(-time.Hour) }, object: "signer", kind: "Ready", want: want{"False", "NotYetValid", ""}},
		"signer not published":           {change: func(w *world) { w.domain.Bundle.Anchors = nil }, object: "signer", kind: "Ready", want: want{"False", "AnchorNotPublished", "ConfigMap/bundle"}},
		"leaf usable":                    {object: "server", kind: "Ready", want: want{"True", "Usable", ""}},
		"leaf missing, waiting": {change: func(w *world) {
			missing(&w.domain.Leaves[0].Object)
			w.domain.Leaves[0].Certificate = nil
			w.assessment.Leaves[0] = trust.LeafAssessment{Name: "server", Waiting: []trust.Blocker{blocker}}
		}, object: "server", kind: "Ready", want: want{"False", "Missing", "not reissued yet: client/east: restart it"}},
		"leaf of a stranger": {change: func(w *world) {
			w.assessment.Leaves[0].Usable, w.assessment.Leaves[0].SignedBy = false, nil
		}, object: "server", kind: "Ready", want: want{"False", "UnknownSigner", ""}},
		"leaf not assessed": {change: func(w *world) { w.assessment.Leaves = nil }, object: "server", kind: "Ready", want: want{"False", "UnknownSigner", ""}},
		"bundle usable":     {object: "bundle", kind: "Ready", want: want{"True", "Usable", ""}},
		"bundle empty":      {change: func(w *world) { w.domain.Bundle.Anchors = nil }, object: "bundle", kind: "Ready", want: want{"False", "EmptyBundle", ""}},
		"progressing in a stage": {change: func(w *world) {
			w.assessment.Stage, w.assessment.StageSince = trust.Draining, start().Add(30*time.Second)
		}, object: "bundle", kind: "Progressing", want: want{"True", "Draining", "demo"}, atSince: func(*world) time.Time { return start().Add(30 * time.Second) }},
		"progressing by an action": {change: func(w *world) {
			w.assessment.Actions = []trust.Action{{Kind: trust.IssueLeaf, ObjectKind: trust.SecretKind, Object: "server", Reason: "it is due"}}
		}, object: "server", kind: "Progressing", want: want{"True", "IssueLeaf", "it is due"}},
		"an action elsewhere": {change: func(w *world) {
			w.assessment.Actions = []trust.Action{{Kind: trust.IssueLeaf, ObjectKind: trust.SecretKind, Object: "server"}}
		}, object: "signer", kind: "Progressing", want: want{"False", "Stable", ""}},
		"blocked": {change: func(w *world) { w.assessment.Blockers = []trust.Blocker{blocker} }, object: "signer", kind: "Blocked", want: want{"True", "AnchorNotLoaded", "client/east: restart it"}},
		"not blocked while something can be done": {change: func(w *world) {
			w.assessment.Blockers = []trust.Blocker{blocker}
			w.assessment.Actions = []trust.Action{{Kind: trust.Promote}}
		}, object: "signer", kind: "Blocked", want: want{"False", "NotBlocked", ""}},
		"degraded by a node": {change: func(w *world) {
			w.assessment.Problems = []trust.Problem{{Object: "Node/east", Reason: trust.ReasonNodeWithoutAddress, Message: "has no address"}}
		}, object: "signer", kind: "Degraded", want: want{"True", "ProblemsInDomain", "Node/east: has no address"}},
		"degraded by itself first": {change: func(w *world) {
			w.assessment.Problems = []trust.Problem{{Object: "Secret/server", Reason: trust.ReasonMissing, Message: "x"}, {Object: "Secret/signer", Reason: trust.ReasonNotCA, Message: "no CA"}}
		}, object: "signer", kind: "Degraded", want: want{"True", "NotCA", "no CA"}},
		"overdue": {change: func(w *world) {
			w.assessment.StageDeadline = start().Add(10 * time.Second)
			w.assessment.Problems = []trust.Problem{{Object: "Secret/x", Reason: trust.ReasonOverdue, Message: "late"}}
		}, object: "signer", kind: "Degraded", want: want{"True", "StageOverdue", "late"}, atSince: func(*world) time.Time { return start().Add(10 * time.Second) }},
		"leaf degraded by itself only": {change: func(w *world) {
			w.assessment.Problems = []trust.Problem{{Object: "Secret/other", Reason: trust.ReasonMissing, Message: "x"}}
		}, object: "server", kind: "Degraded", want: want{"False", "Healthy", ""}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			if tt.change != nil {
				tt.change(w)
			}
			objects := w.render(nil)
			conditions := objects.Bundles["bundle"].Status.Conditions
			if tt.object != "bundle" {
				conditions = objects.Certificates[tt.object].Status.Conditions
			}
			got := find(conditions, tt.kind)
			if got.Status != tt.want.status || got.Reason != tt.want.reason || !strings.Contains(got.Message, tt.want.text) {
				t.Errorf("%+v, want %+v", got, tt.want)
			}
			if tt.atSince != nil && !got.LastTransitionTime.Time.Equal(tt.atSince(w)) {
				t.Errorf("transition at %s, want %s", got.LastTransitionTime, tt.atSince(w))
			}
			if len(conditions) != 4 {
				t.Errorf("%d conditions, want 4", len(conditions))
			}
		})
	}
}

func TestRenderTransitionTimes(t *testing.T) {
	w := newWorld(t)
	first := w.render(nil)
	before := find(first.Certificates["server"].Status.Conditions, "Ready").LastTransitionTime

	w.now = w.now.Add(time.Hour)
	if diff := cmp.Diff(first, w.render(first)); diff != "" {
		t.Errorf("time alone has changed the objects (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(first, w.render(nil)); diff != "" {
		t.Errorf("another replica renders other objects (-want +got):\n%s", diff)
	}

	w.assessment.Leaves[0].Usable = false
	second := w.render(first)
	after := find(second.Certificates["server"].Status.Conditions, "Ready").LastTransitionTime
	if !after.Time.Equal(w.now) || after.Equal(&before) {
		t.Errorf("transition at %s, want %s", after, w.now)
	}
}

func TestRenderMetadata(t *testing.T) {
	w := newWorld(t)
	objects := w.render(nil)
	signer, bundle := objects.Certificates["signer"], objects.Bundles["bundle"]
	if signer.UID == "uid-signer" || signer.UID == "" || signer.UID == bundle.UID {
		t.Errorf("UIDs %q and %q must be their own", signer.UID, bundle.UID)
	}
	if again := w.render(nil).Certificates["signer"].UID; again != signer.UID {
		t.Errorf("UID %q, before %q", again, signer.UID)
	}
	want := map[string]string{"certrotation.dev/trust-domain": "demo", "certrotation.dev/role": "signer"}
	if diff := cmp.Diff(want, signer.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	missing(&w.domain.Leaves[0].Object)
	leaf := w.render(nil).Certificates["server"]
	if !leaf.CreationTimestamp.Time.Equal(start().Add(-time.Hour)) {
		t.Errorf("created at %s, want the time of the configuration", leaf.CreationTimestamp)
	}
	if leaf.UID == objects.Certificates["server"].UID {
		t.Error("a source that is gone has left its UID behind")
	}
	if len(leaf.OwnerReferences) != 0 {
		t.Error("a virtual object must not be owned")
	}
}

func TestRenderFacts(t *testing.T) {
	w := newWorld(t)
	objects := w.render(nil)
	root := w.domain.Signer.Active
	leaf := objects.Certificates["server"]
	if got := leaf.Status.Certificate.SignedBy; got != string(root.Fingerprint) {
		t.Errorf("signed by %q, want %q", got, root.Fingerprint)
	}
	if len(leaf.Status.Members) != 1 || leaf.Status.Members[0].Member != "server-0" {
		t.Errorf("members %v, want the holder only", leaf.Status.Members)
	}
	signer := objects.Certificates["signer"]
	if diff := cmp.Diff(certrotation.TrustCount{Trusted: 1, Total: 2}, signer.Status.Trust); diff != "" {
		t.Errorf("trust (-want +got):\n%s", diff)
	}
	if anchor := objects.Bundles["bundle"].Status.Anchors[0]; anchor.Reason != "needed by Secret/server" || anchor.SafeToRemove {
		t.Errorf("anchor %+v", anchor)
	}
	text, err := json.Marshal(objects)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "PRIVATE") {
		t.Error("a private key is served")
	}
}
