// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package holes

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/registry/trust"
)

// TestH1_EmptyTrustWrittenOnConflict: the old operator took the nil of a conflict for an empty bundle, and wrote
// that to the nodes.
func TestH1_EmptyTrustWrittenOnConflict(t *testing.T) {
	hole(t, mesh, func(w *world) {
		w.request("test")
		w.api.fault = conflictOnce("ConfigMap/bundle")
		w.settle()
		w.api.fault = nil
		w.follow()
		w.expect(w.stage() == trust.Stable, "the stage is %s", w.stage())
	}, broken{name: "what a conflict returns is the bundle", says: "holds no anchor", rules: func(w *world) rules {
		return rules{refused: func() {
			all := w.api.configMap("all-bundles")
			all.Data = map[string]string{"server-ca.crt": ""}
			w.api.put(all)
			w.check()
		}}
	}})
}

// TestH2_NilDereferenceOnConflict: a conflict on any object crashed the old operator.
func TestH2_NilDereferenceOnConflict(t *testing.T) {
	hole(t, mesh, func(w *world) {
		for _, object := range []string{
			"Secret/signer", "ConfigMap/bundle", "Secret/peer-n1", "Secret/client", "Secret/all-certs", "ConfigMap/all-bundles",
			"RotationRecord/rotate.signer",
		} {
			w.request(object)
			w.api.fault = conflictOnce(object)
			w.follow()
			w.expect(w.stage() == trust.Stable && len(w.domain().Bundle.Anchors) == 1, "a conflict on %s ends in %s", object, w.stage())
		}
	}, broken{name: "the result of a conflict is used", says: "panic", rules: func(w *world) rules {
		return rules{refused: func() {
			w.rules.assess = func(*trust.Domain, time.Time) *trust.Assessment {
				var lost *trust.Domain
				return trust.Assess(lost, w.at)
			}
		}}
	}})
}

// TestH3_NodeJoinsDuringPhase1: when a node joined, a CA that no member trusted yet signed every leaf.
func TestH3_NodeJoinsDuringPhase1(t *testing.T) {
	hole(t, mesh, func(w *world) {
		old, _ := w.distribute()
		before := w.leaf("peer-n1").Certificate.Fingerprint
		w.addNode("n4")
		w.settle()
		w.expect(w.leaf("peer-n1").Certificate.Fingerprint == before, "peer-n1 was re-signed because n4 joined")
		for _, leaf := range []string{"peer-n1", "peer-n2", "peer-n3", "peer-n4", "client"} {
			w.expect(w.signedBy(leaf, old), "%s is not signed by the CA that everybody trusts", leaf)
		}
		w.load("n4")
		w.follow()
		w.expect(w.stage() == trust.Stable && !w.signedBy("peer-n4", old), "the rotation ends in %s", w.stage())
	}, byAssess("a node that joins has all leaves re-signed", "refuses the leaf", func(d *trust.Domain, now time.Time) *trust.Assessment {
		out := trust.Assess(d, now)
		for i := range d.Leaves {
			if !d.Leaves[i].Present && d.Signer.Next != nil {
				return with(out, issueAll(d, d.Signer.Next)...)
			}
		}
		return out
	}))
}

// TestH4_LossOfTheGateObject: the gate was an annotation of the aggregate. Without that object there was no gate.
func TestH4_LossOfTheGateObject(t *testing.T) {
	hole(t, mesh, func(w *world) {
		for _, object := range []string{"ConfigMap/all-bundles", "ConfigMap/bundle"} {
			old := w.domain().Signer.Active
			w.request("due")
			w.api.remove(object)
			w.settle()
			for _, leaf := range []string{"peer-n1", "client"} {
				w.expect(w.signedBy(leaf, old), "%s was re-signed without a gate after %s was lost", leaf, object)
			}
			w.follow()
			w.expect(w.stage() == trust.Stable, "the stage is %s", w.stage())
		}
	}, broken{name: "no gate object, no gate", says: "refuses the leaf", rules: func(w *world) rules {
		open := false
		return rules{assess: func(d *trust.Domain, now time.Time) *trust.Assessment {
			open = open || w.api.find("ConfigMap/all-bundles") == nil || !d.Bundle.Present
			if open {
				return noGate(d, now)
			}
			return trust.Assess(d, now)
		}}
	}})
}

// TestH5_BundleDeletedBetweenPhases: the documented deletion of the bundle left only the new CA in it.
func TestH5_BundleDeletedBetweenPhases(t *testing.T) {
	hole(t, mesh, func(w *world) {
		old, next := w.distribute()
		w.expect(len(w.asks("ConfigMap/bundle", nil)) > 0, "the deletion of the bundle was let through")
		w.api.remove("ConfigMap/bundle")
		w.settle()
		w.restart("n1")
		anchors := w.domain().Bundle.Anchors
		w.expect(len(anchors) == 2 && anchors[0].Equal(old) && anchors[1].Equal(next), "the bundle is rebuilt with %d anchors", len(anchors))
		w.follow()
		w.expect(w.stage() == trust.Stable, "the stage is %s", w.stage())
	}, noWebhook("let through"),
		byAssess("the bundle is rebuilt with the new CA only", "refuses the leaf", func(d *trust.Domain, now time.Time) *trust.Assessment {
			out := trust.Assess(d, now)
			if !d.Bundle.Present {
				return with(out, bundleAction(d, trust.PublishAnchors, newest(d)))
			}
			if len(d.Bundle.Anchors) == 1 && d.Bundle.Anchors[0].Equal(d.Signer.Next) {
				return with(out)
			}
			return out
		}))
}

// TestH6_GateWaitsForEveryClient: the gate asked only the etcd pods, not the other verifiers of their leaves.
func TestH6_GateWaitsForEveryClient(t *testing.T) {
	hole(t, mesh, func(w *world) {
		old, next := w.distribute()
		w.load("n1", "n2", "n3")
		w.settle()
		w.restart("n1", "n2", "n3")
		w.expect(w.signedBy("peer-n1", old), "the servers were re-signed before the apiserver trusts")
		w.expect(w.signedBy("client", next), "the client, whom all servers trust, was held up")
		w.follow()
		w.expect(w.stage() == trust.Stable, "the stage is %s", w.stage())
	}, byAssess("only the members are asked", "refuses the leaf", func(d *trust.Domain, now time.Time) *trust.Assessment {
		return trust.Assess(believing(d, func(p *trust.Party, _ *trust.Member) bool { return p.Name == "apiserver" }), now)
	}))
}

// TestH7_GateByNumber: any later revision opened the gate, even if it was made from older content.
func TestH7_GateByNumber(t *testing.T) {
	hole(t, mesh, func(w *world) {
		old, _ := w.distribute()
		w.pass(time.Hour)
		for _, r := range w.processes {
			r.started = w.at
			w.record(r, r.observation(w.at))
		}
		w.settle()
		w.restart("n1")
		w.expect(w.signedBy("peer-n1", old) && w.signedBy("client", old), "leaves were signed on the strength of a later revision")
	}, byAssess("a revision after the publication is evidence", "refuses the leaf", func(d *trust.Domain, now time.Time) *trust.Assessment {
		return trust.Assess(believing(d, func(_ *trust.Party, m *trust.Member) bool {
			return len(m.Observations) > 0 && m.Observations[0].ObservedAt.After(newest(d).NotBefore.Add(30*time.Minute))
		}), now)
	}))
}

// TestH10_NothingWaitsSilently: a pending pod blocked the rotation for ever, and leaves expired meanwhile. No
// condition told the age of the wait or the name of the pod.
func TestH10_NothingWaitsSilently(t *testing.T) {
	hole(t, mesh, func(w *world) {
		w.distribute()
		w.load("n2", "n3", "apiserver")
		w.pass(2 * time.Hour)
		w.settle()
		a := w.assess()
		p := a.ProblemOf("Secret/signer")
		w.expect(!a.StageSince.IsZero() && p != nil && p.Reason == trust.ReasonOverdue, "no age or deadline is told: %v", a.Problems)
		w.expect(len(a.Blockers) == 1 && a.Blockers[0].Party == "members" && a.Blockers[0].Member == "n1", "the blocker is %v", a.Blockers)
		for range 400 {
			w.pass(24 * time.Hour)
			w.settle()
			w.restart("n1", "n2", "n3", "apiserver")
		}
	}, byAssess("it waits silently", "no age", func(d *trust.Domain, now time.Time) *trust.Assessment {
		out := trust.Assess(d, now)
		out.Blockers, out.Problems = nil, nil
		return out
	}), byAssess("a rotation that waits stops everything", "expired at", func(d *trust.Domain, now time.Time) *trust.Assessment {
		if d.Signer.Next != nil {
			return without(trust.IssueLeaf)(d, now)
		}
		return trust.Assess(d, now)
	}))
}

// TestH11_AnnotationsDecideNothing: annotations counted, whatever the certificate said.
func TestH11_AnnotationsDecideNothing(t *testing.T) {
	const past, future = "2020-01-01T00:00:00Z", "2099-01-01T00:00:00Z"
	annotated := func(d *trust.Domain, now time.Time) *trust.Assessment {
		out := trust.Assess(d, now)
		var actions []trust.Action
		for i := range d.Leaves {
			l := &d.Leaves[i]
			if end, err := time.Parse(time.RFC3339, l.Annotations[trust.AnnotationNotAfter]); err != nil || end.Before(now) {
				actions = append(actions, issue(d, l, d.Signer.Active))
			}
		}
		return with(out, actions...)
	}
	hole(t, web, func(w *world) {
		before := w.leaf("server").Certificate.Fingerprint
		w.annotate("server", trust.AnnotationNotAfter, past)
		w.reconcile()
		w.expect(w.leaf("server").Certificate.Fingerprint == before, "an edited annotation rotated the leaf")

		w.pass(340 * 24 * time.Hour)
		w.annotate("server", trust.AnnotationNotAfter, future)
		w.reconcile()
		w.expect(w.leaf("server").Certificate.Fingerprint != before, "an edited annotation kept a leaf that is due")

		mixed := w.api.secret("server")
		mixed.Data[corev1.TLSPrivateKeyKey] = w.api.secret("client-a").Data[corev1.TLSPrivateKeyKey]
		w.expect(refuses(w.asks("Secret/server", mixed), trust.PairMatches), "a key of another leaf was let through")
		w.api.put(mixed)
		p := w.assess().ProblemOf("Secret/server")
		w.expect(p != nil && p.Reason == trust.ReasonKeyMismatch, "the key of another leaf is not noticed: %v", p)
	}, byAssess("the annotation says that it expired", "rotated the leaf", annotated),
		byAssess("the annotation says that it is fresh", "kept a leaf", func(d *trust.Domain, now time.Time) *trust.Assessment {
			for i := range d.Leaves {
				if d.Leaves[i].Annotations[trust.AnnotationNotAfter] == future {
					return with(trust.Assess(d, now))
				}
			}
			return trust.Assess(d, now)
		}), noWebhook("let through"))
}
