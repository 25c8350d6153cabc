// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package edition

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"k8s.io/apimachinery/pkg/types"

	"certrotation.dev/test/property"
)

// TestCleanupDeletesNothingInUse draws runs. Cleanup keeps what was asked for, what a pod or a configuration uses,
// what an incomplete run has not named, and signers of kept editions. It deletes all else.
func TestCleanupDeletesNothingInUse(t *testing.T) {
	t.Parallel()
	property.Check(t, func(t *rapid.T) {
		names := []string{"ca", "server", "client", "ca-bundle"}
		chance := func(what string) bool { return rapid.Bool().Draw(t, what) }
		run := &Run{
			Asked: map[types.NamespacedName]string{}, Named: map[string]bool{}, Loaded: map[string]bool{}, Users: map[types.NamespacedName][]string{}, Now: noon,
		}
		if chance("incomplete") {
			run.Incomplete = "something failed"
		}
		for _, name := range names[:3] {
			run.Named[name], run.Loaded[name] = chance("named"), chance("loaded")
		}
		for n := range rapid.IntRange(0, 10).Draw(t, "editions") {
			e := &Edition{
				NamespacedName: types.NamespacedName{Namespace: "ns", Name: fmt.Sprintf("s-%d", n)}, Checksum: fmt.Sprintf("checksum-%d", n),
				Authority: chance("authority"), Labels: map[string]string{LabelName: rapid.SampledFrom(names).Draw(t, "name")},
			}
			if e.Labels[LabelName] == "ca-bundle" {
				e.Labels[LabelBundleFor] = "ca"
			}
			if chance("signed") {
				e.Labels[LabelChecksumSigningCA] = fmt.Sprintf("checksum-%d", rapid.IntRange(0, 9).Draw(t, "signer"))
			}
			if chance("expires") {
				e.Until = noon.Add(time.Duration(rapid.IntRange(-1, 1).Draw(t, "until")) * time.Hour)
			}
			if rapid.IntRange(0, 3).Draw(t, "asked") == 0 && run.Named[e.about()] {
				run.Asked[e.NamespacedName] = "it is asked for"
			}
			if rapid.IntRange(0, 3).Draw(t, "used") == 0 {
				run.Users[e.NamespacedName] = []string{"Pod/a", "Pod/b", "Pod/c", "Pod/d"}
			}
			if rapid.IntRange(0, 5).Draw(t, "adopted") == 0 {
				e.Configuration = "etcd"
			}
			run.Editions = append(run.Editions, e)
		}
		plan := run.Cleanup()
		if len(plan) != len(run.Editions) {
			t.Fatalf("%d steps for %d editions", len(plan), len(run.Editions))
		}
		stays := func(e *Edition) bool {
			at := slices.IndexFunc(plan, func(s Step) bool { return s.Object == e.NamespacedName })
			if plan[at].Reason == "" {
				t.Fatalf("%s has no reason", plan[at].String())
			}
			return plan[at].Action == Keep
		}
		for _, e := range run.Editions {
			needed := run.Asked[e.NamespacedName] != "" || len(run.Users[e.NamespacedName]) > 0 || e.Configuration != "" ||
				run.Incomplete != "" && !run.Named[e.about()] || run.Loaded[e.about()] && !run.Named[e.about()]
			if needed && !stays(e) {
				t.Fatalf("%s goes", e.Name)
			}
			signs := slices.ContainsFunc(run.Editions, func(leaf *Edition) bool { return stays(leaf) && !leaf.Expired(noon) && e.Signed(leaf) })
			if signs && !stays(e) {
				t.Fatalf("%s goes, which has signed what stays", e.Name)
			}
			if !needed && !signs && stays(e) {
				t.Fatalf("%s stays for nothing", e.Name)
			}
		}
	})
}

func TestPlanReads(t *testing.T) {
	t.Parallel()
	plan := Plan{
		{Action: Delete, Name: "b", Object: types.NamespacedName{Namespace: "ns", Name: "b-2"}, Reason: "nothing uses it"},
		{Action: Create, Name: "a", Object: types.NamespacedName{Namespace: "ns", Name: "a-1"}, Provisional: true, Reason: "there is none yet"},
	}
	const want = "create ns/a-*: there is none yet\ndelete ns/b-2: nothing uses it"
	if got := plan.Sorted().String(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := few([]string{"a", "b", "c", "d", "e"}); got != "a, b, c and 2 more" {
		t.Errorf("%q", got)
	}
}
