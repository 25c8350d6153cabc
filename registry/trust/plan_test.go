// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"certrotation.dev/test/property"
)

func TestPlanRotation(t *testing.T) {
	w := bootstrappedBeside(t)
	p, err := PlanRotation(&w.d, "signer", w.now)
	if err != nil {
		t.Fatal(err)
	}
	clients, all := []string{"client-a", "client-b"}, []string{"client-a", "client-b", "server"}
	servers := []string{"server"}
	want := []Step{
		{Stage: Distributing, Action: GenerateNext, Object: "Secret/signer"},
		{Stage: Distributing, Action: UpdateLeafAnchors, Object: "Secret/client-a"},
		{Stage: Distributing, Action: UpdateLeafAnchors, Object: "Secret/client-b"},
		{Stage: Distributing, Action: UpdateLeafAnchors, Object: "Secret/server"},
		{Stage: Distributing, Action: PublishAnchors, Object: "ConfigMap/bundle"},
		{Stage: Reissuing, Action: Promote, Object: "Secret/signer", WaitsFor: all},
		{Stage: Reissuing, Action: IssueLeaf, Object: "Secret/client-a", WaitsFor: servers},
		{Stage: Reissuing, Action: IssueLeaf, Object: "Secret/client-b", WaitsFor: servers},
		{Stage: Reissuing, Action: IssueLeaf, Object: "Secret/server", WaitsFor: clients},
		{Stage: Draining, Action: RetireAnchors, Object: "ConfigMap/bundle", WaitsFor: all},
		{Stage: Retiring, Action: UpdateLeafAnchors, Object: "Secret/client-a"},
		{Stage: Retiring, Action: UpdateLeafAnchors, Object: "Secret/client-b"},
		{Stage: Retiring, Action: UpdateLeafAnchors, Object: "Secret/server"},
		{Stage: Retiring, Action: DestroyPrevious, Object: "Secret/signer"},
	}
	got := append([]Step(nil), p.Steps...)
	for i := range got {
		if got[i].Message == "" {
			t.Errorf("step %d has no message", i)
		}
		got[i].Message = ""
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if p.Target != "signer" || len(p.Hash) != 64 || len(p.Blockers) > 0 {
		t.Errorf("target %q, hash %q, blockers %v", p.Target, p.Hash, p.Blockers)
	}
	again, err := PlanRotation(&w.d, "signer", w.now)
	if err != nil || again.Hash != p.Hash {
		t.Errorf("the same plan has another hash: %v", err)
	}
	// The steps performed must equal the plan.
	w.request("test")
	w.step()
	if got := w.d.Signer.Annotations[AnnotationPlan]; got != p.Hash {
		t.Errorf("the plan that is recorded has the hash %q, the one that was shown %q", got, p.Hash)
	}
	for range 10 {
		w.settle()
		w.reloadAll()
	}
	var planned []string
	for _, s := range p.Steps {
		_, name, _ := strings.Cut(s.Object, "/")
		planned = append(planned, string(s.Action)+" "+name)
	}
	if diff := cmp.Diff(planned, w.steps()); diff != "" {
		t.Errorf("planned and done (-planned +done):\n%s", diff)
	}
}

// TestPlanIsExecuted: for any evidence kinds, the plan shown has the hash that the rotation records. If all
// members load at once, its steps are performed in their order.
func TestPlanIsExecuted(t *testing.T) {
	property.Check(t, func(t *rapid.T) {
		kinds := []EvidenceKind{TLSProbe, Acknowledgement}
		f := newFleet(t, topology{
			servers: rapid.SliceOfN(rapid.SampledFrom(kinds), 1, 3).Draw(t, "servers"),
			clients: rapid.SliceOfN(rapid.SampledFrom(append(kinds, Renewed)), 0, 3).Draw(t, "clients"),
			peers:   true,
			beside:  true,
		})
		if rapid.Bool().Draw(t, "leaves were renewed") {
			f.pass(75 * day)
			f.settle()
			f.loadAll()
			f.done = nil
		}
		p, err := PlanRotation(&f.d, "signer", f.now)
		if err != nil {
			t.Fatal(err)
		}
		f.addRequest(Request{Kind: RequestRotate, Secret: "signer", Compromised: rapid.Bool().Draw(t, "compromised")})
		for range 10 {
			for f.step() {
				f.loadAll()
				if got := f.d.Signer.Annotations[AnnotationPlan]; got != p.Hash {
					t.Fatalf("the plan that is recorded has the hash %q, the one that was shown %q", got, p.Hash)
				}
			}
			f.pass(fleetGrace)
		}
		var planned []string
		for _, s := range p.Steps {
			_, name, _ := strings.Cut(s.Object, "/")
			planned = append(planned, string(s.Action)+" "+name)
		}
		if diff := cmp.Diff(planned, f.steps()); diff != "" {
			t.Fatalf("planned and done (-planned +done):\n%s", diff)
		}
	})
}

// TestPlanOfRenewedParties: the leaves whose renewal is the evidence precede the promotion that waits for it.
func TestPlanOfRenewedParties(t *testing.T) {
	tests := []struct {
		name  string
		kinds map[string]EvidenceKind
		want  []string
	}{
		{"none", nil, []string{"Promote signer", "IssueLeaf client-a", "IssueLeaf client-b", "IssueLeaf server"}},
		{"one client", map[string]EvidenceKind{"client-a": Renewed}, []string{"IssueLeaf client-a", "IssueLeaf client-b", "Promote signer", "IssueLeaf server"}},
		{"the server", map[string]EvidenceKind{"server": Renewed}, []string{"IssueLeaf server", "Promote signer", "IssueLeaf client-a", "IssueLeaf client-b"}},
		{"everybody waits for each other", map[string]EvidenceKind{"server": Renewed, "client-a": Renewed}, []string{"Promote signer", "IssueLeaf client-a", "IssueLeaf client-b", "IssueLeaf server"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := bootstrapped(t)
			for party, kind := range tt.kinds {
				w.party(party).Kind = kind
			}
			p, err := PlanRotation(&w.d, "signer", w.now)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, s := range p.Steps {
				_, name, _ := strings.Cut(s.Object, "/")
				if s.Stage == Reissuing {
					got = append(got, string(s.Action)+" "+name)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
		})
	}
}

// TestPlanNamesAssumedReaders: evidence that shows which file a program has does not show that it reads more than the
// first certificate of it.
func TestPlanNamesAssumedReaders(t *testing.T) {
	for name, test := range map[string]struct {
		kinds map[string]EvidenceKind
		edit  func(*world)
		want  string
	}{
		"probes":       {},
		"reports":      {kinds: map[string]EvidenceKind{"client-a": Acknowledgement}},
		"a caBundle":   {kinds: map[string]EvidenceKind{"client-a": CABundle}},
		"grace period": {kinds: map[string]EvidenceKind{"client-a": GracePeriod}, want: "the programs of client-a are assumed"},
		"static pods":  {kinds: map[string]EvidenceKind{"server": StaticPodRevision}, want: "the programs of server are assumed"},
		"renewed":      {kinds: map[string]EvidenceKind{"client-b": Renewed}, want: "the programs of client-b are assumed"},
		"mounted":      {kinds: map[string]EvidenceKind{"client-b": Mounted}, want: "the programs of client-b are assumed"},
		"none":         {kinds: map[string]EvidenceKind{"client-b": None}, want: "the programs of client-b are assumed"},
		"two of three": {
			kinds: map[string]EvidenceKind{"server": GracePeriod, "client-b": WorkloadRollout},
			want:  "the programs of client-b, server are assumed to read every certificate of a file, not the first alone",
		},
		"one that verifies nothing": {kinds: map[string]EvidenceKind{"server": GracePeriod}, edit: func(w *world) { w.party("server").VerifiesNothing = true }},
	} {
		t.Run(name, func(t *testing.T) {
			w := bootstrapped(t)
			for party, kind := range test.kinds {
				w.party(party).Kind = kind
			}
			if test.edit != nil {
				test.edit(w)
			}
			p, err := PlanRotation(&w.d, "signer", w.now)
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(p.Steps, func(s Step) bool { return s.Action == Promote })
			message := p.Steps[i].Message
			if !strings.Contains(message, test.want) || strings.Count(message, "are assumed to read") != min(len(test.want), 1) {
				t.Errorf("the promotion says %q, want %q in it", message, test.want)
			}
		})
	}
}

func TestPlanNamesWhatWouldHold(t *testing.T) {
	w := bootstrapped(t)
	w.member("server").Observations = nil
	w.member("client-a").RestartedAt = w.now.Add(time.Second)
	w.party("client-b").Kind = GracePeriod
	w.leaf("server").Problem = &Problem{Object: "Secret/server", Reason: ReasonUnparsable, Message: "cannot be read"}
	p, err := PlanRotation(&w.d, "signer", w.now)
	if err != nil {
		t.Fatal(err)
	}
	want := []Blocker{
		{Object: "Secret/server", Reason: ReasonObjectProblem, Message: "cannot be read"},
		{Party: "server", Member: "server", Reason: ReasonNotObserved, Message: "has not been observed yet; if it was named by mistake, " +
			"end its wait with `kubectl certrotation waive`, and take it out of the configuration"},
		{Party: "client-a", Member: "client-a", Reason: ReasonNotObserved, Message: "was restarted after it was last observed"},
	}
	if diff := cmp.Diff(want, p.Blockers); diff != "" {
		t.Errorf("blockers (-want +got):\n%s", diff)
	}
}

func TestPlanRefusals(t *testing.T) {
	tests := []struct {
		name   string
		target string
		before func(w *world)
		want   Invariant
	}{
		{"a stranger", "stranger", nil, ContentDecides},
		{"in flight", "signer", inStage(Draining), OneRotation},
		{"no signer", "signer", func(w *world) { *w = *newWorld(w.t) }, ContentDecides},
		{"unreadable signer", "signer", func(w *world) { w.d.Signer.Problem = &Problem{Reason: ReasonUnparsable} }, ContentDecides},
		{"unreadable bundle", "signer", func(w *world) { w.d.Bundle.Problem = &Problem{Reason: ReasonUnparsable} }, ContentDecides},
		{"unreadable leaf", "server", func(w *world) { w.leaf("server").Problem = &Problem{Reason: ReasonUnparsable, Message: "cut"} }, TrustBeforeUse},
		{"a leaf that waits for trust", "server", func(w *world) { deleteSigner(&w.d); w.settle() }, TrustBeforeUse},
		{"a leaf without a signer", "server", func(w *world) { deleteSigner(&w.d) }, TrustBeforeUse},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := bootstrapped(t)
			if tt.before != nil {
				tt.before(w)
			}
			p, err := PlanRotation(&w.d, tt.target, w.now)
			refused(t, err, tt.want)
			if p != nil {
				t.Errorf("a plan all the same: %+v", p)
			}
		})
	}
}

func refused(t *testing.T, err error, want Invariant) {
	t.Helper()
	var refusal *Refusal
	if !errors.As(err, &refusal) || refusal.Invariant != want || refusal.Message == "" {
		t.Fatalf("got %v, want a refusal by %s", err, want)
	}
	if refusal.Error() != string(want)+": "+refusal.Message {
		t.Errorf("text %q", refusal.Error())
	}
}

func TestPlanOfLeaf(t *testing.T) {
	w := bootstrapped(t)
	p, err := PlanRotation(&w.d, "server", w.now)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Steps) != 1 || p.Steps[0].Action != IssueLeaf || p.Steps[0].Object != "Secret/server" || p.Steps[0].Stage != Stable {
		t.Errorf("steps %+v", p.Steps)
	}
}

func TestPlanAbort(t *testing.T) {
	w := bootstrappedBeside(t)
	_, err := PlanAbort(&w.d, w.now)
	refused(t, err, OneRotation)
	publishedNext(w)
	p, err := PlanAbort(&w.d, w.now)
	if err != nil {
		t.Fatal(err)
	}
	var steps []string
	for _, s := range p.Steps {
		steps = append(steps, string(s.Action)+" "+s.Object)
		if len(s.WaitsFor) > 0 {
			t.Errorf("%+v waits", s)
		}
	}
	want := []string{
		"DropNext Secret/signer", "RetireAnchors ConfigMap/bundle",
		"UpdateLeafAnchors Secret/client-a", "UpdateLeafAnchors Secret/client-b", "UpdateLeafAnchors Secret/server", "DestroyPrevious Secret/signer",
	}
	if diff := cmp.Diff(want, steps); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	w.reload("server")
	w.settle()
	_, err = PlanAbort(&w.d, w.now)
	refused(t, err, AnchorInUse)
}
