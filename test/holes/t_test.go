// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package holes

import (
	"crypto/x509"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
	"certrotation.dev/test/apifake"
)

// TestT1_EveryLeafUnderEveryBundle verifies the old and the new leaf by each bundle of a rotation. Only the last
// bundle refuses the old leaf.
func TestT1_EveryLeafUnderEveryBundle(t *testing.T) {
	hole(t, web, func(w *world) {
		former := w.leaf("server").Certificate
		w.distribute()
		accepts := func(c *pki.Certificate) bool {
			_, err := chainOf(c, w.domain().Bundle.Anchors, w.at, x509.ExtKeyUsageServerAuth)
			return err == nil
		}
		for range 20 {
			stage := w.stage()
			w.expect(accepts(w.leaf("server").Certificate), "in %s the bundle refuses the leaf", stage)
			if len(w.domain().Bundle.Anchors) == 1 {
				break
			}
			w.expect(accepts(former), "in %s the bundle refuses the former leaf", stage)
			w.reconcile()
			if stage == w.stage() {
				w.loadAll()
			}
		}
		w.expect(!accepts(former), "the last bundle accepts the former leaf")
	}, byAssess("the bundle is the new CA", "refuses the", func(d *trust.Domain, now time.Time) *trust.Assessment {
		if d.Signer.Next != nil && len(d.Bundle.Anchors) > 1 {
			return with(trust.Assess(d, now), bundleAction(d, trust.PublishAnchors, d.Signer.Next))
		}
		return trust.Assess(d, now)
	}), byAssess("nothing is retired", "accepts the former leaf", without(trust.RetireAnchors)))
}

// TestT4_MemberLeavesMidRotation: a rotation does not wait for a member that is proven to be gone. A node that lost
// its label is not: its process lives, and refuses what it does not trust.
func TestT4_MemberLeavesMidRotation(t *testing.T) {
	hole(t, mesh, func(w *world) {
		old, _ := w.distribute()
		w.load("n1", "n2", "apiserver")
		w.settle()
		w.expect(w.stage() == trust.Distributing || w.stage() == trust.Reissuing, "the stage is %s", w.stage())
		w.unlabel("n3")
		w.settle()
		w.restart("n1", "n2", "apiserver")
		w.expect(w.signedBy("peer-n1", old) && w.stage() != trust.Draining, "the rotation went on to %s without n3", w.stage())
		w.expect(slices.ContainsFunc(w.assess().Blockers, func(b trust.Blocker) bool { return b.Member == "n3" }), "nobody is told who is waited for")
		w.removeNode("n3")
		// The controller looks for proof of absence once a minute.
		w.pass(time.Minute)
		w.follow()
		w.expect(w.stage() == trust.Stable, "the rotation waits for who is gone: %s", w.stage())
	}, broken{name: "the dead are waited for", says: "waits for who is gone", rules: func(*world) rules {
		return rules{assess: func(d *trust.Domain, now time.Time) *trust.Assessment {
			all := *d
			all.Absences = nil
			return trust.Assess(&all, now)
		}}
	}}, byAssess("who is not named does not count", "refuses the leaf", func(d *trust.Domain, now time.Time) *trust.Assessment {
		named := *d
		if d.Roster != nil {
			roster := *d.Roster
			roster.Members = slices.DeleteFunc(slices.Clone(roster.Members), func(r trust.RosterMember) bool { return !configured(d, &r) })
			named.Roster = &roster
		}
		return trust.Assess(&named, now)
	}))
}

// TestT6_SecondStartInFlight: a second plan is refused, with the name of the stage. A second request waits its
// turn.
func TestT6_SecondStartInFlight(t *testing.T) {
	hole(t, web, func(w *world) {
		_, next := w.distribute()
		_, err := trust.PlanRotation(w.domain(), "signer", w.at)
		var refusal *trust.Refusal
		w.expect(errors.As(err, &refusal) && refusal.Invariant == trust.OneRotation && strings.Contains(refusal.Message, string(trust.Distributing)),
			"the second plan: %v", err)
		w.request("again")
		w.settle()
		w.expect(w.domain().Signer.Next.Equal(next), "the second request restarted the first rotation")
		w.expect(slices.ContainsFunc(w.assess().Blockers, func(b trust.Blocker) bool { return b.Reason == trust.ReasonRotationQueued }), "it is not told that it is queued")
		w.follow()
		w.expect(w.stage() == trust.Stable && !w.domain().Signer.Active.Equal(next), "the second rotation did not follow")
	}, byAssess("the last request counts", "restarted the first", func(d *trust.Domain, now time.Time) *trust.Assessment {
		if r := asked(d, trust.RequestRotate); r != nil && d.Signer.Next != nil {
			return with(trust.Assess(d, now), answering(d, trust.GenerateNext, r))
		}
		return trust.Assess(d, now)
	}))
}

// TestT8_ControllerDownForAMonth: after its return the controller skips no step, whatever the timers say.
func TestT8_ControllerDownForAMonth(t *testing.T) {
	hole(t, web, func(w *world) {
		old, _ := w.distribute()
		w.pass(30 * 24 * time.Hour)
		w.restartController()
		w.settle()
		w.restart("server", "client-a")
		w.expect(w.signedBy("server", old), "it switched at once")
		w.follow()
		w.expect(w.stage() == trust.Stable, "the stage is %s", w.stage())
	}, byAssess("the timer has run out", "refuses the leaf", timer(4*24*time.Hour)))
}

// TestT10_IssuedInTheSecondOfTheChange: a leaf of the old CA is made in the second in which the new CA is
// published.
func TestT10_IssuedInTheSecondOfTheChange(t *testing.T) {
	hole(t, web, func(w *world) {
		old := w.domain().Signer.Active
		w.request("test")
		for range 4 {
			w.reconcile()
		}
		w.expect(len(w.domain().Bundle.Anchors) == 2, "nothing is published")
		w.api.remove("Secret/server")
		w.reconcile()
		w.expect(w.signedBy("server", old), "the server was not reissued by the old CA")
		w.loadAll()
		w.follow()
		w.expect(w.stage() == trust.Stable && !w.signedBy("server", old), "the server stays with the old CA: %s", w.stage())
	}, byAssess("what is as young as the bundle is of the new CA", "stays with the old CA", func(d *trust.Domain, now time.Time) *trust.Assessment {
		out := trust.Assess(d, now)
		out.Actions = slices.DeleteFunc(out.Actions, func(a trust.Action) bool {
			if a.Kind != trust.IssueLeaf {
				return false
			}
			l := leafOf(d, a.Object)
			return l.Certificate != nil && !l.Certificate.NotBefore.Before(newest(d).NotBefore)
		})
		return out
	}))
}

// TestT11_SignerReplacedInOneWrite: an external issuer replaces the old CA by a new one.
func TestT11_SignerReplacedInOneWrite(t *testing.T) {
	hole(t, web, func(w *world) {
		old := w.domain().Signer.Active
		made, err := pki.NewAuthority(pki.Profile{
			CommonName: pki.GenerationName(namespace, "signer", w.at.Add(time.Hour)), Key: pki.ECDSAP256, Validity: 40000 * time.Hour, Backdate: 5 * time.Minute,
		}, w.at)
		w.expect(err == nil, "make a CA: %v", err)
		key, err := made.KeyPEM()
		w.expect(err == nil, "encode its key: %v", err)
		s := w.api.secret("signer")
		s.Data[corev1.TLSCertKey], s.Data[corev1.TLSPrivateKeyKey] = made.CertPEM(), key
		w.expect(refuses(w.asks("Secret/signer", s), trust.TrustBeforeUse), "the replacement was let through")
		w.api.put(s)
		w.settle()
		w.restart("server")
		w.expect(w.signedBy("server", old) && len(w.domain().Bundle.Anchors) == 2, "%d anchors are published", len(w.domain().Bundle.Anchors))
		w.expect(w.assess().Blocked() && w.stage() == trust.Distributing, "it is not blocked in %s: %v", w.stage(), w.assess().Blockers)
		w.follow()
		w.expect(w.stage() == trust.Stable && w.signedBy("server", made.Certificate), "the stage is %s", w.stage())
	}, noWebhook("let through"), byAssess("the CA that is there signs", "refuses the leaf", noGate))
}

// TestT12_AnchorRemovedByHand: the webhook refuses it. Without the webhook, the controller puts the anchor back.
func TestT12_AnchorRemovedByHand(t *testing.T) {
	hole(t, web, func(w *world) {
		old, next := w.distribute()
		cm := w.api.configMap("bundle")
		cm.Data[inventory.BundleKey] = string(next.PEM())
		w.expect(refuses(w.asks("ConfigMap/bundle", cm), trust.AnchorInUse), "the removal of %s was let through", old.Subject)
		w.api.put(cm)
		w.damaged = true
		w.settle()
		w.damaged = false
		w.restart("server")
		w.expect(len(w.domain().Bundle.Anchors) == 2, "the anchor was not put back")
		w.follow()
		w.expect(w.stage() == trust.Stable, "the stage is %s", w.stage())
	}, noWebhook("let through"), byAssess("the bundle is what it is", "refuses the leaf", func(d *trust.Domain, now time.Time) *trust.Assessment {
		if len(d.Bundle.Anchors) == 1 && d.Bundle.Anchors[0].Equal(d.Signer.Next) {
			return with(trust.Assess(d, now))
		}
		return trust.Assess(d, now)
	}))
}

// TestT22_TimeIsALowerBound: where time is the only evidence, it counts from the publication, and nothing shortens
// it.
func TestT22_TimeIsALowerBound(t *testing.T) {
	hole(t, grace, func(w *world) {
		_, next := w.distribute()
		w.load("server")
		for range 23 {
			w.pass(time.Hour)
			w.restartController()
			w.settle()
			w.restart("server")
		}
		w.expect(w.domain().Signer.Next.Equal(next), "it switched within the grace period")
		// Without the server, whose report ends sooner, only the grace period decides when to check again.
		timed := *w.domain()
		timed.Roster, timed.Parties = nil, slices.DeleteFunc(slices.Clone(timed.Parties), func(p trust.Party) bool { return p.Name == "server" })
		recheck := trust.Assess(&timed, w.at).Recheck
		w.expect(!recheck.IsZero() && recheck.Sub(w.at) <= 2*time.Hour, "it is looked at again at %s", recheck)
		w.restart("clients")
		w.pass(2 * time.Hour)
		w.follow()
		w.expect(w.domain().Signer.Active.Equal(next), "the end of the grace period is no evidence")
	}, byAssess("an hour of grace is enough", "refuses the leaf", timer(6*time.Hour)))
}

// TestT23_LeavesThatNoSecretHolds: the anchor of leaves that live in memory stays until the end of their drain.
func TestT23_LeavesThatNoSecretHolds(t *testing.T) {
	unlisted := setting{config: strings.Replace(webConfig, "- name: web\n", "- name: web\n  unlistedLeaves: {drain: 48h}\n", 1)}
	hole(t, unlisted, func(w *world) {
		memory, err := w.pair("signer").Issue(pki.Profile{CommonName: "pod", Usages: []pki.Usage{pki.ClientAuth}, Key: pki.ECDSAP256, Validity: 100 * time.Hour}, w.at)
		w.expect(err == nil, "issue: %v", err)
		w.request("test")
		w.follow()
		for range 47 {
			w.pass(time.Hour)
			w.follow()
			err := w.verify(memory.Certificate, w.domain().Bundle.Anchors)
			w.expect(err == nil, "a leaf in memory is refused within its drain: %v", err)
		}
		w.pass(2 * time.Hour)
		w.follow()
		w.expect(w.stage() == trust.Stable, "the stage is %s", w.stage())
	}, byAssess("what is in no Secret does not exist", "is refused within its drain", func(d *trust.Domain, now time.Time) *trust.Assessment {
		listed := *d
		listed.Unlisted = nil
		return trust.Assess(&listed, now)
	}))
}

// TestT27_TwoDomainsAtOnce: two domains rotate at once, and neither waits for the other.
func TestT27_TwoDomainsAtOnce(t *testing.T) {
	_, second, _ := strings.Cut(webConfig, "trustDomains:\n")
	second = strings.NewReplacer("name: web", "name: other", "secretName: ", "secretName: other-", "configMapName: ", "configMapName: other-",
		"presents: [", "presents: [other-").Replace(second)
	hole(t, setting{config: webConfig + second}, func(w *world) {
		old := w.leaf("other-server").Certificate
		w.request("test")
		w.requestOf("other-signer")
		w.follow()
		w.expect(w.stage() == trust.Stable, "web is in %s", w.stage())
		stage := trust.Assess(w.Namespace(namespace).Domain("other"), w.at).Stage
		w.expect(stage == trust.Stable && w.leaf("other-server").Certificate.Fingerprint != old.Fingerprint, "other waits for web in %s", stage)
	}, broken{name: "one rotation at a time in all", says: "other waits for web", rules: func(w *world) rules {
		return rules{assess: func(d *trust.Domain, now time.Time) *trust.Assessment {
			for _, other := range w.Namespace(namespace).Domains {
				_, begun := other.Signer.Annotations[trust.AnnotationPlan]
				if other.Name != d.Name && d.Name == "other" && (begun || trust.Assess(other, now).InFlight()) {
					return with(trust.Assess(d, now))
				}
			}
			return trust.Assess(d, now)
		}}
	}})
}

// TestT28_BundleMissingAtStart: the gate does not wait for an object that only the rotation writes.
func TestT28_BundleMissingAtStart(t *testing.T) {
	hole(t, mesh, func(w *world) {
		w.api.remove("ConfigMap/bundle")
		w.api.remove("ConfigMap/all-bundles")
		w.request("due")
		w.restartController()
		w.settle()
		w.expect(len(w.domain().Bundle.Anchors) > 0 && w.api.find("ConfigMap/all-bundles") != nil, "the gate waits for itself")
		w.restart("n1")
		w.follow()
		w.expect(w.stage() == trust.Stable, "the stage is %s", w.stage())
	}, byAssess("no bundle, no step", "waits for itself", func(d *trust.Domain, now time.Time) *trust.Assessment {
		if !d.Bundle.Present {
			return with(trust.Assess(d, now))
		}
		return trust.Assess(d, now)
	}))
}

// TestT30_ThePlanIsWhatIsDone: the plan, its hash, and the following writes agree. Records, such as the answer to a
// request, are no steps.
func TestT30_ThePlanIsWhatIsDone(t *testing.T) {
	hole(t, web, func(w *world) {
		plan, err := trust.PlanRotation(w.domain(), "signer", w.at)
		w.expect(err == nil, "plan: %v", err)
		from := len(w.api.wrote)
		w.request("test")
		w.settle()
		w.expect(w.domain().Signer.Annotations[trust.AnnotationPlan] == plan.Hash, "the rotation has another hash")
		w.loadAll()
		w.follow()
		var planned []string
		for _, s := range plan.Steps {
			planned = append(planned, s.Object)
		}
		done := slices.DeleteFunc(slices.Clone(w.api.wrote[from:]), func(object string) bool { return strings.HasPrefix(object, "RotationRecord/") })
		w.expect(slices.Equal(done, planned), "planned %v, done %v", planned, done)
	}, byAssess("leaves are signed twice", "planned", func(d *trust.Domain, now time.Time) *trust.Assessment {
		out := trust.Assess(d, now)
		if out.Stage == trust.Draining && d.Leaves[0].ResourceVersion < d.Leaves[1].ResourceVersion {
			return with(out, issue(d, &d.Leaves[0], d.Signer.Active))
		}
		return out
	}))
}

// TestT33_APIServerDown: while the API server does not answer, nothing moves, and no state is lost.
func TestT33_APIServerDown(t *testing.T) {
	hole(t, web, func(w *world) {
		_, next := w.distribute()
		w.loadAll()
		w.api.fault = func(string) apifake.Fault { return apifake.Unavailable }
		for range 10 {
			w.reconcile()
			w.pass(time.Hour)
		}
		w.expect(w.domain().Signer.Next.Equal(next) && w.stage() == trust.Distributing, "it moved to %s", w.stage())
		w.api.fault = nil
		w.restartController()
		w.follow()
		w.expect(w.stage() == trust.Stable && w.domain().Signer.Active.Equal(next), "it ends in %s with %s", w.stage(), w.domain().Signer.Active.Subject)
	}, broken{name: "a failure is a reason to begin anew", says: "it ends in Stable with", rules: func(w *world) rules {
		return rules{assess: func(d *trust.Domain, now time.Time) *trust.Assessment {
			if w.faults > 0 && d.Signer.Next != nil && len(d.Signer.Previous) == 0 && d.Signer.Next.NotBefore.Before(w.at.Add(-time.Hour)) {
				return with(trust.Assess(d, now), signerAction(d, trust.GenerateNext))
			}
			return trust.Assess(d, now)
		}}
	}})
}

// TestT34_OrderIsNoContent: the order of the anchors in a bundle does not matter.
func TestT34_OrderIsNoContent(t *testing.T) {
	hole(t, web, func(w *world) {
		old, next := w.distribute()
		cm := w.api.configMap("bundle")
		cm.Data[inventory.BundleKey] = string(pki.EncodeCertificates(next, old))
		w.expect(len(w.asks("ConfigMap/bundle", cm)) == 0, "another order is refused")
		w.api.put(cm)
		writes := len(w.api.wrote)
		w.settle()
		w.expect(len(w.api.wrote) == writes, "another order wrote %v", w.api.wrote[writes:])
		w.follow()
		w.expect(w.stage() == trust.Stable, "the stage is %s", w.stage())
	}, byAssess("the order counts", "another order wrote", func(d *trust.Domain, now time.Time) *trust.Assessment {
		if n := len(d.Bundle.Anchors); n == 2 && d.Signer.Next != nil && !d.Bundle.Anchors[0].Equal(d.Signer.Active) {
			return with(trust.Assess(d, now), bundleAction(d, trust.PublishAnchors, d.Signer.Active, d.Signer.Next))
		}
		return trust.Assess(d, now)
	}))
}
