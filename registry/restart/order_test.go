// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/registry/trust"
)

// TestOrders: one order holds everything that several domains need from a workload.
func TestOrders(t *testing.T) {
	web, db := trust.Workload{Kind: trust.Deployment, Name: "web"}, trust.Workload{Kind: trust.StatefulSet, Name: "db"}
	domain := func(name string) *trust.Domain {
		return &trust.Domain{Namespace: "demo", Name: name, Configuration: "mesh", Parties: []trust.Party{{Name: "clients", Selector: "app=web"}}}
	}
	due := map[string][]trust.Restart{
		"peer":   {{Party: "clients", Workload: web, Content: map[string]string{"a": "1"}, Superseded: map[string][]string{"a": {"0"}}, Waits: []string{"web-0"}}},
		"client": {{Party: "members", Workload: db, Content: map[string]string{"c": "3"}}, {Party: "clients", Workload: web, Content: map[string]string{"b": "2"}}},
	}
	got := Orders([]*trust.Domain{domain("peer"), domain("client"), domain("idle")}, func(d *trust.Domain) []trust.Restart { return due[d.Name] })
	want := []*Order{
		{Namespace: "demo", Workload: web, Content: map[string]string{"a": "1", "b": "2"}, Superseded: map[string][]string{"a": {"0"}}, For: []Need{
			{Domain: "client", Configuration: "mesh", Party: "clients", Selector: "app=web"},
			{Domain: "peer", Configuration: "mesh", Party: "clients", Selector: "app=web", Waits: []string{"web-0"}},
		}},
		{Namespace: "demo", Workload: db, Content: map[string]string{"c": "3"}, Superseded: map[string][]string{}, For: []Need{
			{Domain: "client", Configuration: "mesh", Party: "members"},
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Orders() (-want +got):\n%s", diff)
	}
	if got, want := got[0].Why(), "relying party clients of trust domain client, relying party clients of trust domain peer (evidence of web-0)"; got != want {
		t.Errorf("Why() = %q, want %q", got, want)
	}
}

// TestTakeTurns: if two trust domains need different workloads of one party restarted, these restart one after the
// other.
func TestTakeTurns(t *testing.T) {
	order := func(name, party string) *Order {
		return &Order{
			Workload: trust.Workload{Kind: trust.Deployment, Name: name}, Content: map[string]string{contentKey: newestHash},
			For: []Need{{Domain: "of-" + name, Configuration: "mesh", Party: party}},
		}
	}
	former, newest := trust.Progress{Content: map[string]string{contentKey: formerHash}, Complete: true}, trust.Progress{Content: map[string]string{contentKey: newestHash}}
	done, lacking := newest, former
	done.Complete, lacking.Complete, lacking.Rolling = true, false, true
	write, rolling := Verdict{State: Write}, Verdict{State: Wait, Reason: ReasonRolling}
	for name, tt := range map[string]struct {
		parties []string
		known   []trust.Progress
		is      []Verdict
		want    []State
	}{
		"both could begin":              {[]string{"clients", "clients"}, []trust.Progress{former, former}, []Verdict{write, write}, []State{Write, Wait}},
		"the second one has begun":      {[]string{"clients", "clients"}, []trust.Progress{former, newest}, []Verdict{write, rolling}, []State{Wait, Wait}},
		"the first one has begun":       {[]string{"clients", "clients"}, []trust.Progress{newest, former}, []Verdict{rolling, write}, []State{Wait, Wait}},
		"the first one is done":         {[]string{"clients", "clients"}, []trust.Progress{done, former}, []Verdict{{State: Done}, write}, []State{Done, Write}},
		"the first one is held":         {[]string{"clients", "clients"}, []trust.Progress{former, former}, []Verdict{{State: Hold}, write}, []State{Hold, Write}},
		"the second one lacks a pod":    {[]string{"clients", "clients"}, []trust.Progress{former, lacking}, []Verdict{write, write}, []State{Wait, Write}},
		"both lack pods":                {[]string{"clients", "clients"}, []trust.Progress{lacking, lacking}, []Verdict{write, write}, []State{Write, Wait}},
		"they are of different parties": {[]string{"clients", "servers"}, []trust.Progress{former, newest}, []Verdict{write, rolling}, []State{Write, Wait}},
	} {
		t.Run(name, func(t *testing.T) {
			orders := []*Order{order("a", tt.parties[0]), order("b", tt.parties[1])}
			known, verdicts := map[trust.Workload]trust.Progress{}, map[trust.Workload]Verdict{}
			for i, o := range orders {
				known[o.Workload], verdicts[o.Workload] = tt.known[i], tt.is[i]
			}
			TakeTurns(orders, known, verdicts)
			for i, o := range orders {
				if got := verdicts[o.Workload]; got.State != tt.want[i] || got.State == Wait && got.Reason == "" {
					t.Errorf("%s: %+v, want %s", o.Object(), got, tt.want[i])
				}
			}
		})
	}
}

// TestProgressOf: no other workload of a relying party begins while one lacks pods or has its pods replaced, whatever
// for and whatever the verdict on it.
func TestProgressOf(t *testing.T) {
	for name, tt := range map[string]struct {
		edit func(*appsv1.DeploymentStatus)
		is   Verdict
		want bool
	}{
		"it is at rest":                              {nil, Verdict{State: Write}, false},
		"a pod is not available":                     {func(s *appsv1.DeploymentStatus) { s.AvailableReplicas-- }, Verdict{State: Wait, Reason: ReasonUnavailable}, true},
		"one waits at its gate, and may be replaced": {func(s *appsv1.DeploymentStatus) { s.AvailableReplicas-- }, Verdict{State: Write}, true},
		"one more waits at its gate":                 {func(s *appsv1.DeploymentStatus) { s.Replicas, s.UpdatedReplicas = 4, 1 }, Verdict{State: Write}, true},
		"its change is not seen":                     {func(s *appsv1.DeploymentStatus) { s.ObservedGeneration-- }, Verdict{State: Wait, Reason: ReasonNotSeen}, true},
		"its rollout is paused":                      {func(s *appsv1.DeploymentStatus) { s.UpdatedReplicas-- }, Verdict{State: Hold, Reason: ReasonPaused}, true},
		"it has all, and a rollout of something else": {
			func(s *appsv1.DeploymentStatus) { s.Replicas, s.UpdatedReplicas = 4, 1 }, Verdict{State: Done}, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := deployment(formerHash)
			if tt.edit != nil {
				tt.edit(&d.Status)
			}
			if got := ProgressOf(read(t, d), tt.is); got.Rolling != tt.want || got.Complete != (tt.is.State == Done) {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestTwoConfigurations: a workload consents to one configuration only.
func TestTwoConfigurations(t *testing.T) {
	o := due(trust.Deployment)
	o.For = append(o.For, Need{Domain: "other", Configuration: "other", Party: "clients"})
	v := Assess(o, read(t, deployment(formerHash)), three(trust.Deployment, formerHash), nil)
	if v.State != Hold || v.Reason != trust.ReasonNotAdopted || !strings.Contains(v.Message, "only one can have it restarted") {
		t.Errorf("%+v", v)
	}
}

// TestNeedChooses: a selector chooses by labels, or by a mounted leaf.
func TestNeedChooses(t *testing.T) {
	d := deployment(formerHash)
	d.Spec.Template.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "leaf"}}}}
	w := read(t, d)
	for selector, want := range map[string]bool{
		"app=web": true, "app=other": false, "": true, "app in (": false, trust.Mounting("leaf"): true, trust.Mounting("other"): false,
	} {
		if got := (&Need{Selector: selector}).chooses(w); got != want {
			t.Errorf("%q: %t, want %t", selector, got, want)
		}
	}
}

// TestPatch changes only annotations of the pod template, and only of the version that was read.
func TestPatch(t *testing.T) {
	w := read(t, deployment(formerHash))
	patch, err := Patch(w, due(trust.Deployment).Content)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(patch, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"metadata": map[string]any{"uid": "uid-web", "resourceVersion": "7"},
		"spec":     map[string]any{"template": map[string]any{"metadata": map[string]any{"annotations": map[string]any{contentKey: newestHash}}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestAnswersOfTheServer: each error of the API server becomes a verdict that says what to do.
func TestAnswersOfTheServer(t *testing.T) {
	o, answer := due(trust.Deployment), errors.New("the answer")
	for name, tt := range map[string]struct {
		got  Verdict
		want State
		says []string
	}{
		"disabled":  {Disabled(o), Hold, []string{"manifests/components/workloads", contentKey + "=" + newestHash}},
		"forbidden": {Unpermitted(o, "pki", answer), Hold, []string{"kubectl create rolebinding certrotation-rollout-workloads -n demo", "--serviceaccount=pki:certrotation-controller", "the answer"}},
		"unknown":   {Unknown(answer), Wait, []string{"the answer"}},
		"refused":   {Refused(answer), Hold, []string{"the answer"}},
	} {
		if tt.got.State != tt.want || tt.got.Reason == "" {
			t.Errorf("%s: %+v", name, tt.got)
		}
		for _, text := range tt.says {
			if !strings.Contains(tt.got.Message, text) {
				t.Errorf("%s does not say %q: %s", name, text, tt.got.Message)
			}
		}
		refusal := Refusal(o, tt.got, noon)
		if refusal.Object != "Deployment/web" || refusal.Verb != trust.VerbRestart || !refusal.Since.Equal(noon) || !Repeats(&refusal, tt.got) {
			t.Errorf("%s is recorded as %+v", name, refusal)
		}
		if Repeats(&refusal, Verdict{Reason: ReasonPaused}) {
			t.Errorf("%s is taken for another reason", name)
		}
	}
}
