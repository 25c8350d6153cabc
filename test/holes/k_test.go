// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package holes

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// TestK1_CAKeyIsNoServerKey: the gateway served with the CA's own key.
func TestK1_CAKeyIsNoServerKey(t *testing.T) {
	hole(t, web, func(w *world) {
		w.distribute()
		w.follow()
		signer := w.api.secret("signer")
		for _, name := range []string{"server", "client-a", "client-b"} {
			for field, data := range w.api.secret(name).Data {
				w.expect(!bytes.Contains(data, signer.Data[corev1.TLSPrivateKeyKey]), "%s of %s holds the CA's key", field, name)
			}
			w.expect(w.leaf(name).Certificate.PublicKeyHash != w.domain().Signer.Active.PublicKeyHash && !w.leaf(name).Certificate.IsCA, "%s is the CA", name)
		}
		asServer := w.api.secret("server")
		asServer.Data[corev1.TLSCertKey], asServer.Data[corev1.TLSPrivateKeyKey] = signer.Data[corev1.TLSCertKey], signer.Data[corev1.TLSPrivateKeyKey]
		w.expect(len(w.asks("Secret/server", asServer)) > 0, "the CA as a leaf was let through")
	}, noWebhook("let through"))
}

// TestK2_PublishedBeforeUse: a CA issuer signs with a new key as soon as that exists.
func TestK2_PublishedBeforeUse(t *testing.T) {
	hole(t, web, func(w *world) {
		old, next := w.distribute()
		w.api.remove("Secret/client-a")
		w.settle()
		w.restart("client-a")
		w.expect(w.signedBy("client-a", old), "a leaf was signed by %s, which is sealed", next.Subject)
		w.expect(w.signedBy("server", old), "a leaf was signed by %s, which is sealed", next.Subject)
	}, byAssess("the newest key signs", "refuses the leaf", func(d *trust.Domain, now time.Time) *trust.Assessment {
		out := trust.Assess(d, now)
		for i := range out.Actions {
			if out.Actions[i].Kind == trust.IssueLeaf {
				out.Actions[i].Authority = newest(d).Fingerprint
			}
		}
		return out
	}))
}

// backdated has leaves that begin an hour before they are made, as with several issuers.
var backdated = setting{config: strings.ReplaceAll(webConfig, "Auth]}\n  - {secretName", "Auth], policy: {backdate: 1h}}\n  - {secretName")}

// TestK3_TimestampsOfTwoClocks: a leaf was old if it began before the bundle changed. With backdated leaves that
// was an endless loop.
func TestK3_TimestampsOfTwoClocks(t *testing.T) {
	hole(t, backdated, func(w *world) {
		w.pass(48 * time.Hour)
		w.request("test")
		w.follow()
		w.expect(w.stage() == trust.Stable, "the stage is %s", w.stage())
		writes := len(w.api.wrote)
		for range 30 {
			w.pass(time.Minute)
			w.settle()
		}
		w.expect(len(w.api.wrote) == writes, "it goes on: %v", w.api.wrote[writes:])
		for _, skew := range []time.Duration{-9 * time.Minute, 9 * time.Minute} {
			w.skew = skew
			w.request("with a clock that is off")
			w.pass(time.Second)
			w.follow()
			w.expect(w.stage() == trust.Stable, "with a clock off by %s the stage is %s", skew, w.stage())
			w.pass(time.Hour)
		}
	}, byAssess("a leaf that begins before its CA was published is old", "finds no end", func(d *trust.Domain, now time.Time) *trust.Assessment {
		out := trust.Assess(d, now)
		l := leafOf(d, "server")
		if d.Signer.Next == nil && len(out.Actions) == 0 && !l.Certificate.NotBefore.After(d.Signer.Active.NotBefore.Add(5*time.Minute)) &&
			now.Sub(d.Signer.Active.NotBefore) < time.Hour {
			return with(out, issue(d, l, d.Signer.Active))
		}
		return out
	}))
}

// TestK4_SecondRotationWithinGrace: each new rotation reset the timer, so that the server never switched.
func TestK4_SecondRotationWithinGrace(t *testing.T) {
	hole(t, grace, func(w *world) {
		_, next := w.distribute()
		w.load("server")
		for range 5 {
			w.pass(4 * time.Hour)
			w.request("again")
			w.settle()
		}
		w.expect(w.domain().Signer.Next.Equal(next), "a second rotation restarted the first")
		w.restart("clients")
		w.pass(5 * time.Hour)
		w.reconcile()
		w.expect(w.domain().Signer.Active.Equal(next), "the server never switches: %v", w.assess().Blockers)
	}, byAssess("a request resets the timer", "never switches", func(d *trust.Domain, now time.Time) *trust.Assessment {
		reset := *d
		if asked(d, trust.RequestRotate) != nil && d.Signer.Next != nil {
			reset.Bundle.Annotations = map[string]string{trust.AnnotationPublished: string(d.Signer.Next.Fingerprint) + "=" + now.Format(time.RFC3339)}
		}
		return without(trust.RecordMetadata)(&reset, now)
	}), byAssess("a request begins anew", "restarted the first", func(d *trust.Domain, now time.Time) *trust.Assessment {
		if r := asked(d, trust.RequestRotate); r != nil && d.Signer.Next != nil {
			return with(trust.Assess(d, now), answering(d, trust.GenerateNext, r))
		}
		return trust.Assess(d, now)
	}))
}

// TestK5_SwitchAlthoughClientsAreOverdue: after four days the server switched. Only a metric showed the clients
// that had not loaded.
func TestK5_SwitchAlthoughClientsAreOverdue(t *testing.T) {
	hole(t, web, func(w *world) {
		old, _ := w.distribute()
		w.load("server", "client-a")
		for range 30 {
			w.pass(24 * time.Hour)
			w.settle()
			w.restart("server")
		}
		w.expect(w.signedBy("server", old) && w.stage() == trust.Reissuing, "the server switched: %s", w.stage())
		b := w.assess().Blockers
		w.expect(len(b) > 0 && b[0].Party == "client-b", "the blockers are %v", b)
	}, byAssess("four days are enough", "refuses the leaf", timer(4*24*time.Hour)))
}

// TestK6_RemoteCopyIsVerified: it was never verified that a Secret was written to the runtime cluster, or loaded
// there.
func TestK6_RemoteCopyIsVerified(t *testing.T) {
	hole(t, web, func(w *world) {
		w.distribute()
		w.loadAll()
		w.settle()
		w.load("server", "client-a")
		w.pass(24 * time.Hour)
		w.settle()
		w.expect(w.stage() == trust.Draining && len(w.domain().Bundle.Anchors) == 2, "the stage is %s", w.stage())
		b := w.assess().Blockers
		w.expect(len(b) == 1 && b[0].Party == "client-b" && b[0].Reason == trust.ReasonLeafNotPresented, "the blockers are %v", b)
	}, byAssess("what is written is delivered", "refuses the leaf", noGate))
}

// TestK7_StuckFirstIssuance: no condition told that the first certificate was never issued.
func TestK7_StuckFirstIssuance(t *testing.T) {
	stuck := web
	stuck.empty = true
	hole(t, stuck, func(w *world) {
		w.api.put(&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: "signer", Annotations: map[string]string{trust.AnnotationConfiguration: "pki"}}, Type: corev1.SecretTypeTLS,
			Data: map[string][]byte{corev1.TLSCertKey: []byte("no certificate"), corev1.TLSPrivateKeyKey: []byte("no key")},
		})
		w.settle()
		a := w.assess()
		w.expect(a.ProblemOf("Secret/signer") != nil, "nothing is told: %v", a.Problems)
		waiting := 0
		for _, l := range a.Leaves {
			if len(l.Waiting) > 0 {
				waiting++
			}
		}
		w.expect(waiting == 3, "%d leaves say that they wait", waiting)
		w.expect(slices.ContainsFunc(w.events, func(e string) bool { return strings.HasPrefix(e, "Warning") && strings.Contains(e, "Secret/signer") }),
			"no event: %v", w.events)
	}, byAssess("it waits silently", "nothing is told", func(d *trust.Domain, now time.Time) *trust.Assessment {
		out := trust.Assess(d, now)
		out.Problems = nil
		return out
	}))
}

// TestK8_CompromisedCA: a CA could not be removed before it expired.
func TestK8_CompromisedCA(t *testing.T) {
	hole(t, web, func(w *world) {
		plan, err := trust.PlanRotation(w.domain(), "signer", w.at)
		w.expect(err == nil && len(plan.Breaks) == 3, "the plan does not say what distrust would break: %v", err)
		old := w.domain().Signer.Active
		w.ask(&trust.Request{Kind: trust.RequestRotate, Secret: "signer", Reason: "key on a laptop", Compromised: true})
		w.settle()
		before := w.leaf("server").Certificate.Fingerprint
		w.requestOf("server")
		w.settle()
		w.expect(w.leaf("server").Certificate.Fingerprint == before, "the compromised CA signed a leaf that could wait")
		w.api.remove("Secret/client-a")
		w.settle()
		w.expect(w.leaf("client-a").Certificate != nil, "a leaf that is missing is left missing")
		w.follow()
		w.expect(w.stage() == trust.Stable && len(w.domain().Bundle.Anchors) == 1 && !w.domain().Bundle.Anchors[0].Equal(old), "the compromised CA is still trusted")
	}, byAssess("as any other rotation", "could wait", func(d *trust.Domain, now time.Time) *trust.Assessment {
		deaf := *d
		deaf.Signer.Annotations = maps.Clone(d.Signer.Annotations)
		delete(deaf.Signer.Annotations, trust.AnnotationCompromised)
		return trust.Assess(&deaf, now)
	}), byAssess("no CA is removed before it expires", "still trusted", without(trust.RetireAnchors, trust.DestroyPrevious)))
}

// TestK9_OneBadPEM: one unreadable PEM stopped the bundle, the switch, and the pruning.
func TestK9_OneBadPEM(t *testing.T) {
	hole(t, mesh, func(w *world) {
		bad := w.api.secret("client")
		bad.Data[corev1.TLSCertKey] = []byte("-----BEGIN CERTIFICATE-----\nnonsense")
		w.api.put(bad)
		broken := w.api.configMap("all-bundles").Data["server-ca.crt"]
		before := w.leaf("peer-n1").Certificate.Fingerprint
		w.requestOf("peer-n1")
		w.settle()
		p := w.assess().ProblemOf("Secret/client")
		w.expect(p != nil && p.Reason == trust.ReasonUnparsable, "the bad PEM is not told: %v", p)
		w.expect(w.leaf("peer-n1").Certificate.Fingerprint != before, "peer-n1 is held up by the bad PEM of another")
		garbled := w.api.configMap("bundle")
		garbled.Data[inventory.BundleKey] += "-----BEGIN CERTIFICATE-----\nnonsense"
		w.expect(len(w.asks("ConfigMap/bundle", garbled)) > 0, "a bundle that cannot be read was let through")
		w.api.put(garbled)
		w.settle()
		w.restart("n1")
		w.expect(w.api.configMap("all-bundles").Data["server-ca.crt"] == broken, "the last good bundle did not stay")
	}, byAssess("a problem stops everything", "held up", func(d *trust.Domain, now time.Time) *trust.Assessment {
		out := trust.Assess(d, now)
		if len(out.Problems) > 0 {
			return with(out)
		}
		return out
	}), noWebhook("let through"))
}

// TestK10_NoWriteWithoutChange: everything was written again every five minutes.
func TestK10_NoWriteWithoutChange(t *testing.T) {
	hole(t, mesh, func(w *world) {
		writes := len(w.api.wrote)
		for range 24 * 12 {
			w.pass(5 * time.Minute)
			w.reconcile()
		}
		w.restartController()
		w.settle()
		// The controller records twice a day that it runs.
		others := slices.DeleteFunc(slices.Clone(w.api.wrote[writes:]), func(object string) bool { return strings.HasPrefix(object, "RotationRecord/clock.") })
		w.expect(len(others) == 0 && len(w.api.wrote) <= writes+2, "a day of rest costs %d writes, %d more than those of looks", len(w.api.wrote)-writes, len(others))
	}, byAssess("a day is full of writes", "costs", func(d *trust.Domain, now time.Time) *trust.Assessment {
		action := bundleAction(d, trust.PublishAnchors, d.Bundle.Anchors...)
		action.Annotations = map[string]string{"example.com/seen": now.Format(time.RFC3339)}
		return with(trust.Assess(d, now), action)
	}))
}

// TestK11_StateInOneAnnotation: deleting the annotation blocked everything, and editing it switched at once.
func TestK11_StateInOneAnnotation(t *testing.T) {
	annotated := func(w *world, value string) *corev1.ConfigMap {
		cm := w.api.configMap("bundle")
		cm.Annotations[trust.AnnotationPublished] = value
		return cm
	}
	hole(t, grace, func(w *world) {
		old, next := w.distribute()
		w.load("server")
		cm := annotated(w, string(next.Fingerprint)+"=2001-01-01T00:00:00Z")
		w.expect(refuses(w.asks("ConfigMap/bundle", cm), trust.ContentDecides), "the edit of the state was let through")
		w.api.put(cm)
		w.settle()
		w.restart("server")
		w.expect(w.signedBy("server", old), "an edited annotation switched at once")
		w.api.put(annotated(w, ""))
		w.settle()
		w.restart("server")
		w.expect(w.signedBy("server", old), "a lost annotation switched at once")
		w.pass(23 * time.Hour)
		w.restart("clients")
		w.pass(26 * time.Hour)
		w.follow()
		w.pass(25 * time.Hour)
		w.follow()
		w.expect(!w.signedBy("server", old), "a lost annotation blocks: %v", w.assess().Blockers)
	}, noWebhook("let through"), byAssess("the annotation is the state", "refuses the leaf", func(d *trust.Domain, now time.Time) *trust.Assessment {
		if strings.Contains(d.Bundle.Annotations[trust.AnnotationPublished], "=2001") {
			return noGate(d, now)
		}
		return trust.Assess(d, now)
	}))
}

// TestK12_EachDirectionByItself: servers and clients had one bundle and one switch.
func TestK12_EachDirectionByItself(t *testing.T) {
	hole(t, web, func(w *world) {
		old, next := w.distribute()
		w.load("server")
		w.settle()
		w.restart("client-a", "client-b")
		w.expect(w.signedBy("client-a", next) && w.signedBy("client-b", next), "the clients wait for each other")
		w.restart("server")
		w.expect(w.signedBy("server", old), "the server was re-signed before its clients trust")
		w.follow()
		w.expect(w.stage() == trust.Stable, "the stage is %s", w.stage())
	}, byAssess("one flag for all", "refuses the leaf", func(d *trust.Domain, now time.Time) *trust.Assessment {
		for _, p := range d.Parties {
			if seen := p.Members[0].Observations; len(seen) > 0 && slices.Contains(seen[0].Trusts, newest(d).Fingerprint) {
				return noGate(d, now)
			}
		}
		return trust.Assess(d, now)
	}), byAssess("all or nothing", "wait for each other", func(d *trust.Domain, now time.Time) *trust.Assessment {
		if d.Signer.Next != nil {
			return without(trust.IssueLeaf)(d, now)
		}
		return trust.Assess(d, now)
	}))
}

// TestK13_NoWayBack: a rotation could not be reverted, and nothing told when it was too late.
func TestK13_NoWayBack(t *testing.T) {
	hole(t, web, func(w *world) {
		first, second := w.distribute()
		w.load("server")
		w.settle()
		w.restart("client-a")
		w.abort("too late")
		w.settle()
		_, err := trust.PlanAbort(w.domain(), w.at)
		w.expect(err != nil, "the abort is planned though a leaf was signed")
		w.expect(w.domain().Signer.Next.Equal(second), "the key that has signed is gone")
		w.expect(slices.ContainsFunc(w.assess().Blockers, func(b trust.Blocker) bool { return b.Reason == trust.ReasonAbortTooLate }),
			"nobody is told that it is too late: %v", w.assess().Blockers)
		w.follow()
		w.request("away from it")
		w.follow()
		d := w.domain()
		w.expect(w.stage() == trust.Stable && !d.Signer.Active.Equal(second) && !d.Signer.Active.Equal(first), "the stage is %s", w.stage())
	}, byAssess("an abort drops the new CA at any time", "is gone", func(d *trust.Domain, now time.Time) *trust.Assessment {
		if r := asked(d, trust.RequestAbort); r != nil && d.Signer.Next != nil {
			return with(trust.Assess(d, now), answering(d, trust.DropNext, r))
		}
		return trust.Assess(d, now)
	}))
}

// TestK14_WhereARotationStands: nothing told that a rotation was 60 % done.
func TestK14_WhereARotationStands(t *testing.T) {
	hole(t, web, func(w *world) {
		counts := func() (trusted, members int) {
			for _, a := range w.assess().Anchors {
				if a.Certificate.Equal(newest(w.domain())) {
					trusted, members = a.Trusted, a.Members
				}
			}
			return trusted, members
		}
		_, next := w.distribute()
		for i, name := range []string{"client-a", "server", "client-b"} {
			trusted, members := counts()
			w.expect(trusted == i && members == 3, "%d of %d members trust %s, want %d of 3", trusted, members, next.Subject, i)
			w.load(name)
		}
		w.settle()
		var leaves []trust.Slot
		for _, l := range w.assess().Leaves {
			leaves = append(leaves, l.SignedBySlot)
		}
		w.expect(!slices.ContainsFunc(leaves, func(s trust.Slot) bool { return s != trust.SlotActive }), "the leaves are signed by %v", leaves)
		w.expect(w.assess().Stage == trust.Draining, "the stage is %s", w.assess().Stage)
	}, byAssess("what is written counts as done", "members trust", func(d *trust.Domain, now time.Time) *trust.Assessment {
		out := trust.Assess(d, now)
		for i := range out.Anchors {
			out.Anchors[i].Trusted = out.Anchors[i].Members
		}
		return out
	}))
}
