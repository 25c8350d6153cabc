// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"strings"
	"testing"
	"time"
)

func TestJudgeAnnotations(t *testing.T) {
	const hour = time.Hour
	set := func(key, value string) func(*world, *Domain) {
		return func(_ *world, d *Domain) { leafOf(d, "server").Annotations[key] = value }
	}
	remove := func(key string) func(*world, *Domain) {
		return func(_ *world, d *Domain) { delete(leafOf(d, "server").Annotations, key) }
	}
	long := strings.Repeat("x", 100)
	tests := []judgement{
		{name: "not-after deleted when stable asks for a rotation", edit: remove(AnnotationNotAfter)},
		{name: "not-before deleted when stable asks for a rotation", edit: remove(AnnotationNotBefore)},
		{name: "not-before deleted mid-rollout", before: inStage(Reissuing), edit: remove(AnnotationNotBefore),
			invariant: ContentDecides, object: "Secret/server", says: "would be deleted", way: "now Reissuing"},
		{name: "not-after deleted mid-rollout", before: inStage(Reissuing), edit: remove(AnnotationNotAfter),
			invariant: ContentDecides, object: "Secret/server", says: "would be deleted", way: "now Reissuing"},
		{name: "not-after lowered mid-rollout", before: inStage(Reissuing), edit: set(AnnotationNotAfter, "2020-01-01T00:00:00Z"),
			invariant: ContentDecides, object: "Secret/server", says: "lowered", way: "Stable"},
		{name: "not-after raised beyond the certificate", before: inStage(Reissuing), edit: set(AnnotationNotAfter, "2999-01-01T00:00:00Z"),
			invariant: ContentDecides, object: "Secret/server", says: "2999", way: "Stable"},
		{name: "not-before changed", before: inStage(Reissuing), edit: set(AnnotationNotBefore, "2999-01-01T00:00:00Z"),
			invariant: ContentDecides, object: "Secret/server", says: "not-before", way: "Stable"},
		{name: "issuer changed to something long", before: inStage(Reissuing), edit: set(AnnotationIssuer, long),
			invariant: ContentDecides, object: "Secret/server", says: long[:64] + "...", way: "Stable"},
		{name: "issued-at lowered", before: inStage(Draining), edit: set(AnnotationIssuedAt, start.Add(-hour).Format(time.RFC3339)),
			invariant: ContentDecides, object: "Secret/server", says: "issued-at", way: "Stable"},
		{name: "issued-at garbled", before: inStage(Draining), edit: set(AnnotationIssuedAt, "soon"),
			invariant: ContentDecides, object: "Secret/server", says: "issued-at", way: "Stable"},
		{name: "issued-at raised", before: inStage(Draining), edit: set(AnnotationIssuedAt, start.Add(hour).Format(time.RFC3339))},
		{name: "host names are text", before: inStage(Draining), edit: set(AnnotationHostnames, "a")},
		{name: "an annotation of nobody", before: inStage(Draining), edit: set("certrotation.dev/note", "a")},
		{name: "not-after corrected", before: func(w *world) {
			inStage(Draining)(w)
			w.leaf("server").Annotations[AnnotationNotAfter] = "2020-01-01T00:00:00Z"
		}, edit: func(w *world, d *Domain) {
			leafOf(d, "server").Annotations[AnnotationNotAfter] = w.leaf("server").Certificate.NotAfter.Format(time.RFC3339)
		}},
		{name: "consent withdrawn when stable", before: consented, edit: remove(AnnotationConfiguration)},
		{name: "consent withdrawn mid-rotation", before: func(w *world) { inStage(Draining)(w); consented(w) }, edit: remove(AnnotationConfiguration),
			invariant: ContentDecides, object: "Secret/server", says: "would be deleted", way: "Stable"},
		{name: "consent given to another one mid-rotation", before: func(w *world) { inStage(Draining)(w); consented(w) }, edit: set(AnnotationConfiguration, "other"),
			invariant: ContentDecides, object: "Secret/server", says: `from the configuration "pki"`, way: "Stable"},
		{name: "consent given mid-rotation", before: inStage(Draining), edit: set(AnnotationConfiguration, "pki")},
		{name: "promoted-at of the signer deleted", before: inStage(Draining), edit: func(_ *world, d *Domain) { delete(d.Signer.Annotations, AnnotationPromotedAt) },
			invariant: ContentDecides, object: "Secret/signer", says: "promoted-at", way: "Stable"},
	}
	for i := range tests {
		t.Run(tests[i].name, func(t *testing.T) { tests[i].run(t) })
	}
}

func consented(w *world) { w.leaf("server").Annotations[AnnotationConfiguration] = "pki" }

func TestEarlier(t *testing.T) {
	tests := []struct {
		before, after string
		want          bool
	}{
		{"7", "6", true},
		{"7", "7", false},
		{"7", "8", false},
		{"7", "seven", true},
		{"seven", "6", false},
		{"2026-01-02T00:00:00Z", "2026-01-01T00:00:00Z", true},
		{"2026-01-02T00:00:00Z", "2026-01-03T00:00:00Z", false},
		{"2026-01-02T00:00:00Z", "", true},
	}
	for _, tt := range tests {
		if got := earlier("", tt.before, tt.after); got != tt.want {
			t.Errorf("from %q to %q: lower %t, want %t", tt.before, tt.after, got, tt.want)
		}
	}
}
