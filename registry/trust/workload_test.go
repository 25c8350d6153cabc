// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"certrotation.dev/registry/pki"
	"certrotation.dev/test/property"
)

// TestRestartsOfARotation: pods that never reload are restarted once for trust and once for their leaf, or once
// for both.
func TestRestartsOfARotation(t *testing.T) {
	for name, tt := range map[string]struct {
		workloads []Workload
		// first are the members that reload before any restart.
		first []string
		want  []Workload
	}{
		"trust, then the leaf":                  {[]Workload{webWorkload}, nil, []Workload{webWorkload, webWorkload}},
		"both at once":                          {[]Workload{webWorkload}, []string{"server"}, []Workload{webWorkload}},
		"two workloads, trust, then the leaf":   {[]Workload{webWorkload, jobWorkload}, nil, []Workload{webWorkload, jobWorkload, webWorkload, jobWorkload}},
		"two workloads, both at once":           {[]Workload{jobWorkload, webWorkload}, []string{"server"}, []Workload{jobWorkload, webWorkload}},
		"nobody may restart them":               {nil, nil, nil},
		"nobody may, and the server has loaded": {nil, []string{"server"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := newStartWorld(t, tt.workloads...)
			if tt.workloads == nil {
				w.templates[webWorkload] = w.content()
				w.scaleUp(webWorkload)
				w.look()
			}
			w.request("test")
			w.settle()
			w.look()
			w.reload(tt.first...)
			w.settle()
			if tt.workloads == nil {
				w.restart()
			} else {
				// Restart one workload at a time, until its pods have shown their evidence.
				for len(tt.first) == 0 && w.assess().Stage == Distributing && w.restart() {
					if again := w.due(); len(again) > 0 {
						t.Fatalf("due before there is evidence: %+v", again)
					}
					w.look()
				}
				w.follow()
			}
			var got []Workload
			for _, r := range w.restarts {
				got = append(got, r.Workload)
				if len(r.Content) != 2 || len(r.Waits) != 1 {
					t.Errorf("restart %+v, want the hashes of both objects, for one pod", r)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("restarts (-want +got):\n%s", diff)
			}
			if stage := w.assess().Stage; (stage == Stable) != (tt.workloads != nil) {
				t.Errorf("stage %s", stage)
			}
		})
	}
}

// TestWhatIsDue tests each rule in a rotation whose anchor is published, and which waits for the pod of a
// workload.
func TestWhatIsDue(t *testing.T) {
	stable := func(w *startWorld) {
		for range 3 {
			w.follow()
		}
		if stage := w.assess().Stage; stage != Stable {
			w.t.Fatalf("stage %s", stage)
		}
	}
	renew := func(w *startWorld) {
		w.requestFor("client-a", "test")
		w.now = w.now.Add(time.Hour)
		w.settle()
	}
	pod := func(w *startWorld) *Member { return &w.starters().Members[0] }
	for name, tt := range map[string]struct {
		edit func(w *startWorld)
		due  bool
		// waits is set if a pod waits for it.
		waits bool
	}{
		"trust is waited for":                                   {func(*startWorld) {}, true, true},
		"before the anchor is published":                        {func(w *startWorld) { w.d.Bundle.Anchors = w.d.Bundle.Anchors[:1] }, false, false},
		"the bundle cannot be read":                             {func(w *startWorld) { w.d.Bundle.Problem = &Problem{Reason: ReasonUnparsable} }, false, false},
		"the signer cannot be read":                             {func(w *startWorld) { w.d.Signer.Problem = &Problem{Reason: ReasonUnparsable} }, false, false},
		"the roster cannot be read":                             {func(w *startWorld) { w.d.RosterProblem = &Problem{} }, false, false},
		"the leaf cannot be used":                               {func(w *startWorld) { w.leaf("client-a").Problem = &Problem{Reason: pki.ReasonKeyMismatch} }, false, false},
		"the leaf is about to be issued":                        {func(w *startWorld) { w.reload("server") }, false, false},
		"the pods are not known":                                {func(w *startWorld) { w.starters().Unlisted = true }, false, false},
		"the pod is waived, and is seen with the former bundle": {func(w *startWorld) { w.waive("client-a") }, true, true},
		"the pod is waived, and nothing is known of it": {func(w *startWorld) {
			w.waive("client-a")
			pod(w).Observations = nil
		}, false, false},
		"the pod terminates":                 {func(w *startWorld) { pod(w).Pod.Terminating = true }, false, false},
		"the pod is of no workload":          {func(w *startWorld) { pod(w).Workload = Workload{} }, true, false},
		"the pod is of another workload":     {func(w *startWorld) { pod(w).Workload = jobWorkload }, true, false},
		"no workload may be restarted":       {func(w *startWorld) { w.starters().Workloads = nil }, false, false},
		"evidence of another kind":           {func(w *startWorld) { w.starters().Kind = Acknowledgement }, false, false},
		"the template is up to date already": {func(w *startWorld) { w.templates[webWorkload] = w.content() }, false, false},
		"nothing is known of the template":   {func(w *startWorld) { delete(w.templates, webWorkload) }, true, true},
		"the template names nothing yet":     {func(w *startWorld) { w.templates[webWorkload] = map[string]string{} }, true, true},
		"the pod names nothing yet":          {func(w *startWorld) { pod(w).Content = nil }, true, true},
		"the pod shows evidence": {func(w *startWorld) {
			pod(w).Content = w.content()
			w.run(pod(w))
			w.look()
		}, false, false},
		"at rest":                     {stable, false, false},
		"at rest, evidence has ended": {func(w *startWorld) { stable(w); w.now = w.now.Add(2 * lease) }, false, false},
		"at rest, the pod names nothing": {func(w *startWorld) {
			stable(w)
			pod(w).Content, w.templates[webWorkload] = nil, nil
		}, false, false},
		"at rest, its leaf is renewed": {func(w *startWorld) { stable(w); renew(w) }, true, true},
		"at rest, its leaf is renewed, and the pod names nothing": {func(w *startWorld) {
			stable(w)
			renew(w)
			pod(w).Content, w.templates[webWorkload] = nil, nil
		}, true, true},
		"at rest, its Secret has changed, and its leaf has not": {func(w *startWorld) {
			stable(w)
			pod(w).Content[ContentAnnotation(SecretKind, "client-a")] = "former"
			w.templates[webWorkload] = pod(w).Content
		}, false, false},
		"at rest, a pod names nothing and started after its leaf was renewed": {func(w *startWorld) {
			stable(w)
			renew(w)
			w.now = w.now.Add(time.Hour)
			w.run(pod(w))
			pod(w).Content, w.templates[webWorkload] = nil, nil
		}, false, false},
		"at rest, a pod starts with a bundle that was replaced": {func(w *startWorld) { stable(w); w.scaleUp(webWorkload) }, false, false},
		"at rest, a pod waits at its gate for a bundle that was replaced": {func(w *startWorld) {
			stable(w)
			w.scaleUp(webWorkload)
			w.starters().Members[1].Pod = &Pod{}
		}, false, false},
		"at rest, the only pod waits at its gate for a bundle that was replaced": {func(w *startWorld) { stable(w); pod(w).Pod = &Pod{} }, false, false},
		"at rest, a pod waits at its gate for a bundle that is gone": {func(w *startWorld) {
			stable(w)
			w.d.Bundle.Superseded = nil
			w.scaleUp(webWorkload)
		}, true, true},
		"at rest, a pod waits at its gate for a leaf that is gone": {func(w *startWorld) {
			stable(w)
			renew(w)
			pod(w).Pod = &Pod{}
		}, true, true},
		"at rest, a pod waits at its gate for a leaf that is gone, and is waived": {func(w *startWorld) {
			stable(w)
			renew(w)
			pod(w).Pod = &Pod{}
			w.waive("client-a")
		}, true, true},
		"a pod waits at its gate for a bundle that was replaced": {func(w *startWorld) { pod(w).Pod = &Pod{} }, false, false},
		"at rest, a pod has not started, and no gate holds it": {func(w *startWorld) {
			stable(w)
			w.d.Bundle.Superseded = nil
			w.scaleUp(webWorkload)
			w.starters().StartAssumed = true
		}, false, false},
		"at rest, scaled to zero, the template names a bundle that was replaced": {func(w *startWorld) { stable(w); w.starters().Members = nil }, true, false},
		"at rest, scaled to zero, the template names nothing": {func(w *startWorld) {
			stable(w)
			w.starters().Members, w.templates[webWorkload] = nil, nil
		}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newStartWorld(t, webWorkload)
			w.request("test")
			w.settle()
			w.look()
			tt.edit(w)
			got := w.due()
			if (len(got) > 0) != tt.due || len(got) > 0 && (len(got[0].Waits) > 0) != tt.waits {
				t.Errorf("due %+v, want one: %t, with a pod that waits: %t", got, tt.due, tt.waits)
			}
		})
	}
}

// TestPodsThatStartAfterARotation: the last action of a rotation removes the former CA from the bundle, but
// templates still name the content before. Pods that start then need no restart, and the next rotation restarts
// them as usual.
func TestPodsThatStartAfterARotation(t *testing.T) {
	w := newStartWorld(t, webWorkload, jobWorkload)
	rotate := func() {
		w.request("test")
		w.settle()
		for range 3 {
			w.follow()
		}
		if stage := w.assess().Stage; stage != Stable {
			t.Fatalf("stage %s", stage)
		}
	}
	rotate()
	p := w.starters()
	for len(p.Members) > 0 {
		w.gone(&p.Members[0])
		p.Members = slices.Clone(p.Members[1:])
	}
	restarts := len(w.restarts)
	w.scaleUp(webWorkload)
	w.scaleUp(jobWorkload)
	w.follow()
	if len(w.restarts) > restarts {
		t.Errorf("restarted %+v", w.restarts[restarts:])
	}
	for _, m := range w.starters().Members {
		if !m.Pod.Started {
			t.Errorf("%s has not started", m.Name)
		}
	}
	rotate()
	if len(w.restarts) != 2*restarts {
		t.Errorf("%d restarts in the first rotation, %d in all", restarts, len(w.restarts))
	}
	if refused := w.refused(); refused != "" {
		t.Error(refused)
	}
}

// TestRestartThatIsUnderWay: a workload stays due until the restart is complete. Until then no other workload of
// its party begins.
func TestRestartThatIsUnderWay(t *testing.T) {
	w := newStartWorld(t, webWorkload, jobWorkload)
	w.request("test")
	w.settle()
	w.look()
	due := func(web, job Progress) (out []string) {
		w.hash()
		for _, r := range Restarts(&w.d, w.now, map[Workload]Progress{webWorkload: web, jobWorkload: job}) {
			out = append(out, fmt.Sprint(r.Workload.Name, " ", len(r.Waits)))
		}
		return out
	}
	former, now := Progress{Content: w.templates[webWorkload], Complete: true}, w.content()
	if diff := cmp.Diff([]string{"web 1"}, due(former, former)); diff != "" {
		t.Errorf("at first (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"web 1"}, due(Progress{Content: now}, former)); diff != "" {
		t.Errorf("while it is restarted (-want +got):\n%s", diff)
	}
	if got := due(Progress{Content: now, Complete: true}, former); len(got) > 0 {
		t.Errorf("while its evidence is on the way %v is due", got)
	}
	w.restart()
	w.look()
	if diff := cmp.Diff([]string{"web 0"}, due(Progress{Content: now}, former)); diff != "" {
		t.Errorf("while its last pod becomes available (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"job 1"}, due(Progress{Content: now, Complete: true}, former)); diff != "" {
		t.Errorf("when it is complete (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"web 0"}, due(Progress{Content: former.Content, Rolling: true}, former)); diff != "" {
		t.Errorf("while its pods are replaced once more (-want +got):\n%s", diff)
	}
	for i := range w.starters().Members {
		if m := &w.starters().Members[i]; m.Workload == webWorkload {
			m.Pod.Terminating = true
		}
	}
	if diff := cmp.Diff([]string{"web 0"}, due(Progress{Content: now}, former)); diff != "" {
		t.Errorf("while none of its pods waits (-want +got):\n%s", diff)
	}
	delete(w.templates, webWorkload)
	if got := w.due(); len(got) != 1 || got[0].Workload != webWorkload {
		t.Errorf("while nothing is known of it: %+v", got)
	}
}

// TestStartedPodsAreNeverCutOff: in any order of events, each running process accepts what is presented to it. No
// restart is in vain.
func TestStartedPodsAreNeverCutOff(t *testing.T) {
	property.Check(t, func(rt *rapid.T) {
		w := newStartWorld(rt, webWorkload, jobWorkload)
		for range rapid.IntRange(1, 40).Draw(rt, "moves") {
			w.now = w.now.Add(time.Duration(rapid.IntRange(1, 90).Draw(rt, "minutes")) * time.Minute)
			pods := w.starters().Members
			which := rapid.IntRange(0, max(0, len(pods)-1))
			move := rapid.SampledFrom([]string{"step", "server", "client-b", "look", "restart", "request", "renew", "scale", "stop", "crash"}).Draw(rt, "move")
			switch move {
			case "step":
				w.step()
			case "server", "client-b":
				w.reload(move)
			case "look":
				w.look()
			case "restart":
				w.restart()
			case "request":
				w.request("test")
			case "renew":
				w.requestFor("client-a", "test")
			case "scale":
				// No kubelet lags as long as the time from the publication of an anchor to its first use.
				stage := w.assess().Stage
				w.lags = (stage == Stable || stage == Distributing) && rapid.Bool().Draw(rt, "kubelet has cached a former bundle")
				w.scaleUp(rapid.SampledFrom([]Workload{webWorkload, jobWorkload}).Draw(rt, "workload"))
			case "stop":
				if len(pods) > 0 {
					i := which.Draw(rt, "pod")
					w.gone(&pods[i])
					w.starters().Members = slices.Delete(slices.Clone(pods), i, i+1)
				}
			case "crash":
				// A restarted container passes no gate. Kubelet mounts the present content, or still what the last
				// start found.
				if i := which.Draw(rt, "pod"); len(pods) > 0 && pods[i].Pod.Started {
					if rapid.Bool().Draw(rt, "kubelet lags") {
						w.cached = w.trusted[pods[i].Pod.Process]
					}
					w.run(&pods[i])
					w.cached = nil
				}
			}
			if refused := w.refused(); refused != "" {
				rt.Fatal(refused)
			}
		}
		w.follow()
		if refused := w.refused(); refused != "" {
			rt.Fatal(refused)
		}
		if due := w.due(); len(due) > 0 {
			rt.Fatalf("nothing is left to do, and due is %+v", due)
		}
	})
}

// TestWithoutAGate: without a gate, a pod that started with a cached bundle still counts as if it had loaded the
// new one. That is why this proof is weaker.
func TestWithoutAGate(t *testing.T) {
	for name, lags := range map[string]bool{"kubelet mounts what there is": false, "kubelet mounts what it has cached": true} {
		t.Run(name, func(t *testing.T) {
			w := newStartWorld(t, webWorkload)
			w.starters().StartAssumed = true
			former := w.anchors()
			w.request("test")
			w.settle()
			w.look()
			if lags {
				w.cached = former
			}
			if !w.restart() {
				t.Fatal("nothing is restarted")
			}
			w.look()
			w.reload("server", "client-b")
			w.settle()
			if refused := w.refused(); (refused != "") != lags {
				t.Errorf("who refuses what: %q", refused)
			}
		})
	}
}

// TestPlanOfRestarts: the plan names the workloads to restart, and the assumptions.
func TestPlanOfRestarts(t *testing.T) {
	w := newStartWorld(t, webWorkload, jobWorkload)
	texts := func() string {
		p, err := PlanRotation(&w.d, "signer", w.now)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, step := range p.Steps {
			out = append(out, step.Message)
		}
		return strings.Join(out, "\n")
	}
	if got := texts(); !strings.Contains(got, "Deployment/web and StatefulSet/job load by a restart") || strings.Contains(got, "it is assumed that a pod") {
		t.Errorf("the plan is\n%s", got)
	}
	w.starters().StartAssumed = true
	if got := texts(); !strings.Contains(got, "of client-a it is assumed that a pod starts with") {
		t.Errorf("the plan is\n%s", got)
	}
	for _, m := range w.assess().Members {
		if assumed := strings.Contains(m.Reason, "no start gate"); assumed != (m.Party == "client-a") {
			t.Errorf("%s of %s has the reason %q", m.Member, m.Party, m.Reason)
		}
	}
}

func TestContentAnnotations(t *testing.T) {
	for key, want := range map[string]bool{
		ContentAnnotation(ConfigMapKind, "bundle"): true, "secret.content.certrotation.dev/leaf": true, "certrotation.dev/configuration": false,
	} {
		if got := IsContentAnnotation(key); got != want {
			t.Errorf("IsContentAnnotation(%s) = %t", key, got)
		}
	}
	content := map[string]string{"a": "1", "b": "2"}
	for name, tt := range map[string]struct {
		annotations  map[string]string
		has, differs bool
	}{
		"none":          {},
		"all":           {annotations: maps.Clone(content), has: true},
		"one":           {annotations: map[string]string{"a": "1"}},
		"one that went": {annotations: map[string]string{"a": "0", "b": "2"}, differs: true},
		"others":        {annotations: map[string]string{"c": "0"}},
	} {
		if got := hasAll(tt.annotations, content); got != tt.has {
			t.Errorf("%s: hasAll = %t", name, got)
		}
		if got := NamesOther(tt.annotations, content, nil); got != tt.differs {
			t.Errorf("%s: NamesOther = %t", name, got)
		}
		if NamesOther(tt.annotations, content, map[string][]string{"a": {"2", "0"}}) {
			t.Errorf("%s: one that is tolerated is another one", name)
		}
	}
}

// TestRestartForAFormerPod: a rotation waits for a pod that was replaced by another one of its name, which has read all
// that is published. Its restart would bring nothing, whatever its template names.
func TestRestartForAFormerPod(t *testing.T) {
	for name, tt := range map[string]struct {
		read bool
		want int
	}{"it has read all": {true, 0}, "it has not": {false, 1}} {
		t.Run(name, func(t *testing.T) {
			w := newStartWorld(t, webWorkload)
			w.request("test")
			w.settle()
			former := w.starters().Members[0].Name
			if tt.read {
				w.restart()
			}
			m := &w.starters().Members[0]
			m.Name, m.Instance, w.d.Absences = former, "another", nil
			w.look()
			w.templates[webWorkload] = map[string]string{ContentAnnotation(ConfigMapKind, "bundle"): "0", ContentAnnotation(SecretKind, "client-a"): "edited"}
			if !slices.ContainsFunc(w.assess().Blockers, func(b Blocker) bool { return b.Member == former }) {
				t.Fatalf("nothing waits for %s: %+v", former, w.assess().Blockers)
			}
			if due := w.due(); len(due) != tt.want {
				t.Errorf("due: %+v, want %d", due, tt.want)
			}
		})
	}
}
