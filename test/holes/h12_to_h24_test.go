// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package holes

import (
	"crypto/x509"
	"fmt"
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

// TestH12_AllLeavesAtOnce: every leaf ended with the signer, so all were signed again at the same time.
func TestH12_AllLeavesAtOnce(t *testing.T) {
	const perMinute = 5
	herd := setting{config: strings.Replace(meshConfig, "- name: etcd\n", fmt.Sprintf("- name: etcd\n  reissuePerMinute: %d\n", perMinute), 1)}
	for i := range 20 {
		herd.nodes = append(herd.nodes, fmt.Sprintf("n%d", i))
	}
	certificates := func(w *world) map[string]pki.Fingerprint {
		out := map[string]pki.Fingerprint{}
		d := w.domain()
		for i := range d.Leaves {
			out[d.Leaves[i].Name] = d.Leaves[i].Certificate.Fingerprint
		}
		return out
	}
	hole(t, herd, func(w *world) {
		dues := map[time.Time]bool{}
		for _, l := range w.assess().Leaves {
			dues[l.Due.Truncate(time.Hour)] = true
		}
		w.expect(len(dues) > 15, "21 leaves are due at %d moments", len(dues))
		w.pass(time.Hour)
		w.distribute()
		w.loadAll()
		total := 0
		for minute := range 10 {
			before, n := certificates(w), 0
			for range 12 {
				w.reconcile()
				w.loadAll()
				w.pass(5 * time.Second)
			}
			for name, now := range certificates(w) {
				if now != before[name] {
					n++
				}
			}
			total += n
			w.expect(n <= 2*perMinute, "%d leaves were reissued in minute %d", n, minute)
		}
		w.expect(total == 21 && w.stage() == trust.Stable, "%d leaves were reissued, the stage is %s", total, w.stage())
		rest := len(w.api.wrote)
		w.settle()
		w.expect(len(w.api.wrote) == rest, "something is written at rest")
	}, byAssess("no pace", "were reissued in minute", func(d *trust.Domain, now time.Time) *trust.Assessment {
		return trust.Assess(changed(d, func(d *trust.Domain) { d.ReissuePerMinute = 0 }), now)
	}), byAssess("no spread", "are due at 1 moments", func(d *trust.Domain, now time.Time) *trust.Assessment {
		return trust.Assess(changed(d, func(d *trust.Domain) {
			for i := range d.Leaves {
				d.Leaves[i].Policy.JitterPercent = 0
			}
		}), now)
	}))
}

// TestH13_ClocksThatAreWrong: a certificate began one second ago, which a slow peer refuses. A clock years ahead
// rotated everything at once.
func TestH13_ClocksThatAreWrong(t *testing.T) {
	hole(t, web, func(w *world) {
		w.request("test")
		w.follow()
		w.expect(w.stage() == trust.Stable, "the stage is %s", w.stage())
		writes := len(w.api.wrote)
		w.skew = 6 * 365 * 24 * time.Hour
		w.pass(time.Second)
		w.settle()
		w.restart("server", "client-a", "client-b")
		w.expect(len(w.api.wrote) == writes, "a clock six years ahead wrote %v", w.api.wrote[writes:])
		p := w.assess().ProblemOf("Secret/signer")
		w.expect(p != nil && p.Reason == trust.ReasonClockSkewed, "the clock is not told: %v", p)
		w.skew = 0
		w.pass(time.Second)
		w.follow()
		w.expect(len(w.api.wrote) == writes, "the right clock wrote %v", w.api.wrote[writes:])
	}, byAssess("certificates begin now", "not yet valid", func(d *trust.Domain, now time.Time) *trust.Assessment {
		out := trust.Assess(d, now)
		for i := range out.Actions {
			out.Actions[i].Profile.Backdate = time.Second
		}
		return out
	}), byAssess("every clock is right", "refuses the leaf", func(d *trust.Domain, now time.Time) *trust.Assessment {
		return trust.Assess(changed(d, func(d *trust.Domain) { d.ClockSkew, d.LookedAt = 0, time.Time{} }), now)
	}))
}

// TestH14_SignerLostAgainDuringPhase1: a third CA appears while the first CA has signed every leaf.
func TestH14_SignerLostAgainDuringPhase1(t *testing.T) {
	hole(t, mesh, func(w *world) {
		first, _ := w.distribute()
		w.expect(refuses(w.asks("Secret/signer", nil), trust.OneRotation), "the deletion of the signer was let through")
		w.api.remove("Secret/signer")
		w.settle()
		w.restart("n1")
		w.expect(len(w.domain().Bundle.Anchors) == 3 && w.signedBy("peer-n2", first), "the bundle holds %d anchors", len(w.domain().Bundle.Anchors))
		w.follow()
		w.expect(w.stage() == trust.Stable && len(w.domain().Bundle.Anchors) == 1, "the stage is %s", w.stage())
	}, noWebhook("let through"), byAssess("the bundle keeps two", "refuses the leaf", func(d *trust.Domain, now time.Time) *trust.Assessment {
		out := trust.Assess(d, now)
		if n := len(d.Bundle.Anchors); n > 2 {
			return with(out, bundleAction(d, trust.RetireAnchors, d.Bundle.Anchors[n-2:]...))
		}
		return out
	}))
}

// TestH15_NamesThatCollide: Secrets were cleaned up by the end of their name. The Secret of a node called metrics-x
// collided with another node's.
func TestH15_NamesThatCollide(t *testing.T) {
	config := strings.ReplaceAll(meshConfig, `  - {secretName: client,`,
		`  - {secretName: "peer-metrics-{node}", forEachNode: {matchLabels: {role: master}}, nodeAddresses: true, usages: [ServerAuth]}
  - {secretName: client,`)
	config = strings.ReplaceAll(config, `presents: ["peer-{node}"]`, `presents: ["peer-{node}", "peer-metrics-{node}"]`)
	config = strings.ReplaceAll(config, `leaves: ["peer-{node}", client]`, `leaves: ["peer-{node}", "peer-metrics-{node}", client]`)
	hole(t, setting{config: config, nodes: []string{"x", "y"}}, func(w *world) {
		addresses := w.leaf("peer-metrics-x").Certificate.IPAddresses
		w.addNode("metrics-x")
		w.settle()
		p := w.assess().ProblemOf("Secret/peer-metrics-x")
		w.expect(p != nil && p.Reason == inventory.ReasonConflictingClaim, "the collision is not told: %v", w.domain().Problems)
		w.expect(slices.Equal(w.leaf("peer-metrics-x").Certificate.IPAddresses, addresses), "a node that joins took the leaf of another one")
		w.removeNode("metrics-x")
		w.expect(w.api.find("Secret/peer-metrics-x") != nil, "peer-metrics-x was cleaned up with another node")
		w.follow()
		w.expect(slices.Equal(w.leaf("peer-metrics-x").Certificate.IPAddresses, addresses), "peer-metrics-x stays another node's")
		data := w.api.secret("all-certs").Data
		w.expect(len(data) == 2*5, "the aggregate has %d keys", len(data))
	}, broken{name: "whatever ends with the node's name is its own", says: "cleaned up", rules: func(w *world) rules {
		return rules{nodeLeft: func(node string) {
			for _, object := range w.api.objects() {
				if strings.HasSuffix(object, node) {
					w.api.remove(object)
				}
			}
		}}
	}})
}

// TestH16_NodeWithoutAddress: one node without an address stopped the leaves of all others.
func TestH16_NodeWithoutAddress(t *testing.T) {
	hole(t, mesh, func(w *world) {
		old := w.domain().Signer.Active
		w.addNode("lost-n4")
		w.settle()
		told := false
		for _, p := range w.assess().Problems {
			told = told || p.Reason == trust.ReasonNodeWithoutAddress && strings.Contains(p.Object+p.Message, "lost-n4")
		}
		w.expect(told, "the node is not told: %v", w.assess().Problems)
		w.removeNode("n3")
		w.addNode("n5")
		w.follow()
		w.expect(w.leaf("peer-n5").Certificate != nil, "n5 gets no leaf because of lost-n4")
		w.removeNode("lost-n4")
		w.request("test")
		w.follow()
		w.expect(w.stage() == trust.Stable && !w.signedBy("peer-n1", old), "the stage is %s", w.stage())
	}, byAssess("a problem stops everything", "n5 gets no leaf", func(d *trust.Domain, now time.Time) *trust.Assessment {
		if len(d.Problems) > 0 {
			return with(trust.Assess(d, now))
		}
		return trust.Assess(d, now)
	}))
}

// TestH18_OldCALeaves: the old CA stayed in the bundle until it expired.
func TestH18_OldCALeaves(t *testing.T) {
	hole(t, web, func(w *world) {
		old := w.domain().Signer.Active
		stolen := w.pair("signer")
		w.request("test")
		w.follow()
		forged, err := stolen.Issue(w.leaf("client-a").Policy.Profile, w.at)
		w.expect(err == nil, "forge: %v", err)
		for _, r := range w.processes {
			w.expect(w.verify(forged.Certificate, r.trust) != nil, "%s still trusts the old CA", r.member)
		}
		w.expect(w.stage() == trust.Stable && len(w.domain().Signer.Previous) == 0 && !w.domain().Bundle.Anchors[0].Equal(old), "the old CA is kept")
	}, byAssess("anchors stay until they expire", "still trusts", without(trust.RetireAnchors, trust.DestroyPrevious)))
}

// TestH19_LeafIsNoMoreThanALeaf: any leaf could be client and server, and a signer could sign further CAs.
func TestH19_LeafIsNoMoreThanALeaf(t *testing.T) {
	hole(t, web, func(w *world) {
		w.request("test")
		w.follow()
		anchors := w.domain().Bundle.Anchors
		_, err := chainOf(w.leaf("server").Certificate, anchors, w.at, x509.ExtKeyUsageServerAuth)
		w.expect(err == nil, "the server's leaf as a server's: %v", err)
		_, err = chainOf(w.leaf("server").Certificate, anchors, w.at, x509.ExtKeyUsageClientAuth)
		w.expect(err != nil, "the server's leaf passes for a client's")
		_, err = chainOf(w.leaf("client-a").Certificate, anchors, w.at, x509.ExtKeyUsageServerAuth)
		w.expect(err != nil, "a client's leaf passes for the server's")
		ca, err := x509.ParseCertificate(anchors[0].DER())
		w.expect(err == nil && ca.MaxPathLen == 0 && ca.MaxPathLenZero, "the signer may make authorities: %v", err)
	}, byAssess("every leaf may be both", "passes for a client's", func(d *trust.Domain, now time.Time) *trust.Assessment {
		return trust.Assess(changed(d, func(d *trust.Domain) {
			for i := range d.Leaves {
				d.Leaves[i].Policy.Profile.Usages = []pki.Usage{pki.ServerAuth, pki.ClientAuth}
			}
		}), now)
	}))
}

// TestH20_SignerComesBackFromABackup: a restored Secret brings the old signer back when every member has the new
// one.
func TestH20_SignerComesBackFromABackup(t *testing.T) {
	hole(t, mesh, func(w *world) {
		backup := w.api.secret("signer")
		w.request("test")
		w.follow()
		current := w.leaf("peer-n1").Certificate.Fingerprint
		w.expect(refuses(w.asks("Secret/signer", backup), trust.TrustBeforeUse), "the backup of the signer was let through")
		w.api.put(backup)
		w.settle()
		w.restart("n1")
		w.expect(w.leaf("peer-n1").Certificate.Fingerprint == current, "peer-n1 was re-signed by a CA that nobody trusts any more")
		w.follow()
		w.expect(w.stage() == trust.Stable && len(w.domain().Bundle.Anchors) == 1, "the stage is %s with %d anchors", w.stage(), len(w.domain().Bundle.Anchors))
	}, noWebhook("let through"), byAssess("the active CA signs", "refuses the leaf", noGate))
}

// TestKeyOfRecoveredMembersStays: everything expired while the machines were off. A member was recovered with its
// CA's key, and the controller runs before the Secrets of the recovery are applied.
func TestKeyOfRecoveredMembersStays(t *testing.T) {
	hole(t, probed, func(w *world) {
		w.expires, w.damaged = true, true
		ca := w.pair("signer")
		w.pass(6 * 365 * 24 * time.Hour)
		again, err := ca.Resign(w.at)
		w.expect(err == nil, "re-sign the CA: %v", err)
		profile := w.leaf("server").Policy.Profile
		leaf, err := again.Issue(profile, w.at)
		w.expect(err == nil, "reissue the leaf: %v", err)
		server := w.named("server")[0]
		server.presents["server"] = leaf.Certificate
		for _, r := range w.processes {
			// The member's bundle is in the output of the recovery.
			r.trust = []*pki.Certificate{again.Certificate}
		}
		w.record(server, &trust.Observation{
			Instance: "10.0.0.1:443", Kind: trust.TLSProbe, Address: "10.0.0.1:443",
			TrustedSubjects: []string{again.Certificate.SubjectHash}, Presents: []pki.Fingerprint{leaf.Certificate.Fingerprint},
			RecoveredUntil: leaf.Certificate.NotAfter, ObservedAt: w.at,
		})
		w.follow()
		w.expect(w.pair("signer").Certificate.Equal(ca.Certificate), "the key that the member needs was destroyed")
		problem := w.assess().ProblemOf("Secret/signer")
		w.expect(problem != nil && strings.Contains(problem.Message, "server present"), "nobody is told why nothing happens: %+v", problem)

		w.apply("signer", again)
		w.apply("server", leaf)
		w.damaged = false
		w.follow()
		w.expect(w.stage() == trust.Stable && len(w.domain().Bundle.Anchors) == 1, "the stage is %s with %d anchors", w.stage(), len(w.domain().Bundle.Anchors))
		w.expect(w.signedBy("client-a", again.Certificate), "the client is not of the key that the server trusts")
	}, byAssess("what has expired is replaced", "was destroyed", func(d *trust.Domain, now time.Time) *trust.Assessment {
		unseen := *d
		unseen.LookedAt = time.Time{}
		unseen.Parties = slices.Clone(d.Parties)
		for i := range unseen.Parties {
			p := &unseen.Parties[i]
			p.Members = slices.Clone(p.Members)
			for k := range p.Members {
				p.Members[k].Observations = nil
			}
		}
		return trust.Assess(&unseen, now)
	}))
}

// apply writes a pair into a Secret, without the webhook.
func (w *world) apply(name string, pair *pki.Pair) {
	key, err := pair.KeyPEM()
	w.expect(err == nil, "encode the key of %s: %v", name, err)
	s := w.api.secret(name)
	s.Data[corev1.TLSCertKey], s.Data[corev1.TLSPrivateKeyKey] = pair.CertPEM(), key
	w.api.put(s)
}

// longestBackOff is the longest delay until a refused write is retried.
const longestBackOff = 5 * time.Minute

// TestH23_PartialProgress: clients were signed again before any server, and the failure of a later step left them
// refused. Here a blocker names refused writes, and they are retried after a back-off.
func TestH23_PartialProgress(t *testing.T) {
	hole(t, mesh, func(w *world) {
		old, _ := w.distribute()
		w.load("n1", "n2", "apiserver")
		w.settle()
		w.restart("apiserver")
		w.expect(w.signedBy("client", old), "the client was re-signed before n3 trusts")
		w.load("n3")
		w.api.fault = func(object string) apifake.Fault {
			if object == "Secret/peer-n2" || object == "Secret/peer-n3" {
				return apifake.InternalError
			}
			return apifake.NoFault
		}
		for range 5 {
			w.reconcile()
			w.loadAll()
		}
		w.expect(w.stage() == trust.Reissuing, "the stage is %s", w.stage())
		for _, object := range []string{"Secret/peer-n2", "Secret/peer-n3"} {
			refused := func(b trust.Blocker) bool { return b.Object == object && b.Reason == trust.ReasonWriteRefused }
			w.expect(slices.ContainsFunc(w.assess().Blockers, refused), "nobody is told that %s cannot be written: %v", object, w.assess().Blockers)
		}
		w.api.fault = nil
		w.pass(longestBackOff)
		w.follow()
		w.expect(w.stage() == trust.Stable, "the stage is %s", w.stage())
	}, byAssess("clients first", "refuses the leaf", func(d *trust.Domain, now time.Time) *trust.Assessment {
		out := trust.Assess(d, now)
		for i := range d.Leaves {
			l := &d.Leaves[i]
			if l.Name == "client" && d.Signer.Next != nil && len(d.Bundle.Anchors) > 1 && !l.Certificate.SignedBy(d.Signer.Next) {
				return with(out, issue(d, l, d.Signer.Next))
			}
		}
		return out
	}))
}

// TestH24_RestCostsNothing: every object was read each minute, and its certificates were parsed.
func TestH24_RestCostsNothing(t *testing.T) {
	hole(t, mesh, func(w *world) {
		w.settle()
		calls := w.api.calls()
		for range 60 {
			w.pass(time.Minute)
			w.reconcile()
		}
		w.expect(w.api.calls() == calls, "an hour of rest costs %d calls", w.api.calls()-calls)
	}, byAssess("every look looks at everything", "calls", func(d *trust.Domain, now time.Time) *trust.Assessment {
		return with(trust.Assess(d, now), trust.Action{
			Kind: trust.RecordMetadata, ObjectKind: trust.ConfigMapKind, Object: d.Bundle.Name,
			ResourceVersion: d.Bundle.ResourceVersion, Reason: "the minute is over",
		})
	}))
}

// pair reads the certificate and key of a Secret.
func (w *world) pair(name string) *pki.Pair {
	s := w.api.secret(name)
	pair, err := pki.ParsePair(s.Data[corev1.TLSCertKey], s.Data[corev1.TLSPrivateKeyKey])
	w.expect(err == nil, "read %s: %v", name, err)
	return pair
}
