// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package record_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/record"
	"certrotation.dev/registry/trust"
)

// TestPodsThatCountAlikeAreTogether: replicas that differ only in name and UID share one entry.
func TestPodsThatCountAlikeAreTogether(t *testing.T) {
	t.Parallel()
	want := []configv1alpha1.RosterPods{
		{Party: "web", Instances: []string{"a/uid-3", "web-0/uid-1"}, Evidence: configv1alpha1.EvidenceAcknowledgement, Verifies: []string{"server"}, Started: true},
		{Party: "web", Instances: []string{"web-0/uid-2"}, Evidence: configv1alpha1.EvidenceAcknowledgement, Verifies: []string{"server"}},
	}
	got := object(configv1alpha1.RecordRoster).Spec.Roster
	if diff := cmp.Diff(want, got.Pods[:2]); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
	if len(got.Pods) != 3 || len(got.Members) != 4 {
		t.Errorf("%d kinds of pods and %d other members, want 3 and 4", len(got.Pods), len(got.Members))
	}
}

// TestRosterOfManyPodsFits: etcd refuses requests of more than 1.5 MiB, and an object is larger than its spec.
func TestRosterOfManyPodsFits(t *testing.T) {
	t.Parallel()
	const pods, most = 5000, 1 << 20
	roster := &trust.Roster{Leaves: []string{"client", "server"}, Populated: []string{"web/0123abcd"}}
	for i := range pods {
		roster.Members = append(roster.Members, trust.RosterMember{
			Party: "web", Member: fmt.Sprintf("%s-%05d", strings.Repeat("x", 57), i), Instance: fmt.Sprintf("%08d-9c58-4b5f-9d0a-2f6d3b1c7e4a", i),
			Pod: true, Kind: trust.Acknowledgement, Verifies: []string{"client", "server"}, Presents: []string{"server"}, Started: i%2 == 0,
		})
	}
	made, err := record.OfRoster(testNamespace, testDomain, roster)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(made)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the roster of %d pods has %d bytes", pods, len(data))
	if len(data) >= most {
		t.Errorf("the roster of %d pods has %d bytes, want less than %d", pods, len(data), most)
	}
	read, err := record.Decode(overTheWire(t, made))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(roster.Members, read.Roster.Members); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
}

func TestMalformedRosterOfPods(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		edit func(r *configv1alpha1.RecordedRoster)
		want string
	}{
		"no UID":               {func(r *configv1alpha1.RecordedRoster) { r.Pods[0].Instances[0] = "a" }, "roster.pods[0].instances[0]: it has to be NAME/UID"},
		"no name":              {func(r *configv1alpha1.RecordedRoster) { r.Pods[0].Instances[0] = "/uid" }, "roster.pods[0].instances[0]: it is missing"},
		"an empty UID":         {func(r *configv1alpha1.RecordedRoster) { r.Pods[0].Instances[0] = "a/" }, "roster.pods[0].instances[0]: it is missing"},
		"a pod twice":          {func(r *configv1alpha1.RecordedRoster) { r.Pods[1].Instances[0] = r.Pods[0].Instances[0] }, "roster.pods[1].instances[0]"},
		"an unknown kind":      {func(r *configv1alpha1.RecordedRoster) { r.Pods[0].Evidence = "word" }, "roster.pods[0].evidence"},
		"leaves out of order":  {func(r *configv1alpha1.RecordedRoster) { r.Pods[0].Verifies = []string{"b", "a"} }, "roster.pods[0].verifies[1]"},
		"a name that is long":  {func(r *configv1alpha1.RecordedRoster) { r.Pods[0].Instances[0] = strings.Repeat("x", 254) + "/uid" }, "254 characters"},
		"no party":             {func(r *configv1alpha1.RecordedRoster) { r.Pods[0].Party = "" }, "roster.pods[0].party"},
		"a hash that is long":  {func(r *configv1alpha1.RecordedRoster) { r.Populated[0] = strings.Repeat("x", 263) }, "roster.populated[0]"},
		"more than there fit":  {func(r *configv1alpha1.RecordedRoster) { r.Pods[0].Instances = make([]string, 10001) }, "the limit is 10000"},
		"parties out of order": {func(r *configv1alpha1.RecordedRoster) { r.Populated = []string{"b", "a"} }, "roster.populated[1]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := object(configv1alpha1.RecordRoster)
			tt.edit(in.Spec.Roster)
			if _, err := record.Decode(in); !errors.Is(err, record.ErrMalformed) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Decode() = %v, want %q", err, tt.want)
			}
		})
	}
}
