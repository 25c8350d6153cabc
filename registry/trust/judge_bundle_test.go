// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"slices"
	"testing"
	"time"

	"certrotation.dev/registry/contenthash"
	"certrotation.dev/registry/pki"
)

func TestJudgeBundle(t *testing.T) {
	all := []string{"Secret/client-a", "Secret/client-b", "Secret/server"}
	only := func(keep int) func(*world, *Domain) {
		return func(_ *world, d *Domain) { d.Bundle.Anchors = []*pki.Certificate{d.Bundle.Anchors[keep]} }
	}
	withForeign := func(w *world) { w.d.Bundle.Anchors = append(w.d.Bundle.Anchors, foreign(w)) }
	tests := []judgement{
		{name: "emptied", edit: func(_ *world, d *Domain) { d.Bundle.Anchors = nil },
			invariant: NeverEmpty, object: "ConfigMap/bundle", affected: all, says: "no trust anchor", way: "safe to remove"},
		{name: "created empty", before: func(w *world) { deleteBundle(&w.d) }, edit: func(_ *world, d *Domain) { d.Bundle.Present = true },
			invariant: NeverEmpty, object: "ConfigMap/bundle", affected: all, says: "no trust anchor", way: "safe to remove"},
		{name: "an empty one edited", before: func(w *world) { w.d.Bundle.Anchors = nil },
			edit: func(_ *world, d *Domain) { d.Bundle.Labels = nil }},
		{name: "damaged", edit: func(_ *world, d *Domain) {
			d.Bundle.Problem = &Problem{Object: "ConfigMap/bundle", Reason: ReasonUnparsable, Message: "cut PEM"}
		}, invariant: NeverEmpty, object: "ConfigMap/bundle", says: "cut PEM", way: "ca-bundle.crt"},
		{name: "still damaged", before: func(w *world) { w.d.Bundle.Problem = &Problem{Reason: ReasonUnparsable} },
			edit: func(_ *world, d *Domain) { d.Bundle.Labels = nil }},
		{name: "an anchor repeated", edit: func(_ *world, d *Domain) { d.Bundle.Repeats = true },
			invariant: NeverEmpty, object: "ConfigMap/bundle", says: "more than once", way: "once"},
		{name: "an anchor repeated as before", before: func(w *world) { w.d.Bundle.Repeats = true },
			edit: func(_ *world, d *Domain) { d.Bundle.Labels = nil }},
		{name: "published by hand, as if long ago", before: generatedNext, edit: publishedByHand(-time.Hour),
			invariant: ContentDecides, object: "ConfigMap/bundle", says: "is published now", way: "leave its time out"},
		{name: "published by hand, as of now", before: generatedNext, edit: publishedByHand(0)},
		{name: "published by hand, without a time", before: generatedNext, edit: func(_ *world, d *Domain) {
			d.Bundle.Anchors = append(d.Bundle.Anchors, d.Signer.Next)
		}},
		{name: "the active anchor removed", before: func(w *world) { withForeign(w) }, edit: only(1),
			invariant: AnchorInUse, object: "ConfigMap/bundle", affected: append([]string{"Secret/signer"}, all...), says: "(active)", way: "rotate signer"},
		{name: "the anchors in another order", before: publishedNext, edit: func(_ *world, d *Domain) { slices.Reverse(d.Bundle.Anchors) }},
		{name: "the next anchor removed", before: publishedNext, edit: only(0),
			invariant: AnchorInUse, object: "ConfigMap/bundle", affected: []string{"Secret/signer"}, says: "(next)", way: "abort signer"},
		{name: "the old anchor removed while leaves need it", before: func(w *world) { publishedNext(w); w.reload("server"); w.settle() }, edit: only(1),
			invariant: AnchorInUse, object: "ConfigMap/bundle", affected: []string{"Secret/signer", "Secret/server"}, says: "(active)", way: "rotate"},
		{name: "the old anchor removed while it may be presented", before: inStage(Draining), edit: only(1),
			invariant: AnchorInUse, object: "ConfigMap/bundle", affected: []string{"server", "client-a", "client-b"},
			says: "(previous)", way: "let the rotation end"},
		{name: "the old anchor removed when nothing needs it", before: inStage(Retiring), edit: only(1)},
		{name: "a lost signer's anchor removed", before: func(w *world) { deleteSigner(&w.d); w.settle() }, edit: only(1),
			invariant: AnchorInUse, object: "ConfigMap/bundle", affected: all, says: "(retired)", way: "let the rotation end"},
		{name: "a foreign anchor removed that a leaf needs", before: func(w *world) {
			withForeign(w)
			w.leaf("server").Certificate = signedLeaf(w, "server", w.d.Bundle.Anchors[1])
		}, edit: only(0), invariant: AnchorInUse, object: "ConfigMap/bundle", affected: []string{"Secret/server"}, says: "(foreign)", way: "reissue"},
		{name: "a foreign anchor removed that nothing needs", before: withForeign, edit: only(0)},
		{name: "an anchor removed while a leaf cannot be read", before: func(w *world) {
			withForeign(w)
			w.leaf("server").Certificate = nil
		}, edit: only(0), invariant: AnchorInUse, object: "ConfigMap/bundle", affected: []string{"Secret/server"}, says: "(foreign)", way: "reissue"},
		{name: "an anchor added", edit: func(w *world, d *Domain) { d.Bundle.Anchors = append(d.Bundle.Anchors, foreign(w)) }},
		{name: "deleted when stable", edit: func(_ *world, d *Domain) { deleteBundle(d) }},
		{name: "deleted when it is not there", before: func(w *world) { deleteBundle(&w.d) }, edit: func(_ *world, d *Domain) { deleteBundle(d) }},
		{name: "deleted mid-flight", before: inStage(Draining), edit: func(_ *world, d *Domain) { deleteBundle(d) },
			invariant: AnchorInUse, object: "ConfigMap/bundle", affected: all, says: "stage Draining", way: "Stable"},
		{name: "deleted when its signer cannot be read", before: func(w *world) { w.d.Signer.Problem = &Problem{Reason: ReasonUnparsable} },
			edit:      func(_ *world, d *Domain) { deleteBundle(d) },
			invariant: NeverEmpty, object: "ConfigMap/bundle", affected: all, says: "could not be rebuilt", way: "Secret/signer"},
		{name: "deleted with a foreign anchor that nothing needs", before: withForeign, edit: func(_ *world, d *Domain) { deleteBundle(d) },
			invariant: AnchorInUse, object: "ConfigMap/bundle", affected: []string{"anchor CN=somebody else"}, says: "its signer does not know", way: "safe to remove"},
		{name: "deleted with a foreign anchor that is needed", before: func(w *world) {
			withForeign(w)
			w.leaf("server").Certificate = nil
		}, edit: func(_ *world, d *Domain) { deleteBundle(d) },
			invariant: AnchorInUse, object: "ConfigMap/bundle", affected: []string{"anchor CN=somebody else"}, says: "its signer does not know", way: "safe to remove"},
	}
	for i := range tests {
		t.Run(tests[i].name, func(t *testing.T) { tests[i].run(t) })
	}
}

func TestJudgePublished(t *testing.T) {
	set := func(at time.Duration, f func(w *world) pki.Fingerprint) func(*world, *Domain) {
		return func(w *world, d *Domain) {
			d.Bundle.Annotations[AnnotationPublished] = formatPublished(map[pki.Fingerprint]time.Time{f(w): w.now.Add(at)})
		}
	}
	next := func(w *world) pki.Fingerprint { return w.d.Signer.Next.Fingerprint }
	tests := []judgement{
		{name: "lowered mid-rollout", before: publishedNext, edit: set(-time.Hour, next),
			invariant: ContentDecides, object: "ConfigMap/bundle", says: "lowered", way: "Stable"},
		{name: "raised mid-rollout", before: publishedNext, edit: set(time.Hour, next)},
		{name: "of an anchor that was not recorded", before: publishedNext, edit: set(0, func(*world) pki.Fingerprint { return "ab" })},
		{name: "deleted mid-rollout", before: publishedNext, edit: func(_ *world, d *Domain) { delete(d.Bundle.Annotations, AnnotationPublished) },
			invariant: ContentDecides, object: "ConfigMap/bundle", says: "deleted", way: "Stable"},
		{name: "deleted when stable", edit: func(_ *world, d *Domain) { delete(d.Bundle.Annotations, AnnotationPublished) }},
		{name: "a revision lowered mid-rollout", before: func(w *world) {
			publishedNext(w)
			w.d.Bundle.Annotations[AnnotationRolloutRevision] = "7"
		}, edit: func(_ *world, d *Domain) { d.Bundle.Annotations[AnnotationRolloutRevision] = "6" },
			invariant: ContentDecides, object: "ConfigMap/bundle", says: "from \"7\" to \"6\"", way: "Stable"},
	}
	for i := range tests {
		t.Run(tests[i].name, func(t *testing.T) { tests[i].run(t) })
	}
}

func generatedNext(w *world) {
	w.request("test")
	for w.d.Signer.Next == nil {
		w.step()
	}
	w.now = w.now.Add(2 * time.Hour)
}

func publishedByHand(ago time.Duration) func(*world, *Domain) {
	return func(w *world, d *Domain) {
		d.Bundle.Anchors = append(d.Bundle.Anchors, d.Signer.Next)
		d.Bundle.Annotations[AnnotationPublished] += " " + string(d.Signer.Next.Fingerprint) + "=" + stamp(w.now.Add(ago))
	}
}

// TestPublicationIsOfThePublished: a publication time that was written before the anchor was published does not
// shorten a grace.
func TestPublicationIsOfThePublished(t *testing.T) {
	w := bootstrapped(t)
	w.party("client-a").Kind, w.party("client-a").Grace = GracePeriod, time.Hour
	generatedNext(w)
	next := w.d.Signer.Next
	w.d.Bundle.Annotations[AnnotationPublished] += " " + string(next.Fingerprint) + "=" + stamp(w.now.Add(-2*time.Hour))
	w.step()
	if got := parsePublished(w.d.Bundle.Annotations[AnnotationPublished])[next.Fingerprint]; got.Before(w.now) {
		t.Errorf("%s was published at %s, and %s is recorded", next.Subject, w.now, got)
	}
}

func TestJudgeSuperseded(t *testing.T) {
	superseded := func(hashes ...string) func(*world, *Domain) {
		return func(_ *world, d *Domain) { d.Bundle.Superseded = hashes }
	}
	third := func(w *world) { w.d.Bundle.ContentHash, w.d.Bundle.Superseded = "third", []string{"second", "first"} }
	full := slices.Repeat([]string{"former"}, contenthash.MaxSuperseded)
	refused := func(name string, hashes ...string) judgement {
		return judgement{name: name, before: third, edit: superseded(hashes...),
			invariant: ContentDecides, object: "ConfigMap/bundle", says: "superseded-contents", way: "leave the key"}
	}
	tests := []judgement{
		{name: "left as it is", before: third, edit: func(w *world, d *Domain) { d.Bundle.Anchors = append(d.Bundle.Anchors, foreign(w)) }},
		{name: "replaced", before: third, edit: superseded("third", "second", "first")},
		{name: "the first replaced", before: func(w *world) { w.d.Bundle.ContentHash = "first" }, edit: superseded("first")},
		{name: "replaced, and the oldest is not named any more", before: func(w *world) { w.d.Bundle.ContentHash, w.d.Bundle.Superseded = "newest", full },
			edit: superseded(append([]string{"newest"}, full[1:]...)...)},
		{name: "nothing is known of the content before", before: func(w *world) { third(w); w.d.Bundle.ContentHash = "" }, edit: superseded("any")},
		{name: "deleted as a whole", before: third, edit: func(_ *world, d *Domain) { deleteBundle(d) }},
		refused("removed"),
		refused("cut", "second"),
		refused("put back to before", "first"),
		refused("replaced, and an older one is left out", "third", "second"),
		refused("one that never was", "third", "second", "first", "none"),
		refused("turned round", "first", "second", "third"),
	}
	for i := range tests {
		t.Run(tests[i].name, func(t *testing.T) { tests[i].run(t) })
	}
}
