// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"

	"certrotation.dev/controller/secrets/kinds"
	"certrotation.dev/registry/edition"
)

// TestPlan: a run does what its plan tells, and planning writes nothing.
func TestPlan(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	reconcile := func(options ...Option) *Instance {
		i := w.instance(options...)
		w.generate(i, authority("ca"), Rotate(KeepOld))
		w.generate(i, leaf("server", kinds.ServerCert), SignedByCA("ca"))
		w.generate(i, leaf("client", kinds.ClientCert), SignedByCA("ca"))
		if len(w.times) > 0 {
			w.generate(i, password("user"))
		} else {
			w.generate(i, password("component"))
		}
		w.cleanup(i)
		return i
	}
	compare := func(what string, want ...string) {
		t.Helper()
		before := w.api.Writes()
		planned := reconcile(WithPlanOnly()).Plan()
		if got := w.api.Writes(); got != before {
			t.Fatalf("%s: the plan has written %d times", what, got-before)
		}
		done := reconcile().Plan()
		if len(planned) != len(done) {
			t.Fatalf("%s: planned\n%s\ndone\n%s", what, planned, done)
		}
		got := map[string]int{}
		for at := range planned {
			got[string(planned[at].Action)+" "+planned[at].Name+": "+planned[at].Reason]++
			got[string(done[at].Action)+" "+done[at].Name+": "+done[at].Reason]--
			if planned[at].Provisional != strings.Contains(planned[at].String(), "-*") {
				t.Errorf("%s: %s", what, planned[at].String())
			}
			if !planned[at].Provisional && !strings.Contains(done.String(), planned[at].Object.Name) {
				t.Errorf("%s: %s was planned and not done", what, planned[at].Object)
			}
		}
		for step, count := range got {
			if count != 0 {
				t.Errorf("%s: %q is planned %d times more than done", what, step, count)
			}
		}
		for _, step := range want {
			if _, ok := got[step]; !ok {
				t.Errorf("%s: nothing says %q:\n%s", what, step, planned)
			}
		}
	}
	compare("an empty namespace", "create ca: there is none yet", "create ca-bundle: there is none yet", "create server: there is none yet")
	compare("the same again", "keep ca: it is as it should be")
	w.times["ca"] = begin
	compare("a rotation", "create ca: a rotation was begun", "keep server: it is as it should be", "create client: its signer is another one",
		"create ca-bundle: its configuration has changed", "delete component: no configuration asks for it any more, and nothing uses it",
		"delete client: another edition has replaced it, and nothing uses it", "keep ca: it is the old one of ca")
}

// TestPlanOfChanges: an adoption and changed labels are planned as they are done, and planning writes nothing.
func TestPlanOfChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put(offered("legacy", "user"))
	for _, tt := range []struct {
		name    string
		options []GenerateOption
		want    edition.Action
	}{
		{name: "an adoption", want: edition.Adopt},
		{name: "labels", options: []GenerateOption{WithLabels(map[string]string{"app": "web"})}, want: edition.Change},
		{name: "nothing", options: []GenerateOption{WithLabels(map[string]string{"app": "web"})}, want: edition.Keep},
	} {
		before, stored := w.api.Writes(), w.names()
		plan := w.instance(WithPlanOnly())
		planned := w.generate(plan, password("user"), tt.options...)
		if w.api.Writes() != before || !slices.Equal(w.names(), stored) {
			t.Fatalf("%s: the plan has written", tt.name)
		}
		run := w.instance()
		done := w.generate(run, password("user"), tt.options...)
		if !maps.Equal(planned.Labels, done.Labels) || planned.Name != done.Name {
			t.Errorf("%s: planned %s with %v, done %s with %v", tt.name, planned.Name, planned.Labels, done.Name, done.Labels)
		}
		if plan.Plan().String() != run.Plan().String() || len(run.Plan().Of(tt.want)) != 1 {
			t.Errorf("%s: planned\n%s\ndone\n%s", tt.name, plan.Plan(), run.Plan())
		}
	}
}

func TestEventsAndMetrics(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	recorder := events.NewFakeRecorder(10)
	registry := metrics.NewKubeRegistry()
	m := NewMetrics(registry)
	reconcile := func(names ...string) {
		i := w.instance(WithMetrics(m), WithEvents(recorder, &corev1.Namespace{}))
		for _, name := range names {
			w.generate(i, password(name))
		}
		w.cleanup(i)
		if _, err := i.Generate(t.Context(), password("")); err == nil {
			t.Error("it was generated")
		}
	}
	reconcile("user", "other")
	reconcile("user")
	if err := testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP certrotation_secrets_failures_total [ALPHA] Secrets that could not be generated.
# TYPE certrotation_secrets_failures_total counter
certrotation_secrets_failures_total 2
# HELP certrotation_secrets_steps_total [ALPHA] Secrets that instances of the library have looked at, by what was done (create, adopt, change, keep, hold, delete).
# TYPE certrotation_secrets_steps_total counter
certrotation_secrets_steps_total{action="create"} 2
certrotation_secrets_steps_total{action="delete"} 1
certrotation_secrets_steps_total{action="keep"} 1
`)); err != nil {
		t.Error(err)
	}
	close(recorder.Events)
	var said []string
	for event := range recorder.Events {
		said = append(said, event)
	}
	if len(said) != 3 || !strings.HasPrefix(said[2], "Normal SecretChanged delete "+space+"/other-") {
		t.Errorf("events %q", said)
	}
	if plan := edition.Plan(nil).String(); plan != "" {
		t.Errorf("an empty plan is %q", plan)
	}
}
