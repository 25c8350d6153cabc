// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Plan lists the steps of a rotation that has not begun.
type Plan struct {
	// Target is the name of the Secret that is rotated.
	Target string
	// Hash over the steps, hexadecimal.
	Hash     string
	Steps    []Step
	Blockers []Blocker
	// Breaks lists what would be refused if the CA were distrusted at once instead.
	Breaks []string
}

// Step of a Plan.
type Step struct {
	Stage  Stage
	Action ActionKind
	// Object as Kind/name.
	Object string
	// WaitsFor are the members, by MemberName, whose evidence the step needs, ordered.
	WaitsFor []string
	Message  string
}

// Refusal is why a request is not accepted. It is an error with a text for people.
type Refusal struct {
	Invariant Invariant
	Message   string
}

// Error implements error.
func (r *Refusal) Error() string { return string(r.Invariant) + ": " + r.Message }

// PlanRotation lists the steps to rotate target, the signer or a leaf of the domain, from the present state. It
// returns a *Refusal if a rotation of the domain is in flight (OneRotation) or the target cannot be rotated.
func PlanRotation(d *Domain, target string, now time.Time) (*Plan, error) {
	a := decide(d, now)
	if l := a.leaves[target]; l != nil {
		if d.WrittenBy != "" {
			return nil, &Refusal{Invariant: ContentDecides, Message: fmt.Sprintf(
				"%s writes %s, and is asked for rotations of %s alone", d.WrittenBy, secret(target), secret(d.Signer.Name))}
		}
		return a.planLeaf(l)
	}
	if target != d.Signer.Name {
		return nil, &Refusal{Invariant: ContentDecides, Message: secret(target) + " is no signer and no leaf of trust domain " + d.Name}
	}
	if stage := a.stage; stage != Stable {
		return nil, &Refusal{Invariant: OneRotation, Message: fmt.Sprintf(
			"a rotation of trust domain %s is in flight (stage %s); wait until it is Stable, or abort it", d.Name, stage)}
	}
	if a.awaitsAuthority() {
		return nil, &Refusal{Invariant: OneRotation, Message: a.authorityAwaitedText()}
	}
	if d.Signer.Active == nil || d.Signer.Problem != nil || d.Bundle.Problem != nil {
		return nil, &Refusal{Invariant: ContentDecides, Message: secret(d.Signer.Name) + " or its bundle cannot be used; repair them first"}
	}
	return finish(a.planSigner()), nil
}

func (a *decision) planLeaf(l *Leaf) (*Plan, error) {
	best, against := a.bestSigner(l.Name)
	if best == nil || l.Problem != nil {
		return nil, &Refusal{Invariant: TrustBeforeUse, Message: secret(l.Name) + " cannot be reissued now: " + firstMessage(l, against)}
	}
	return finish(&Plan{Target: l.Name, Steps: []Step{{
		Stage: a.stage, Action: IssueLeaf, Object: secret(l.Name),
		Message: "issue a new pair, signed by " + best.Subject + a.byIssuer(),
	}}}), nil
}

func firstMessage(l *Leaf, against []Blocker) string {
	if l.Problem != nil {
		return l.Problem.Message
	}
	for _, b := range against {
		return b.Message
	}
	return "its signer cannot be used"
}

func (a *decision) planSigner() *Plan {
	d := a.d
	signer, bundle := secret(d.Signer.Name), d.Bundle.Ref()
	p := &Plan{Target: d.Signer.Name}
	add := func(stage Stage, kind ActionKind, object string, waits []string, message string) {
		p.Steps = append(p.Steps, Step{Stage: stage, Action: kind, Object: object, WaitsFor: waits, Message: message})
	}
	made, issued := "make a new CA that cannot sign yet", "issue a new pair, signed by the new CA"
	if d.Signer.Issued != nil {
		add(Distributing, RequestIssuance, secret(d.Signer.Issued.Name), nil, "ask "+d.Issuer+" for a new CA")
		made = "take the new CA, which " + d.Issuer + " signs with already"
	}
	if d.Issuer != "" {
		issued = "have " + d.Issuer + " issue a new pair, signed by the new CA, and take it"
	}
	both, former := "the old and the new CA", "the old CA"
	if a.isIntermediate() {
		both, former = "the roots of the old and the new CA, if they differ", "the old root, if it differs"
		if !a.awaitsAuthority() {
			add(Stable, RequestAuthority, signer, nil, "make a key, and a request for "+d.Signer.Active.Issuer+" to sign")
		}
		add(Distributing, InstallNext, signer, nil, "take the new CA, that cannot sign yet, from `kubectl certrotation install-ca`")
	} else {
		add(Distributing, GenerateNext, signer, nil, made)
	}
	for i := range d.Leaves {
		if a.copiesAnchors(&d.Leaves[i]) {
			add(Distributing, UpdateLeafAnchors, secret(d.Leaves[i].Name), nil, "have "+both+" under ca.crt")
		}
	}
	add(Distributing, PublishAnchors, bundle, nil, "trust "+both+a.restarted())
	issue := func(name string) {
		add(Reissuing, IssueLeaf, secret(name), membersOf(a.verifiers[name]), issued)
	}
	first, before := a.issuedFirst()
	for _, name := range first {
		issue(name)
	}
	add(Reissuing, Promote, signer, membersOf(a.parties), "sign with the new CA; keep the old key"+a.assumptions())
	for i := range d.Leaves {
		if name := d.Leaves[i].Name; !before[name] {
			issue(name)
		}
	}
	add(Draining, RetireAnchors, bundle, a.holders(), "stop trusting "+former)
	for i := range d.Leaves {
		if l := &d.Leaves[i]; a.copiesAnchors(l) || !l.Unnamed && unwritable("", &l.Object) == nil {
			add(Retiring, UpdateLeafAnchors, secret(l.Name), nil, "have the new CA alone under ca.crt")
		}
	}
	add(Retiring, DestroyPrevious, signer, nil, "destroy the old key")
	if len(d.Leaves) > 0 || d.Unlisted != nil {
		p.Blockers = a.waitsForNobody()
	}
	p.Blockers = append(p.Blockers, a.planBlockers()...)
	p.Breaks = a.breaksNow()
	return p
}

// issuedFirst returns the leaves, in order, that are issued before the new CA is promoted. The renewal of its leaves
// is the evidence of a party of the kind Renewed. Leaves that such a party does not verify need not wait for it.
func (a *decision) issuedFirst() (order []string, issued map[string]bool) {
	waiting := map[*Party]bool{}
	for _, p := range a.parties {
		if p.Kind.traits().basis == onRenewal && len(p.Members) > 0 {
			waiting[p] = true
		}
	}
	issued = map[string]bool{}
	if a.d.Issuer != "" {
		return nil, issued
	}
	for before := -1; len(waiting) > 0 && len(order) > before; {
		before = len(order)
		for i := range a.d.Leaves {
			name := a.d.Leaves[i].Name
			if !issued[name] && !slices.ContainsFunc(a.verifiers[name], func(p *Party) bool { return waiting[p] }) {
				issued[name] = true
				order = append(order, name)
			}
		}
		maps.DeleteFunc(waiting, func(p *Party, _ bool) bool { return holdsOnly(p, issued) })
	}
	return order, issued
}

// holdsOnly reports whether the members of a party hold no other leaves than these.
func holdsOnly(p *Party, leaves map[string]bool) bool {
	return !slices.ContainsFunc(p.Members, func(m Member) bool {
		return slices.ContainsFunc(m.Holds, func(name string) bool { return !leaves[name] })
	})
}

// planBlockers returns what would hold the rotation up if it began now.
func (a *decision) planBlockers() []Blocker {
	var out []Blocker
	for _, problem := range a.problems() {
		if problem.blocks() {
			out = append(out, Blocker{Object: problem.Object, Reason: ReasonObjectProblem, Message: problem.Message})
		}
	}
	for p, m := range each(a.parties) {
		if !p.Kind.observed() {
			continue
		}
		// Evidence is not renewed in the stage Stable, so do not wait for lapsed evidence.
		if seen, missing := a.observed(p, m); len(seen) == 0 && !missing.lapsed && a.waiver(p, m) == nil {
			out = append(out, p.blocker(m, missing))
		}
	}
	return out
}

// waitsForNobody returns the leaves without a known verifier or holder: a rotation would wait at them for ever.
func (a *decision) waitsForNobody() []Blocker {
	var out []Blocker
	for _, b := range append(a.waitsForAll(a.newest()), a.undelivered.blockers...) {
		if b.Reason == ReasonNoVerifier || b.Reason == ReasonNoHolder {
			out = append(out, b)
		}
	}
	return out
}

// assumptions describes, as the end of a message, what is assumed of members that are not observed.
func (a *decision) assumptions() string {
	var out []string
	for _, p := range a.parties {
		assumes := p.Kind.traits().assumes
		if assumes == nil {
			continue
		}
		if text := assumes(p); text != "" {
			out = append(out, text)
		}
	}
	if readers := a.assumedReaders(); len(readers) > 0 {
		out = append(out, "the programs of "+strings.Join(readers, ", ")+" are assumed to read every certificate of a file, not the first alone")
	}
	for i := range a.d.Waivers {
		if w := &a.d.Waivers[i]; w.Expires.After(a.now) {
			out = append(out, fmt.Sprintf("%s is waived until %s: %s", MemberName(w.Party, w.Member), w.Expires.UTC().Format(time.RFC3339), w.Reason))
		}
	}
	if len(out) == 0 {
		return ""
	}
	return " (" + strings.Join(out, "; ") + ")"
}

// assumedReaders returns the parties that verify and whose evidence does not show that they read more than the first
// certificate of a file.
func (a *decision) assumedReaders() []string {
	var names []string
	for _, p := range a.parties {
		if verifying(p) && !p.Kind.showsUse() {
			names = append(names, p.Name)
		}
	}
	return sortedSet(names)
}

func membersOf(parties []*Party) []string {
	var out []string
	for p, m := range each(parties) {
		if !p.VerifiesNothing {
			out = append(out, MemberName(p.Name, m.Name))
		}
	}
	return sortedSet(out)
}

func (a *decision) holders() []string {
	var out []string
	for p, m := range each(a.parties) {
		if len(m.Holds) > 0 {
			out = append(out, MemberName(p.Name, m.Name))
		}
	}
	slices.Sort(out)
	return out
}

// breaksNow lists the leaves, with their verifiers, that would be refused if the active CA were distrusted at once.
func (a *decision) breaksNow() []string {
	if a.d.Signer.Active == nil {
		return nil
	}
	var out []string
	for _, leaf := range a.under[a.d.Signer.Active.Fingerprint] {
		out = append(out, secret(leaf)+" at "+strings.Join(membersOf(a.verifiers[leaf]), ", "))
	}
	return out
}

// restarted describes what a rotation restarts, as the end of a message.
func (a *decision) restarted() string {
	var names []string
	for i := range a.d.Parties {
		for _, w := range a.d.Parties[i].Workloads {
			names = append(names, string(w.Kind)+"/"+w.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return ", which " + strings.Join(sortedSet(names), " and ") + " load by a restart"
}

func finish(p *Plan) *Plan {
	h := sha256.New()
	// A Step has only strings: encoding cannot fail.
	_ = json.NewEncoder(h).Encode(p.Steps)
	p.Hash = hex.EncodeToString(h.Sum(nil))
	return p
}

// PlanAbort lists the steps that undo a rotation in flight. It returns a *Refusal if there is none, or if the new CA
// has signed a leaf already.
func PlanAbort(d *Domain, now time.Time) (*Plan, error) {
	a := decide(d, now)
	s := &d.Signer
	switch {
	case a.awaitsAuthority():
		return finish(&Plan{Target: s.Name, Steps: []Step{{
			Stage: a.stage, Action: DropRequest, Object: secret(s.Name), Message: "destroy the key for which a CA was requested",
		}}}), nil
	case s.Next == nil:
		return nil, &Refusal{Invariant: OneRotation, Message: fmt.Sprintf(
			"nothing can be aborted in the stage %s: a rotation can be aborted only before the new CA has signed", a.stage)}
	case d.WrittenBy != "":
		return a.planWrittenAbort(), nil
	case s.Issued != nil:
		return nil, &Refusal{Invariant: OneRotation, Message: fmt.Sprintf(
			"%s signs with the new CA already: let the rotation end, or have it replace %s once more", d.Issuer, secret(s.Issued.Name))}
	case !a.abortable():
		return nil, &Refusal{Invariant: AnchorInUse, Message: "the new CA has signed already; let the rotation end, then rotate again"}
	}
	retire := Step{Stage: Retiring, Action: RetireAnchors, Object: d.Bundle.Ref(), Message: "stop trusting the new CA"}
	if a.mayHaveSigned(s.Next) || a.rosterRefused() {
		retire.Stage, retire.WaitsFor = Draining, a.holders()
	}
	steps := []Step{{Stage: Distributing, Action: DropNext, Object: secret(s.Name), Message: "sign with the old CA only"}, retire}
	for i := range d.Leaves {
		if l := &d.Leaves[i]; a.isOnlyNexts(a.d.AnchorOf(s.Next)) && slices.ContainsFunc(l.Anchors, a.d.AnchorOf(s.Next).Equal) {
			steps = append(steps, Step{Stage: Retiring, Action: UpdateLeafAnchors, Object: secret(l.Name), Message: "have the old CA alone under ca.crt"})
		}
	}
	steps = append(steps, Step{Stage: Retiring, Action: DestroyPrevious, Object: secret(s.Name), Message: "destroy the new CA's key"})
	return finish(&Plan{Target: s.Name, Steps: steps}), nil
}

// planWrittenAbort lists the steps by which another controller undoes a rotation: it replaces the leaves of the new CA
// before it drops that.
func (a *decision) planWrittenAbort() *Plan {
	s := &a.d.Signer
	var steps []Step
	for _, name := range a.under[s.Next.Fingerprint] {
		steps = append(steps, Step{
			Stage: a.stage, Action: IssueLeaf, Object: secret(name), WaitsFor: membersOf(a.verifiers[name]), Message: "issue a new pair, signed by the old CA",
		})
	}
	steps = append(steps,
		Step{Stage: Distributing, Action: DropNext, Object: secret(s.Name), Message: "delete the new CA"},
		Step{Stage: Retiring, Action: RetireAnchors, Object: a.d.Bundle.Ref(), Message: "stop trusting the new CA"})
	return finish(&Plan{Target: s.Name, Steps: steps})
}
