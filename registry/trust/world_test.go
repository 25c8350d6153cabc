// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"certrotation.dev/registry/pki"
)

// world is a trust domain whose actions are really performed, with real keys. Its members load and present what
// the test makes them load.
type world struct {
	t   rapid.TB
	d   Domain
	now time.Time
	// keys of the CAs, by fingerprint.
	keys map[pki.Fingerprint]*pki.Pair
	// former, if set, removes facts from the domain before each assessment.
	former func(*Domain)
	// beside is set if leaves have anchors in ca.crt, by which their holders verify.
	beside bool
	// requested is the key of the CA that the signer has requested.
	requested []byte
	// requests is how many requests were made.
	requests int
	// done are the kinds and objects of the performed actions, in order.
	done []string
}

var start = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// newWorld returns a mutual TLS service: a server and two clients that verify each other.
func newWorld(t rapid.TB) *world {
	policy := Policy{RenewAtPercent: 80, Profile: pki.Profile{
		Key: pki.ECDSAP256, Validity: 5 * 365 * 24 * time.Hour, Backdate: 5 * time.Minute,
	}}
	leaf := func(name string, usage pki.Usage) Leaf {
		p := policy
		p.Profile.CommonName = name
		p.Profile.DNSNames = []string{name + ".example"}
		p.Profile.Usages = []pki.Usage{usage}
		p.Profile.Validity = 365 * 24 * time.Hour
		return Leaf{Object: Object{Name: name}, Policy: p}
	}
	return &world{t: t, now: start, keys: map[pki.Fingerprint]*pki.Pair{}, d: Domain{
		Namespace: "demo", Name: "service", Configuration: "pki", StageDeadline: time.Hour,
		Signer: Signer{Object: Object{Name: "signer"}, Policy: policy},
		Bundle: Bundle{Object: Object{Name: "bundle"}},
		Leaves: []Leaf{leaf("client-a", pki.ClientAuth), leaf("client-b", pki.ClientAuth), leaf("server", pki.ServerAuth)},
		Parties: []Party{
			{Name: "server", Kind: TLSProbe, Verifies: []string{"client-a", "client-b"}, Members: []Member{probedMember("server", "server")}},
			{Name: "client-a", Kind: Acknowledgement, Verifies: []string{"server"}, Members: []Member{{Name: "client-a", Holds: []string{"client-a"}}}},
			{Name: "client-b", Kind: Acknowledgement, Verifies: []string{"server"}, Members: []Member{{Name: "client-b", Holds: []string{"client-b"}}}},
		},
	}}
}

func (w *world) leaf(name string) *Leaf {
	for i := range w.d.Leaves {
		if w.d.Leaves[i].Name == name {
			return &w.d.Leaves[i]
		}
	}
	w.t.Fatalf("no leaf %q", name)
	return nil
}

func (w *world) member(party string) *Member {
	for i := range w.d.Parties {
		if w.d.Parties[i].Name == party {
			return &w.d.Parties[i].Members[0]
		}
	}
	w.t.Fatalf("no party %q", party)
	return nil
}

func (w *world) assess() *Assessment {
	if w.former == nil {
		return Assess(&w.d, w.now)
	}
	seen := w.clone()
	w.former(seen)
	return Assess(seen, w.now)
}

// reload makes members load the present bundle and leaves, and be observed.
func (w *world) reload(parties ...string) {
	for _, name := range parties {
		m := w.member(name)
		o := w.observation(w.party(name).Kind, m)
		for _, ca := range w.anchorsOf(m) {
			o.Trusts = append(o.Trusts, ca.Fingerprint)
		}
		for _, l := range m.Holds {
			if c := w.leaf(l).Certificate; c != nil {
				o.Presents = append(o.Presents, c.Fingerprint)
			}
		}
		m.Observations = []Observation{o}
	}
}

// anchorsOf returns the anchors that a member loads: from the bundle, or from the Secret of its leaf.
func (w *world) anchorsOf(m *Member) []*pki.Certificate {
	if w.beside && len(m.Holds) > 0 {
		return w.leaf(m.Holds[0]).Anchors
	}
	return w.d.Bundle.Anchors
}

// lease of evidence. It outlasts the waits of all tests that are not about leases.
const lease = 30 * day

// probedMember returns a member that presents a leaf at its own address.
func probedMember(name, leaf string) Member {
	return Member{Name: name, Holds: []string{leaf}, Probes: []Probe{{Address: name + ":443", Presents: leaf}}}
}

// observation returns an empty one of a member.
func (w *world) observation(kind EvidenceKind, m *Member) Observation {
	o := Observation{Instance: "only", Kind: kind, ObservedAt: w.now, Expires: w.now.Add(lease)}
	if len(m.Probes) > 0 {
		o.Address = m.Probes[0].Address
	}
	return o
}

func (w *world) reloadAll() { w.reload("server", "client-a", "client-b") }

// step performs all actions of one assessment and reports whether there were any.
func (w *world) step() bool {
	actions := w.assess().Actions
	for i := range actions {
		w.perform(&actions[i])
	}
	return len(actions) > 0
}

// settle performs actions until none is left.
func (w *world) settle() *Assessment {
	for range 50 {
		if !w.step() {
			return w.assess()
		}
	}
	w.t.Fatalf("no end of actions: %v", w.done)
	return nil
}

func (w *world) perform(action *Action) {
	s, b := &w.d.Signer, &w.d.Bundle
	if action.Kind == RecordRoster {
		// Roster writes are not listed in done: any change of the members that count causes one. counted_test.go
		// tests them.
		roster, former := *action.Roster, w.d.Roster
		w.d.Roster = &roster
		w.witness(former)
		return
	}
	w.done = append(w.done, string(action.Kind)+" "+action.Object)
	switch action.Kind {
	case GenerateActive:
		if s.Active != nil {
			s.Previous = append([]*pki.Certificate{s.Active}, s.Previous...)
		}
		s.Present, s.Active = true, w.authority(action.Profile)
		record(&s.Object, MetadataOfSigner(w.d.Name, s.Active, s.Policy))
	case GenerateNext:
		s.Present, s.Next = true, w.authority(action.Profile)
	case RequestAuthority:
		w.ask(action.Profile)
	case InstallNext:
		w.take(action.Request)
	case DropRequest:
		s.Request = nil
	case PublishAnchors, RetireAnchors, WriteTrustStores:
		b.Present, b.Anchors = true, action.Anchors
		if len(action.Stores)+len(b.StoreDigests) > 0 {
			b.StoreDigests = digestsOf(action.Stores, action.Anchors)
		}
	case Promote:
		if s.Active != nil {
			s.Previous = append([]*pki.Certificate{s.Active}, s.Previous...)
		}
		s.Active, s.Next = s.Next, nil
	case DropNext:
		s.Previous = append([]*pki.Certificate{s.Next}, s.Previous...)
		s.Next = nil
	case DestroyPrevious:
		s.Previous = nil
	case IssueLeaf:
		w.issue(action)
	case UpdateLeafAnchors:
		w.leaf(action.Object).Anchors = action.Anchors
	case WriteKeystores:
	case ClearRequest:
		w.d.Requests = slices.DeleteFunc(slices.Clone(w.d.Requests), func(r Request) bool { return r.ID == action.Request.ID })
		return
	case DropEvidence:
		w.d.Evidence = slices.DeleteFunc(slices.Clone(w.d.Evidence), func(r EvidenceRecord) bool { return r.UID == action.Evidence.UID })
		return
	case RecordMetadata, RecordRoster:
	default:
		w.t.Fatalf("unknown action %q", action.Kind)
	}
	w.annotate(action)
	w.writeStores(action)
}

// witness copies the observations of members to their roster entries, as the evidence records do.
func (w *world) witness(former *Roster) {
	seen := map[string][]Observation{}
	if former != nil {
		for i := range former.Members {
			seen[AbsenceKey(&former.Members[i])] = former.Members[i].Observations
		}
	}
	for i := range w.d.Roster.Members {
		r := &w.d.Roster.Members[i]
		r.Observations = seen[AbsenceKey(r)]
		for k := range w.d.Parties {
			p := &w.d.Parties[k]
			for j := range p.Members {
				if m := &p.Members[j]; p.Name == r.Party && (!r.Pod && j == 0 || r.Pod && m.Instance == r.Instance) {
					r.Observations = m.Observations
				}
			}
		}
	}
}

func (w *world) annotate(action *Action) {
	o := w.object(action.Object)
	record(o, Metadata{Annotations: action.Annotations, Labels: action.Labels})
	for _, key := range action.RemoveAnnotations {
		delete(o.Annotations, key)
	}
}

func (w *world) object(name string) *Object {
	switch name {
	case w.d.Signer.Name:
		return &w.d.Signer.Object
	case w.d.Bundle.Name:
		return &w.d.Bundle.Object
	}
	return &w.leaf(name).Object
}

func record(o *Object, m Metadata) {
	if o.Annotations == nil {
		o.Annotations = map[string]string{}
	}
	if o.Labels == nil {
		o.Labels = map[string]string{}
	}
	maps.Copy(o.Annotations, m.Annotations)
	maps.Copy(o.Labels, m.Labels)
}

// authority makes a CA. The clock advances, because each generation is named after its own second.
func (w *world) authority(p pki.Profile) *pki.Certificate {
	w.now = w.now.Add(time.Second)
	p.CommonName = pki.GenerationName(w.d.Namespace, w.d.Signer.Name, w.now)
	pair, err := pki.NewAuthority(p, w.now)
	if err != nil {
		w.t.Fatal(err)
	}
	w.keys[pair.Certificate.Fingerprint] = pair
	return pair.Certificate
}

func (w *world) issue(action *Action) {
	pair, err := w.keys[action.Authority].Issue(action.Profile, w.now)
	if err != nil {
		w.t.Fatal(err)
	}
	l := w.leaf(action.Object)
	l.Present, l.Certificate, l.Authorities = true, pair.Certificate, pair.Chain
	if w.beside {
		l.Anchors = action.Anchors
	}
	record(&l.Object, MetadataOfLeaf(w.d.Name, pair.Certificate, l.Policy, w.d.Recorded(w.now)))
}

// bootstrapped returns a world in the stage Stable whose members have loaded everything.
func bootstrapped(t rapid.TB) *world {
	w := newWorld(t)
	w.settle()
	w.reloadAll()
	w.done = nil
	return w
}

// bootstrappedBeside is bootstrapped with anchors in ca.crt, by which the holder of a leaf verifies.
func bootstrappedBeside(t rapid.TB) *world {
	w := newWorld(t)
	w.beside = true
	w.settle()
	w.reloadAll()
	w.done = nil
	return w
}

func (w *world) request(reason string) { w.requestFor(w.d.Signer.Name, reason) }

func (w *world) requestFor(name, reason string) {
	w.addRequest(Request{Kind: RequestRotate, Secret: name, Reason: reason})
}

func (w *world) requestCompromised(reason string) {
	w.addRequest(Request{Kind: RequestRotate, Secret: w.d.Signer.Name, Reason: reason, Compromised: true})
}

func (w *world) abort() { w.addRequest(Request{Kind: RequestAbort, Secret: w.d.Signer.Name}) }

// addRequest records a request, and keeps an existing one.
func (w *world) addRequest(r Request) {
	r.Record = strings.ToLower(string(r.Kind)) + "." + r.Secret
	if slices.ContainsFunc(w.d.Requests, func(other Request) bool { return other.Record == r.Record }) {
		return
	}
	w.requests++
	r.ID = fmt.Sprint(w.requests)
	w.d.Requests = append(slices.Clone(w.d.Requests), r)
}

// steps returns the performed actions without those on records of requests.
func (w *world) steps() []string {
	return slices.DeleteFunc(slices.Clone(w.done), func(done string) bool { return strings.HasPrefix(done, string(ClearRequest)) })
}

// asked reports whether a request for an object is pending.
func (w *world) asked(name string) bool {
	return slices.ContainsFunc(w.d.Requests, func(r Request) bool { return r.Kind == RequestRotate && r.Secret == name })
}

// clone returns a copy of the domain that edits may change.
func (w *world) clone() *Domain {
	d := w.d
	d.Leaves = slices.Clone(w.d.Leaves)
	d.Parties = slices.Clone(w.d.Parties)
	for i := range d.Parties {
		p := &d.Parties[i]
		p.Members = slices.Clone(p.Members)
		for k := range p.Members {
			p.Members[k].Observations = slices.Clone(p.Members[k].Observations)
		}
	}
	d.Bundle.Anchors = slices.Clone(w.d.Bundle.Anchors)
	d.Signer.Previous = slices.Clone(w.d.Signer.Previous)
	clone := func(o *Object) {
		annotations := map[string]string{}
		maps.Copy(annotations, o.Annotations)
		o.Annotations = annotations
	}
	clone(&d.Signer.Object)
	clone(&d.Bundle.Object)
	for i := range d.Leaves {
		clone(&d.Leaves[i].Object)
	}
	return &d
}
