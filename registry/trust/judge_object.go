// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"fmt"
	"slices"
)

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
		out.Bundle = Bundle{Object: Object{Name: after.Bundle.Name}}
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
	judge(configMap(d.Bundle.Name), &d.Bundle.Object, &j.after.Bundle.Object)
	for i := range j.after.Leaves {
		if was := j.before.leaves[j.after.Leaves[i].Name]; was != nil && !j.after.Leaves[i].Unnamed {
			judge(secret(was.Name), &was.Object, &j.after.Leaves[i].Object)
		}
	}
}

// unwritable returns the problem of an object that cannot be written any more, nil if it can be. Writes to an object
// that is being deleted are lost with it.
func unwritable(object string, o *Object) *Problem {
	switch {
	case o.Deleting:
		return &Problem{Object: object, Reason: ReasonDeleting, Message: fmt.Sprintf(
			"%s was deleted and waits for its finalizers; it is made anew when they are gone: see metadata.finalizers", object)}
	case o.Immutable:
		return &Problem{Object: object, Reason: ReasonImmutable, Message: fmt.Sprintf(
			"%s is immutable, so it cannot be rotated: keep a copy, delete it and create it again without `immutable`", object)}
	}
	return nil
}

// judgeAdoption refuses to adopt an unusable object. Other content is older than its consent, and its verifiers have
// met it already: objects are adopted one by one, in any order.
func (j *judge) judgeAdoption(object string, is *Object) {
	if p := is.Problem; is.Present && p != nil && !is.Unadopted() {
		j.refuse(PairMatches, object, nil, p.Message, "repair the object first, then adopt it")
	}
}

// judgeBundleRelease refuses to release a bundle while its anchors are needed. Unlike a deleted one, a released
// bundle is not rebuilt, and its content is not guarded.
func (j *judge) judgeBundleRelease() {
	object := configMap(j.before.d.Bundle.Name)
	switch users := j.allUsers(); {
	case j.inFlight():
		j.refuse(AnchorInUse, object, users, "the rotation is in the stage "+string(j.stage)+" and needs the anchors of the bundle",
			"wait for the stage Stable, then release the leaves first")
	case len(users) > 0:
		j.refuse(AnchorInUse, object, users, "nothing would keep the anchors that live leaves need",
			"take the annotation "+AnnotationConfiguration+" from the leaves first, or delete them")
	}
}

// JudgeRecord refuses a write to a record of that kind by any other user than certrotation.
func JudgeRecord(name, kind string) Violation {
	return Violation{
		Invariant: ContentDecides, Object: string(RecordKind) + "/" + name,
		Message: "a record says what certrotation was asked for and has seen, so only certrotation writes it",
		SafeWay: map[string]string{
			"Request":  "ask with kubectl certrotation rotate, or with kubectl certrotation abort",
			"Waiver":   "decide with kubectl certrotation waive",
			"Evidence": "report what a process has loaded with kubectl certrotation acknowledge",
			"Roster":   "who is gone leaves the roster by itself; who need not be waited for is waived with kubectl certrotation waive",
			"Refusal":  "put right what the API server refuses, and the record goes away",
			"Clock":    "it says when certrotation has looked last, and how far its clock is off: put the clock right",
		}[kind],
	}
}
