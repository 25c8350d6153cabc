// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"fmt"
	"slices"
	"strings"

	"certrotation.dev/registry/pki"
)

// recordRoster writes the roster before any other action, unless that write is refused. Only what makes a key waits
// for it, not what restores leaves. At rest pods come and go unrecorded. They are recorded before a key is made, and
// in flight.
func (a *choice) recordRoster(*Assessment) *Action {
	if a.rosterRefused() || !a.rosterDue() || a.unrotated && a.record.withoutPods().same(a.d.Roster.withoutPods()) {
		return nil
	}
	return a.countAction()
}

func (a *choice) rosterDue() bool { return !a.record.same(a.d.Roster) }

func (a *choice) countAction() *Action {
	roster := a.record
	return rosterAction(a.d, roster, fmt.Sprintf("%d members and %d leaves count", len(roster.Members), len(roster.Leaves)))
}

func rosterAction(d *Domain, roster *Roster, reason string) *Action {
	return &Action{
		Kind: RecordRoster, ObjectKind: RecordKind, Object: RosterRecord(d.Name), ResourceVersion: roster.ResourceVersion,
		Roster: roster, Reason: reason,
	}
}

// withKey makes a key only after the members are recorded that must be proven before the key signs for all.
func (a *choice) withKey(action *Action) *Action {
	if a.rosterDue() {
		return a.countAction()
	}
	return action
}

// recordNeverSigned closes next to signing before an abort drops it.
func (a *choice) recordNeverSigned(*Assessment) *Action {
	next := a.d.Signer.Next
	if !a.dropsNext() || a.rosterRefused() || a.mayHaveSigned(next) || a.neverSigned(next) {
		return nil
	}
	roster := *a.record
	roster.NeverSigned = latest(roster.NeverSigned, next)
	return rosterAction(a.d, &roster, next.Subject+" has signed nothing, and is not to")
}

// recordIssue updates the roster before the first leaf of the domain is issued, and before the first leaf of next.
func (a *choice) recordIssue(issues []Action) *Action {
	next, roster := a.d.Signer.Next, *a.record
	opens := next != nil && !a.mayHaveSigned(next) && slices.ContainsFunc(issues, func(i Action) bool { return i.Authority == next.Fingerprint })
	if len(issues) == 0 || a.rosterRefused() || roster.Issued && !opens {
		return nil
	}
	roster.Issued = true
	if opens {
		roster.MayHaveSigned = latest(roster.MayHaveSigned, next)
		return rosterAction(a.d, &roster, next.Subject+" is about to sign")
	}
	return rosterAction(a.d, &roster, "the first leaves are about to be issued")
}

// opensNext reports whether an action records that next is about to sign.
func (a *decision) opensNext(action *Action) bool {
	next := a.d.Signer.Next
	return action.Kind == RecordRoster && next != nil && !a.mayHaveSigned(next) && slices.Contains(action.Roster.MayHaveSigned, next.Fingerprint)
}

// updateAnchors updates the anchors beside the leaves. It skips leaves that are issued now, as that writes the
// anchors too.
func (a *decision) updateAnchors(issues []Action) []Action {
	var out []Action
	for i := range a.d.Leaves {
		l := &a.d.Leaves[i]
		if slices.ContainsFunc(issues, func(x Action) bool { return x.Object == l.Name }) {
			continue
		}
		if update := a.updateAnchorsOf(l); update != nil {
			out = append(out, *update)
		}
	}
	return out
}

// updateAnchorsOf updates the anchors beside a leaf, nil if they are up to date.
func (a *decision) updateAnchorsOf(l *Leaf) *Action {
	if !a.copiesAnchors(l) {
		return nil
	}
	want := a.anchorsBeside(l)
	gained, lost := differenceOf(want, l.Anchors), differenceOf(l.Anchors, want)
	reason := anchorsReason(gained, lost)
	switch {
	case len(want) == 0:
		return nil
	case reason != "":
	case l.AnchorsRepeat:
		reason = repeatsAnchor
	default:
		return nil
	}
	action := updateAnchorsAction(l, want, reason)
	// Verifiers by ca.crt lose the anchors that are removed.
	action.Irreversible = len(lost) > 0
	return action
}

func updateAnchorsAction(l *Leaf, anchors []*pki.Certificate, reason string) *Action {
	return withLeafStores(&Action{
		Kind: UpdateLeafAnchors, ObjectKind: SecretKind, Object: l.Name, ResourceVersion: l.ResourceVersion, Anchors: anchors, Reason: reason,
	}, l)
}

// writeKeystores writes keystores and trust stores of leaves that are stale. It skips leaves that are written now.
func (a *decision) writeKeystores(writes []Action) []Action {
	var out []Action
	for i := range a.d.Leaves {
		l := &a.d.Leaves[i]
		reason := l.staleStores()
		if reason == "" || l.Unnamed || l.Problem != nil || l.Certificate == nil || unwritable("", &l.Object) != nil || l.passwordProblem() != nil ||
			slices.ContainsFunc(writes, func(x Action) bool { return x.Object == l.Name }) {
			continue
		}
		out = append(out, *withLeafStores(&Action{
			Kind: WriteKeystores, ObjectKind: SecretKind, Object: l.Name, ResourceVersion: l.ResourceVersion,
			Keystores: l.Keystores, Anchors: l.Anchors, Reason: reason,
		}, l))
	}
	return out
}

// repeatsAnchor is why anchors are written again that are right but for their number.
const repeatsAnchor = "it has an anchor more than once, which some verifiers refuse"

func anchorsReason(gained, lost []*pki.Certificate) string {
	var parts []string
	if len(gained) > 0 {
		parts = append(parts, "its ca.crt lacks "+subjectsOf(gained))
	}
	if len(lost) > 0 {
		parts = append(parts, fmt.Sprintf("nothing needs %s of its ca.crt", subjectsOf(lost)))
	}
	return strings.Join(parts, ", and ")
}

func differenceOf(of, from []*pki.Certificate) []*pki.Certificate {
	return slices.DeleteFunc(slices.Clone(of), func(ca *pki.Certificate) bool { return slices.ContainsFunc(from, ca.Equal) })
}

func subjectsOf(cas []*pki.Certificate) string {
	subjects := make([]string, 0, len(cas))
	for _, ca := range cas {
		subjects = append(subjects, ca.Subject)
	}
	return strings.Join(subjects, " and ")
}

// answered returns the requests whose records must be deleted: answered ones, aborts of a rotation that is over, and
// those for objects that the domain does not have.
func (a *decision) answered(out *Assessment) []Action {
	var actions []Action
	for i := range a.d.Requests {
		r := &a.d.Requests[i]
		reason := a.answer(r, out.Stage)
		if reason == "" {
			continue
		}
		actions = append(actions, Action{
			Kind: ClearRequest, ObjectKind: RecordKind, Object: r.Record, Request: r, Reason: reason,
		})
	}
	return actions
}

// answer says why a request has no effect any more, "" while it has.
func (a *decision) answer(r *Request, stage Stage) string {
	s := &a.d.Signer
	switch object := a.requestedObject(r); {
	case object == nil:
		return "there is no Secret/" + r.Secret + " in the trust domain"
	case r.answeredBy(object):
		return "it was answered"
	case a.d.WrittenBy != "" && r.Kind == RequestRotate && Newest(a.d) != r.Newest:
		return a.d.WrittenBy + " has made another one since"
	case r.Kind == RequestInstall:
		return a.answerInstall(r)
	case r.Kind == RequestRotate && object == &s.Object && a.awaitsAuthority():
		return "a rotation waits for its CA already"
	case r.Kind == RequestAbort && s.Next == nil && s.Request == nil:
		return "there is nothing to abort in the stage " + string(stage)
	}
	return ""
}

func (a *decision) requestedObject(r *Request) *Object {
	if r.Secret == a.d.Signer.Name {
		return &a.d.Signer.Object
	}
	if l := a.leaves[r.Secret]; l != nil && r.Kind == RequestRotate {
		return &l.Object
	}
	return nil
}

// recordMetadata updates objects whose annotations or labels do not match their content.
func (a *decision) recordMetadata() []Action {
	var out []Action
	s, b := &a.d.Signer, &a.d.Bundle
	if s.Active != nil {
		out = a.recordOne(out, SecretKind, &s.Object, MetadataOfSigner(a.d.Name, s.Active, s.Policy))
	}
	if b.Present {
		out = a.recordOne(out, ConfigMapKind, &b.Object, MetadataOfBundle(a.d.Name, a.own(b.Anchors), a.published, a.d.Recorded(a.now)))
	}
	for i := range a.d.Leaves {
		l := &a.d.Leaves[i]
		if l.Problem == nil && l.Certificate != nil && (!l.Unnamed || Consents(l.Annotations, a.d.Configuration)) {
			out = a.recordOne(out, SecretKind, &l.Object, MetadataOfLeaf(a.d.Name, l.Certificate, l.Policy, l.issuedAt()))
		}
	}
	return out
}

func (a *decision) recordOne(out []Action, kind ObjectKind, o *Object, want Metadata) []Action {
	if subset(want.Annotations, o.Annotations) && subset(want.Labels, o.Labels) {
		return out
	}
	return append(out, Action{
		Kind: RecordMetadata, ObjectKind: kind, Object: o.Name, ResourceVersion: o.ResourceVersion,
		Annotations: want.Annotations, Labels: want.Labels, Reason: "its annotations do not say what it contains",
	})
}

// dropEvidence deletes the records that nothing needs any more. Their leases have ended, and they are of no known
// member. A later member of that name is observed anew.
func (a *decision) dropEvidence() []Action {
	var actions []Action
	for _, r := range a.ownerless() {
		if r.Expires.After(a.now) {
			continue
		}
		actions = append(actions, Action{
			Kind: DropEvidence, ObjectKind: RecordKind, Object: r.Record, ResourceVersion: r.ResourceVersion, Evidence: r,
			Reason: fmt.Sprintf("member %s of party %s is neither configured nor recorded to count", r.Member, r.Party),
		})
	}
	return actions
}

// ownerless returns the records of members that are neither configured nor in the roster. While the pods of a party
// are unknown, each of its records may belong to one of them.
func (a *decision) ownerless() []*EvidenceRecord {
	if len(a.d.Evidence) == 0 {
		return nil
	}
	owned, unlisted := map[memberKey]bool{}, map[string]bool{}
	for i := range a.d.Parties {
		p := &a.d.Parties[i]
		unlisted[p.Name] = unlisted[p.Name] || p.Unlisted
		for j := range p.Members {
			owned[memberKey{p.Name, p.Members[j].Name}] = true
		}
	}
	if a.d.Roster != nil {
		for i := range a.d.Roster.Members {
			r := &a.d.Roster.Members[i]
			owned[memberKey{r.Party, r.Member}] = true
		}
	}
	var out []*EvidenceRecord
	for i := range a.d.Evidence {
		if r := &a.d.Evidence[i]; !owned[memberKey{r.Party, r.Member}] && !unlisted[r.Party] {
			out = append(out, r)
		}
	}
	return out
}
