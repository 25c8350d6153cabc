// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"certrotation.dev/registry/pki"
)

func mutual(t *testing.T) *fleet {
	return newFleet(t, topology{servers: []EvidenceKind{TLSProbe}, clients: []EvidenceKind{Acknowledgement}})
}

// TestRosterComesBeforeTheKey: a crash between the two writes leaves a roster without a key, never a key without a
// roster.
func TestRosterComesBeforeTheKey(t *testing.T) {
	tests := []struct {
		name    string
		prepare func(f *fleet)
		key     ActionKind
	}{
		{"the first key", func(f *fleet) {
			for _, name := range f.names() {
				deleteLeaf(name)(&f.d)
				f.process(name).member.Observations = nil
			}
			deleteSigner(&f.d)
			deleteBundle(&f.d)
		}, GenerateActive},
		{"a rotation", func(f *fleet) { f.request("test") }, GenerateNext},
		{"a lost signer", func(f *fleet) { deleteSigner(&f.d) }, GenerateNext},
		{"an expired signer", func(f *fleet) { f.pass(400 * day) }, GenerateActive},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := mutual(t)
			tt.prepare(f)
			f.d.Roster = nil
			actions := f.assess().Actions
			if len(actions) != 1 || actions[0].Kind != RecordRoster {
				t.Fatalf("actions %+v, want the roster alone", actions)
			}
			f.perform(&actions[0])
			if actions = f.assess().Actions; len(actions) != 1 || actions[0].Kind != tt.key {
				t.Errorf("then %+v, want %s", actions, tt.key)
			}
			f.d.Roster = nil
			f.d.Refusals = []RefusedWrite{{Object: string(RecordKind) + "/" + RosterRecord(f.d.Name), Verb: "create", Answer: "quota"}}
			if slices.ContainsFunc(f.assess().Actions, func(a Action) bool { return a.Kind == tt.key }) {
				t.Error("a key is made though the roster cannot be written")
			}
		})
	}
}

func TestRosterSaysWhoCounts(t *testing.T) {
	f := mutual(t)
	f.onNode("server-0", "uid")
	f.until(RecordRoster)
	want := &Roster{
		Signers: []string{"signer"}, Leaves: []string{"client-0", "server-0"}, Issued: true,
		Members: []RosterMember{
			{Party: "client-0", Member: "client-0", Kind: Acknowledgement, Grace: fleetGrace, Verifies: []string{"server-0"}, Presents: []string{"client-0"}, Started: true},
			{Party: "server-0", Member: "server-0", Instance: "uid", Kind: TLSProbe, Grace: fleetGrace, Verifies: []string{"client-0"}, Presents: []string{"server-0"}, Started: true},
		},
	}
	got := *f.d.Roster
	got.Members = slices.Clone(got.Members)
	for i := range got.Members {
		got.Members[i].Observations = nil
	}
	if diff := cmp.Diff(want, &got); diff != "" {
		t.Errorf("roster (-want +got):\n%s", diff)
	}
	if len(f.assess().Actions) > 0 {
		t.Errorf("it is written again: %+v", f.assess().Actions)
	}
}

// TestAbsence: an unconfigured member counts until it is proven to be gone. The proof is void once the member is
// configured again.
func TestAbsence(t *testing.T) {
	f := mutual(t)
	f.onNode("client-0", "uid")
	f.until(RecordRoster)
	f.request("test")
	f.settle()
	gone := *f.party("client-0")
	f.remove("client-0")
	f.leaf("client-0").Certificate, f.leaf("client-0").Present = nil, false
	f.d.Leaves = slices.DeleteFunc(f.d.Leaves, func(l Leaf) bool { return l.Name == "client-0" })
	f.d.Released = []string{"client-0"}
	waits := func() bool {
		return slices.ContainsFunc(f.assess().Blockers, func(b Blocker) bool { return b.Party == "client-0" })
	}
	if missing := Missing(&f.d); len(missing) != 1 || AbsenceKey(&missing[0]) != "client-0/client-0/uid" {
		t.Fatalf("missing %+v", missing)
	}
	f.settle()
	if !waits() {
		t.Fatal("it ceases to count without a proof")
	}
	f.d.Absences = map[string]string{"client-0/client-0/another": "another machine is gone"}
	if f.settle(); !waits() {
		t.Fatal("it ceases to count by the proof of another instance")
	}
	f.d.Absences = map[string]string{"client-0/client-0/uid": "its node is gone"}
	if f.settle(); waits() {
		t.Fatalf("it counts though it is proven to be gone: %+v", f.assess().Blockers)
	}
	if i := slices.IndexFunc(f.d.Roster.Members, func(m RosterMember) bool { return m.Absent == "its node is gone" }); i < 0 {
		t.Errorf("the proof cannot be read in %+v", f.d.Roster.Members)
	}
	f.d.Absences = nil
	if f.settle(); waits() {
		t.Error("the proof is forgotten")
	}
	gone.Members[0].Observations = nil
	f.d.Parties = append(f.d.Parties, gone)
	if f.settle(); !waits() {
		t.Error("it is configured again and does not count")
	}
}

// TestNodesOfAFormerParty: a party that was removed at rest blocks no rotation, even while its nodes exist, unless
// they alone present a leaf. A node that its party no longer selects does block.
func TestNodesOfAFormerParty(t *testing.T) {
	for name, tt := range map[string]struct {
		edit  func(f *fleet)
		waits bool
	}{
		"the party is removed, and alone presents a leaf": {edit: func(f *fleet) { f.remove("client-0") }, waits: true},
		"the party is removed, and its leaf released": {edit: func(f *fleet) {
			f.remove("client-0")
			f.d.Released = []string{"client-0"}
		}},
		"the party is removed, and another presents its leaf": {edit: func(f *fleet) {
			f.remove("client-0")
			f.serverPresents("client-0")
		}},
		"the party chooses no node any more": {edit: func(f *fleet) { f.party("client-0").Members = nil }, waits: true},
		"the party chooses no node any more, and its member is released": {edit: func(f *fleet) {
			f.party("client-0").Members = nil
			f.d.ReleasedMembers = []string{"client-0/client-0"}
		}, waits: true},
		"and so is the leaf that it alone presents": {edit: func(f *fleet) {
			f.party("client-0").Members = nil
			f.d.ReleasedMembers, f.d.Released = []string{"client-0/client-0"}, []string{"client-0"}
		}},
		"the leaf alone is released": {edit: func(f *fleet) {
			f.party("client-0").Members = nil
			f.d.Released = []string{"client-0"}
		}, waits: true},
		"the party is removed, and is there again": {edit: func(f *fleet) {
			p := *f.party("client-0")
			f.remove("client-0")
			f.d.Parties = append(f.d.Parties, p)
		}, waits: true},
	} {
		t.Run(name, func(t *testing.T) {
			f := mutual(t)
			f.onNode("client-0", "uid")
			f.until(RecordRoster)
			f.settle()
			tt.edit(f)
			f.request("test")
			f.settle()
			waits := slices.ContainsFunc(f.assess().Blockers, func(b Blocker) bool { return b.Party == "client-0" })
			if waits != tt.waits {
				t.Errorf("waits for it: %t, want %t; %+v", waits, tt.waits, f.assess().Blockers)
			}
		})
	}
}

// TestNewObjectOfANode: what is known of the former machine of that name decides whether a member without a leaf
// may run.
func TestNewObjectOfANode(t *testing.T) {
	for name, tt := range map[string]struct {
		edit func(f *fleet)
		runs bool
	}{
		"its leaf is there":                       {edit: func(*fleet) {}, runs: true},
		"its leaf is gone":                        {edit: func(f *fleet) { f.leaf("client-0").Certificate = nil }, runs: true},
		"its leaf was issued for other addresses": {edit: func(f *fleet) { f.leaf("client-0").Policy.Profile.DNSNames = []string{"other"} }, runs: true},
		"nobody knows of another machine": {edit: func(f *fleet) {
			deleteLeaf("client-0")(&f.d)
			f.d.Roster.Members = slices.DeleteFunc(f.d.Roster.Members, func(m RosterMember) bool { return m.Member == "client-0" })
		}},
		"nobody knows of another machine, but of a leaf": {edit: func(f *fleet) {
			f.d.Roster.Members = slices.DeleteFunc(f.d.Roster.Members, func(m RosterMember) bool { return m.Member == "client-0" })
			f.leaf("client-0").Policy.Profile.DNSNames = []string{"other"}
		}, runs: true},
		"the other machine is proven to be gone": {edit: func(f *fleet) {
			deleteLeaf("client-0")(&f.d)
			for i := range f.d.Roster.Members {
				f.d.Roster.Members[i].Absent = "its node is gone"
			}
		}, runs: true},
		"the other machine never ran": {edit: func(f *fleet) {
			deleteLeaf("client-0")(&f.d)
			for i := range f.d.Roster.Members {
				f.d.Roster.Members[i].Started = false
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			f := mutual(t)
			f.onNode("client-0", "first")
			f.until(RecordRoster)
			f.settle()
			f.onNode("client-0", "second")
			f.process("client-0").member.Observations = nil
			tt.edit(f)
			a := decide(&f.d, f.now)
			p := f.party("client-0")
			if got := a.started(p, &p.Members[0]); got != tt.runs {
				t.Errorf("started = %t, want %t", got, tt.runs)
			}
		})
	}
}

// TestMachineRegistersAgain: a new Node object does not change the evidence by which the processes of the node
// count.
func TestMachineRegistersAgain(t *testing.T) {
	for name, tt := range map[string]struct {
		edit func(f *fleet)
		want []string
	}{
		"the same machine":   {edit: func(*fleet) {}, want: []string{"client-0/second acknowledgement", "client-0/second gracePeriod"}},
		"with its leaf lost": {edit: func(f *fleet) { f.leaf("client-0").Certificate = nil }, want: []string{"client-0/second acknowledgement", "client-0/second gracePeriod"}},
		"another machine":    {edit: func(f *fleet) { f.leaf("client-0").Policy.Profile.DNSNames = []string{"other"} }, want: []string{"client-0/first acknowledgement", "client-0/second gracePeriod"}},
		"it was proven to be gone meanwhile": {edit: func(f *fleet) {
			for i := range f.d.Roster.Members {
				f.d.Roster.Members[i].Absent = "its node is gone"
			}
		}, want: []string{"client-0/second gracePeriod"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := mutual(t)
			f.onNode("client-0", "first")
			f.until(RecordRoster)
			f.request("test")
			f.settle()
			f.onNode("client-0", "second")
			f.party("client-0").Kind, f.party("client-0").Grace = GracePeriod, time.Second
			tt.edit(f)
			var got []string
			for _, p := range decide(&f.d, f.now).parties {
				if p.Name == "client-0" {
					got = append(got, fmt.Sprintf("%s/%s %s", p.Members[0].Name, p.Members[0].Instance, p.Kind))
				}
			}
			slices.Sort(got)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("who counts (-want +got):\n%s", diff)
			}
		})
	}
}

// TestLeafThatIsOnlyPresented: the Secret of a leaf and its node are gone, but a process still presents it.
func TestLeafThatIsOnlyPresented(t *testing.T) {
	f := newFleet(t, topology{servers: []EvidenceKind{TLSProbe}, clients: []EvidenceKind{Acknowledgement, Acknowledgement}})
	f.onNode("client-0", "uid")
	f.until(RecordRoster)
	f.settle()
	f.remove("client-0")
	f.d.Leaves = slices.DeleteFunc(f.d.Leaves, func(l Leaf) bool { return l.Name == "client-0" })
	f.until(RecordRoster)
	f.settle()
	if slices.Contains(f.d.Roster.Leaves, "client-0") {
		t.Fatal("the roster still names the leaf itself")
	}
	waits := func() bool {
		return slices.ContainsFunc(decide(&f.d, f.now).undelivered.blockers, func(b Blocker) bool { return b.Member == "client-0" })
	}
	if !waits() {
		t.Error("nobody waits for the process that presents it")
	}
	f.d.Released = []string{"client-0"}
	if waits() {
		t.Error("it is waited for although it was released")
	}
}

// TestNewLeavesAreVerified: a member recorded as a verifier also verifies new leaves, whatever happens to its
// party in the configuration.
func TestNewLeavesAreVerified(t *testing.T) {
	for name, edit := range map[string]func(f *fleet){
		"the party is proven otherwise":       func(f *fleet) { f.party("client-0").Kind, f.party("client-0").Grace = GracePeriod, time.Second },
		"the party is gone":                   func(f *fleet) { f.remove("client-0") },
		"the party is said to verify nothing": func(f *fleet) { f.party("client-0").Verifies, f.party("client-0").VerifiesNothing = nil, true },
	} {
		t.Run(name, func(t *testing.T) {
			f := mutual(t)
			f.request("test")
			f.settle()
			f.d.Leaves = append(f.d.Leaves, Leaf{Object: Object{Name: "new"}, Policy: f.leaf("server-0").Policy})
			for i := range f.d.Parties {
				f.d.Parties[i].Verifies = append(f.d.Parties[i].Verifies, "new")
			}
			edit(f)
			asked := slices.ContainsFunc(decide(&f.d, f.now).parties, func(p *Party) bool {
				return p.Name == "client-0" && p.Kind == Acknowledgement && slices.Contains(p.Verifies, "new")
			})
			if !asked {
				t.Error("it may be signed by a CA that client-0 has not acknowledged")
			}
		})
	}
}

// TestLeafOfAnAbsentMember: a leaf that only one member presented is live until that member is proven to be gone.
func TestLeafOfAnAbsentMember(t *testing.T) {
	f := newFleet(t, topology{servers: []EvidenceKind{TLSProbe}, clients: []EvidenceKind{Acknowledgement, Acknowledgement}})
	f.onNode("client-0", "uid")
	f.until(RecordRoster)
	f.request("test")
	f.settle()
	f.remove("client-0")
	f.leaf("client-0").Unnamed = true
	if err := f.followedBy("client-0"); err != nil {
		t.Fatal(err)
	}
	if err := f.holds(ReasonUnnamed); err != nil {
		t.Fatal(err)
	}
	f.processes = slices.DeleteFunc(f.processes, func(p *process) bool { return p.party.Name == "client-0" })
	f.d.Absences = map[string]string{"client-0/client-0/uid": "its node is gone"}
	for range 6 {
		f.settle()
		f.loadAll()
	}
	if err := f.ends(); err != nil {
		t.Fatal(err)
	}
	f.d.Absences = nil
	f.request("again")
	for range 6 {
		f.settle()
		f.loadAll()
	}
	if err := f.ends(); err != nil {
		t.Errorf("in the next rotation its leaf is live again: %v", err)
	}
}

// TestUnreadableRoster: an unreadable roster does not mean that no members count.
func TestUnreadableRoster(t *testing.T) {
	f := mutual(t)
	f.request("test")
	f.settle()
	f.d.Roster = nil
	f.d.RosterProblem = &Problem{Object: "RotationRecord/" + RosterRecord(f.d.Name), Reason: "InvalidRecord", Message: "put it right"}
	f.loadAll()
	a := f.assess()
	if len(a.Actions) > 0 {
		t.Errorf("actions %+v", a.Actions)
	}
	if !slices.ContainsFunc(a.Blockers, func(b Blocker) bool { return b.Object == f.d.RosterProblem.Object }) {
		t.Errorf("blockers %+v", a.Blockers)
	}
}

// TestStableEvidenceLapses: without a rotation in flight evidence is not renewed, and lapsed evidence is unknown.
func TestStableEvidenceLapses(t *testing.T) {
	f := mutual(t)
	known := func() bool {
		return !slices.ContainsFunc(f.assess().Members, func(m MemberAssessment) bool { return !m.Known })
	}
	if !known() {
		t.Fatal("what was observed is not known")
	}
	f.now = f.now.Add(lease + time.Second)
	if a := f.assess(); known() || a.Stage != Stable || len(a.Problems) > 0 {
		t.Errorf("stage %s, members %+v, problems %+v", a.Stage, a.Members, a.Problems)
	}
}

// TestMissingLeafOfNextIsConfirmed: an issue that relies on evidence is confirmed by live reads, also if the leaf did
// not exist before, or was put there before its time: then nobody has accepted the CA that signed it.
func TestMissingLeafOfNextIsConfirmed(t *testing.T) {
	for _, tt := range []struct {
		name string
		lose func(f *fleet)
	}{
		{name: "deleted", lose: func(f *fleet) { deleteLeaf("server-0")(&f.d) }},
		{name: "its time has not come", lose: func(f *fleet) {
			f.leaf("server-0").Certificate = signedLeafAt(f.world, "server-0", f.d.Signer.Next, f.now.Add(day))
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := mutual(t)
			f.request("test")
			distributed(f)
			tt.lose(f)
			f.load(f.process("client-0"))
			f.observe(f.process("client-0"))
			f.until(RecordRoster)
			for _, action := range f.assess().Actions {
				if action.Kind == IssueLeaf && action.Object == "server-0" && action.Authority == f.d.Signer.Next.Fingerprint && action.Irreversible {
					return
				}
			}
			t.Errorf("actions %+v", f.assess().Actions)
		})
	}
}

func TestReturned(t *testing.T) {
	of := func(addresses ...string) []Leaf {
		return []Leaf{{Object: Object{Name: "own"}, Certificate: &pki.Certificate{IPAddresses: addresses}}}
	}
	for name, tt := range map[string]struct {
		leaves []Leaf
		roster []RosterMember
		want   bool
	}{
		"its leaf is gone":                     {want: true},
		"its leaf names no address":            {leaves: of(), want: true},
		"its leaf was issued for that address": {leaves: of("10.0.0.9", "10.0.0.1"), want: true},
		"its leaf was issued for another one":  {leaves: of("10.0.0.9")},
		"it was recorded as another machine":   {leaves: of("10.0.0.1"), roster: []RosterMember{{Party: "p", Member: "n", Instance: "second"}}},
	} {
		t.Run(name, func(t *testing.T) {
			r := RosterMember{Party: "p", Member: "n", Instance: "first", Presents: []string{"own"}}
			d := &Domain{Leaves: tt.leaves, Roster: &Roster{Members: append([]RosterMember{r}, tt.roster...)}}
			if got := Returned(d, &r, "second", []string{"10.0.0.1"}); got != tt.want {
				t.Errorf("Returned() = %t, want %t", got, tt.want)
			}
		})
	}
}

// TestRestartsHeld: a restart that is due but refused becomes a blocker, with the recorded reason.
func TestRestartsHeld(t *testing.T) {
	f := mutual(t)
	f.d.Refusals = []RefusedWrite{{Object: "Deployment/web", Verb: VerbRestart, Answer: "its rollout is paused (RolloutPaused)", Since: start}}
	b := f.assess().Blockers
	want := "Deployment/web: its rollout is paused (RolloutPaused); since " + start.UTC().Format(time.RFC3339)
	if len(b) != 1 || b[0].Reason != ReasonRestartHeld || b[0].String() != want {
		t.Errorf("blockers %+v, want %q", b, want)
	}
}
