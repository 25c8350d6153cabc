// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"certrotation.dev/registry/pki"
)

// Violation is an invariant that an edit would break.
type Violation struct {
	Invariant Invariant
	// Object that is edited, as Kind/name.
	Object string
	// Affected are the members (by MemberName), leaves (Secret/name) or anchors that would break, ordered.
	Affected []string
	// Message says what would break.
	Message string
	// SafeWay says how to reach the goal of the edit safely.
	SafeWay string
}

// Judge returns the invariants that the edit from before to after breaks. It judges only the difference, so an edit
// of a broken domain is refused only for what it adds. The author does not matter: the controller's own writes follow
// the same rules.
func Judge(before, after *Domain, now time.Time) []Violation {
	j := &judge{before: decide(before, now), now: now}
	j.stage = j.before.stage
	after = leaving(j.before.d, after)
	j.after = after
	j.judgeObjects()
	j.judgeSigner()
	j.judgeBundle()
	for i := range after.Leaves {
		l := &after.Leaves[i]
		if old := j.before.leaves[l.Name]; old != nil {
			j.judgeLeaf(old, l)
		}
	}
	return j.found
}

type judge struct {
	before *decision
	after  *Domain
	now    time.Time
	// stage before the edit.
	stage Stage
	found []Violation
}

func (j *judge) inFlight() bool { return j.stage != Stable }

func (j *judge) refuse(i Invariant, object string, affected []string, message, safeWay string) {
	if j.before != nil && j.before.d.WrittenBy != "" {
		safeWay = "keep what there is, and ask again: " + j.before.d.WrittenBy + " makes this edition when `kubectl get certificaterotations` shows nothing that it waits for"
	}
	j.found = append(j.found, Violation{Invariant: i, Object: object, Affected: affected, Message: message, SafeWay: safeWay})
}

// judgeContent refuses content that became unreadable, or a key that does not match its certificate.
func (j *judge) judgeContent(object string, before, after *Problem) bool {
	if after == nil {
		return true
	}
	if before != nil && *before == *after {
		return false
	}
	invariant := PairMatches
	if after.Reason == ReasonNotCA {
		invariant = TrustBeforeUse
	}
	j.refuse(invariant, object, nil, after.Message,
		"write certificate and key of one pair in one update, or delete the Secret to have it reissued")
	return false
}

// knownTo finds the CA of the domain before the edit that a leaf chains to, directly or by the intermediates in its
// own Secret.
func (j *judge) knownTo(l *Leaf) *pki.Certificate {
	if ca := j.before.signerAmong(l.Certificate, j.before.authorities); ca != nil {
		return ca
	}
	for _, link := range j.before.chainOf(l) {
		if link.accepted && slices.ContainsFunc(j.before.authorities, link.ca.Equal) {
			return link.ca
		}
	}
	return nil
}

// allUsers are the live leaves of the domain.
func (j *judge) allUsers() []string {
	var users []string
	for i := range j.before.d.Leaves {
		if l := &j.before.d.Leaves[i]; j.before.live(l) {
			users = append(users, secret(l.Name))
		}
	}
	return users
}

// goes reports whether an edit removes an object: by taking the last finalizer from a deleted object, or by taking
// its consent.
func goes(was, is *Object) bool {
	return Released(was, is) || (is.Present && was.Deleting && was.Finalizers && !is.Finalizers)
}

// leaving returns the domain after an edit without the objects that the edit removes. The edit is judged as their
// deletion.
func leaving(before, after *Domain) *Domain {
	out := *after
	if goes(&before.Signer.Object, &after.Signer.Object) {
		out.Signer = Signer{Object: Object{Name: after.Signer.Name}, Policy: after.Signer.Policy}
	}
	if !Released(&before.Bundle.Object, &after.Bundle.Object) && goes(&before.Bundle.Object, &after.Bundle.Object) {
		out.Bundle = Bundle{Object: Object{Name: after.Bundle.Name}, InSecret: after.Bundle.InSecret}
	}
	out.Leaves = slices.Clone(after.Leaves)
	for i := range out.Leaves {
		l := &out.Leaves[i]
		for k := range before.Leaves {
			if was := &before.Leaves[k]; was.Name == l.Name && goes(&was.Object, &l.Object) {
				*l = Leaf{Object: Object{Name: l.Name}, Template: l.Template, Policy: l.Policy}
			}
		}
	}
	return &out
}

// belongsToOthers reports whether an object did not consent before an edit, or was created without consent. Such an
// object is its owner's business. Giving consent only adds to what the model knows.
func belongsToOthers(was, is *Object) bool {
	return was.Unadopted() || (!was.Present && is.Unadopted())
}

// judgeObjects refuses what would stop the controller from ever writing an object again. Otherwise it would show only
// when a rotation waits for it.
func (j *judge) judgeObjects() {
	judge := func(object string, was, is *Object) {
		if !belongsToOthers(was, is) && is.Present && is.Immutable && !was.Immutable {
			j.refuse(NoSilentWait, object, nil, "the object would be immutable, so that its certificates could never be rotated",
				"leave `immutable` unset on objects of a trust domain")
		}
	}
	d := j.before.d
	judge(secret(d.Signer.Name), &d.Signer.Object, &j.after.Signer.Object)
	judge(d.Bundle.Ref(), &d.Bundle.Object, &j.after.Bundle.Object)
	for i := range j.after.Leaves {
		if was := j.before.leaves[j.after.Leaves[i].Name]; was != nil && !j.after.Leaves[i].Unnamed {
			judge(secret(was.Name), &was.Object, &j.after.Leaves[i].Object)
		}
	}
}

// judgeAdoption refuses to adopt an unusable object. Other content is older than its consent, and its verifiers have
// met it already: objects are adopted one by one, in any order.
func (j *judge) judgeAdoption(object string, is *Object) {
	if p := is.Problem; is.Present && p != nil && !is.Unadopted() {
		j.refuse(PairMatches, object, nil, p.Message, "repair the object first, then adopt it")
	}
}

// JudgeRecord refuses a write to a record of that kind by any other user than certrotation.
func JudgeRecord(name, kind string) Violation {
	return Violation{
		Invariant: ContentDecides, Object: string(RecordKind) + "/" + name,
		Message: "a record says what certrotation was asked for and has seen, so only certrotation writes it",
		SafeWay: map[string]string{
			"Request":  "ask with kubectl certrotation rotate, abort or install-ca",
			"Waiver":   "decide with kubectl certrotation waive",
			"Evidence": "report what a process has loaded with kubectl certrotation acknowledge",
			"Roster":   "who is gone leaves the roster by itself; who need not be waited for is waived with kubectl certrotation waive",
			"Refusal":  "put right what the API server refuses, and the record goes away",
			"Clock":    "it says when certrotation has looked last, and how far its clock is off: put the clock right",
		}[kind],
	}
}

// protected are the annotations that must not be deleted while a rotation is in flight.
var protected = []string{
	AnnotationNotBefore, AnnotationNotAfter, AnnotationIssuer, AnnotationHostnames,
	AnnotationPublished, AnnotationIssuedAt, AnnotationPromotedAt, AnnotationRolloutRevision, AnnotationConfiguration,
}

// lowering reports whether the new value of an annotation claims less than the content, or than the old value.
type lowering func(key, before, after string) bool

// judgeAnnotations refuses edits in flight that delete or lower what the controller recorded (ContentDecides). In the
// stage Stable, users may use annotations as a request channel.
func (j *judge) judgeAnnotations(object string, before, after *Object, lower lowering) {
	if !j.inFlight() || maps.Equal(before.Annotations, after.Annotations) {
		return
	}
	wait := fmt.Sprintf("wait for the stage Stable (now %s), then ask again", j.stage)
	for _, key := range protected {
		old, had := before.Annotations[key]
		value, has := after.Annotations[key]
		switch {
		case !had || (has && value == old):
		case key == AnnotationPublished && !has && j.before.publishedAhead():
			// A clock that was ahead recorded it, and the problem says to remove it.
		case !has:
			j.refuse(ContentDecides, object, nil,
				fmt.Sprintf("the annotation %s would be deleted while a rotation is in flight", key), wait)
		case key == AnnotationConfiguration:
			j.refuse(ContentDecides, object, nil,
				fmt.Sprintf("the object would be taken from the configuration %q while a rotation is in flight", shorten(old)), wait)
		case lower(key, old, value):
			j.refuse(ContentDecides, object, nil,
				fmt.Sprintf("the annotation %s would be lowered from %q to %q while a rotation is in flight", key, shorten(old), shorten(value)), wait)
		}
	}
}

// certificateOf compares annotations with the certificate that they describe.
func certificateOf(c *pki.Certificate) lowering {
	return func(key, before, after string) bool {
		if c != nil {
			switch key {
			case AnnotationNotBefore:
				return after != c.NotBefore.UTC().Format(time.RFC3339)
			case AnnotationNotAfter:
				return after != c.NotAfter.UTC().Format(time.RFC3339)
			case AnnotationIssuer:
				return after != c.IssuerCommonName
			}
		}
		return earlier(key, before, after)
	}
}

// anew compares like lower, but ignores the time of new content: the clock of its writer may be behind that of the
// previous writer.
func anew(madeAt string, lower lowering) lowering {
	return func(key, before, after string) bool { return key != madeAt && lower(key, before, after) }
}

// bundleTimes compares the recorded publication times of a bundle's anchors.
func bundleTimes(key, before, after string) bool {
	if key != AnnotationPublished {
		return earlier(key, before, after)
	}
	was, is := parsePublished(before), parsePublished(after)
	return slices.ContainsFunc(slices.Collect(maps.Keys(is)), func(f pki.Fingerprint) bool {
		t, ok := was[f]
		return ok && is[f].Before(t)
	})
}

// earlier compares times and numbers; text that is neither is never lower.
func earlier(_, before, after string) bool {
	if was, err := time.Parse(time.RFC3339, before); err == nil {
		is, err := time.Parse(time.RFC3339, after)
		return err != nil || is.Before(was)
	}
	if was, err := strconv.ParseInt(before, 10, 64); err == nil {
		is, err := strconv.ParseInt(after, 10, 64)
		return err != nil || is < was
	}
	return false
}

// shorten keeps messages readable.
func shorten(s string) string {
	const most = 64
	if len(s) <= most {
		return s
	}
	return s[:most] + "..."
}
