// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/controller/issuer"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
	"certrotation.dev/test/apifake"
	"certrotation.dev/test/clientca"
	"certrotation.dev/test/knownissues"
)

// wayOut is a state that needs a person.
type wayOut struct {
	config string
	// begin creates the state, without the webhook if that refuses it. A rotation is requested afterwards, unless
	// resting is true.
	begin   func(*guarded)
	resting bool
	// person makes the edits of the page. also are other edits that the page names, each enough by itself.
	person func(*guarded)
	also   map[string]func(*guarded)
}

// byThemselves are the reasons that need no person, or are no state of a domain, each with its explanation.
var byThemselves = map[trust.Reason]string{
	trust.ReasonGracePeriod:    "time ends it",
	trust.ReasonPaced:          "time ends it",
	trust.ReasonRotationQueued: "the rotation before it ends",
	trust.ReasonAbortTooLate:   "the rotation ends",
	trust.ReasonAbortRequested: "the program that writes the editions aborts: TestRequestsToOthers of registry/trust",
	trust.ReasonEmptyBundle:    "the controller fills it",
	trust.ReasonMissing:        "the controller makes it",
	trust.ReasonUnknownSigner:  "the controller reissues it",
	trust.ReasonExpired:        "the controller reissues it",
	trust.ReasonNotYetValid:    "the controller reissues it",
	trust.ReasonChosenTwice:    "nothing waits for it",
	trust.ReasonRestartHeld:    "TestHolds of controller/rollout/workload",
	trust.ReasonOutlived:       "TestControllerGoesOnFromRecovery of controller/recovery",

	inventory.ReasonOperationRefused: "TestOperate of controller/secrets",
	inventory.ReasonNodesUnknown:     "it is the right that is missing: TestNodesWithoutRights of registry/view/inventory",
	inventory.ReasonInvalidStatus:    "the controller rewrites it",
	inventory.ReasonNoClass:          "the owner of a class: TestClassOfARollout of registry/view/inventory",
	inventory.ReasonClassRefuses:     "the owner of a class: TestClassOfARollout of registry/view/inventory",
}

// TestWaysOut tests each row of the tables in docs/known-issues.md. The state lasts without a person, the webhook
// admits every edit of the person, and then the state ends.
func TestWaysOut(t *testing.T) {
	ways := waysOut()
	knownissues.Check(t, knownissues.Reasons(t, "A rotation waits", "A configuration has a problem"), ways, byThemselves)
	for reason, way := range ways {
		t.Run(string(reason), func(t *testing.T) { way.walk(t, reason, way.person) })
		for name, person := range way.also {
			t.Run(string(reason)+", "+name, func(t *testing.T) { way.walk(t, reason, person) })
		}
	}
}

func (way *wayOut) walk(t *testing.T, reason trust.Reason, person func(*guarded)) {
	t.Helper()
	w := newWorld(t, cmp.Or(way.config, webConfig))
	for _, node := range []*corev1.Node{node("n1", "10.0.0.1"), node("n2", "10.0.0.2")} {
		w.putNode(node)
	}
	w.clocks = &clocks{}
	c := w.controller()
	c.skew = w.clocks
	g := guard(w)
	if way.config == issuedConfig {
		g.issuer = newCertManager(w, issuedCA)
		g.issuer.begin()
		c.issuer = g.issuer
	}
	w.settle(c)
	way.begin(g)
	w.spin(c, time.Minute)
	if !way.resting {
		requestRotation(w)
	}
	w.spin(c, 20*time.Minute)
	if !w.waitsFor(reason) {
		t.Fatalf("it does not come about: %+v", c.assess(w.domain(), w.clock.Now()))
	}
	person(g)
	w.spin(c, 2*lastRefusedRetry)
	a := c.assess(w.domain(), w.clock.Now())
	if problems := w.Namespace(testNamespace).Problems; a.Stage != trust.Stable || len(a.Blockers)+len(a.Problems)+len(problems) > 0 {
		t.Errorf("after what a person did it is %s, blockers %+v, problems %+v %+v", a.Stage, a.Blockers, a.Problems, problems)
	}
}

func (w *world) waitsFor(reason trust.Reason) bool {
	a := trust.Assess(w.domain(), w.clock.Now())
	problems := slices.Concat(a.Problems, w.Namespace(testNamespace).Problems)
	return slices.ContainsFunc(a.Blockers, func(b trust.Blocker) bool { return b.Reason == reason }) ||
		slices.ContainsFunc(problems, func(p trust.Problem) bool { return p.Reason == reason })
}

func waysOut() map[trust.Reason]wayOut {
	out := waysOfMembers()
	for _, more := range []map[trust.Reason]wayOut{waysOfConfigurations(), waysOfObjects(), waysOfNodes()} {
		maps.Copy(out, more)
	}
	return out
}

// waysOfMembers are the ways out for members without the needed evidence, for clocks and for writes.
func waysOfMembers() map[trust.Reason]wayOut {
	reloads := func(g *guarded) { g.reports = nil }
	waived := map[string]func(*guarded){"waived": func(g *guarded) {
		g.waive("clients", "a", 24*time.Hour)
		g.waive("servers", "servers", 24*time.Hour)
	}}
	stuck := func(g *guarded) {
		ca := g.domain().Signer.Active.Fingerprint
		g.reports = func(_ *trust.Party, o *trust.Observation) bool {
			o.Trusts = []pki.Fingerprint{ca}
			return true
		}
	}
	return map[trust.Reason]wayOut{
		trust.ReasonHeld: {
			config: issuedConfig, resting: true,
			begin: func(g *guarded) {
				stuck(g)
				g.issuer.replace()
				g.issuer.issue(issuedClient)
			},
			person: reloads,
		},
		trust.ReasonNotIssued: {
			config: issuedConfig,
			begin: func(g *guarded) {
				g.issuer.answers = func(string) error { return &issuer.FailedError{Why: "Certificate/server: failed"} }
			},
			person: func(g *guarded) { g.issuer.answers = nil },
		},
		trust.ReasonAnchorNotLoaded: {begin: stuck, person: reloads},
		trust.ReasonNotObserved: {
			begin: func(g *guarded) {
				g.clock.Step(2 * time.Hour)
				g.reports = func(*trust.Party, *trust.Observation) bool { return false }
			},
			person: reloads, also: waived,
		},
		trust.ReasonLeafNotPresented: {
			begin: func(g *guarded) {
				leaf := g.domain().Leaf(clientLeaf).Certificate.Fingerprint
				g.reports = func(p *trust.Party, o *trust.Observation) bool {
					if p.Name == "clients" {
						o.Presents = []pki.Fingerprint{leaf}
					}
					return true
				}
			},
			person: reloads,
		},
		trust.ReasonDiverged: {
			resting: true,
			begin: func(g *guarded) {
				_, theirs := g.theirCA("x")
				g.reports = func(_ *trust.Party, o *trust.Observation) bool {
					o.Trusts = []pki.Fingerprint{theirs.Certificate.Fingerprint}
					return true
				}
			},
			person: reloads,
		},
		trust.ReasonNoUsableSigner: {
			resting: true,
			begin: func(g *guarded) {
				stuck(g)
				g.drop(g.secret(signerName))
				g.drop(g.secret(serverLeaf))
			},
			person: reloads,
		},
		trust.ReasonOverdue: {
			config: strings.Replace(webConfig, "  - name: web\n", "  - name: web\n    stageDeadline: 5m\n", 1),
			begin:  stuck, person: reloads,
		},
		trust.ReasonClockSkewed: {
			begin:  func(g *guarded) { g.clocks.latest, g.clocks.asked = time.Hour, time.Hour },
			person: func(g *guarded) { g.clocks.latest, g.clocks.asked = 0, 0 },
		},
		trust.ReasonClockJumped: {
			resting: true,
			begin: func(g *guarded) {
				g.clock.Step(20 * 365 * 24 * time.Hour)
				g.reports = func(*trust.Party, *trust.Observation) bool { return false }
			},
			person: reloads, also: waived,
		},
		trust.ReasonWriteRefused: {
			begin: func(g *guarded) {
				g.api.Admit = func(r *apifake.Request) error {
					if nameOf(r.Object) != "Secret/"+serverLeaf || r.Verb != "update" {
						return nil
					}
					return apierrors.NewForbidden(secretsResource, serverLeaf, errors.New("a webhook says no"))
				}
			},
			person: func(g *guarded) { g.api.Admit = nil },
		},
		trust.ReasonUnfitSigner: {
			resting: true,
			begin: func(g *guarded) {
				unfit, err := clientca.New(g.clock.Now())
				if err != nil {
					g.t.Fatal(err)
				}
				key, err := unfit.KeyPEM()
				if err != nil {
					g.t.Fatal(err)
				}
				signer := g.secret(signerName)
				signer.Data[inventory.NextCertKey], signer.Data[inventory.NextKeyKey] = unfit.CertPEM(), key
				g.put(signer)
			},
			person: func(g *guarded) { g.request(trust.RequestAbort, signerName) },
		},
	}
}

// waysOfConfigurations are the ways out for what a configuration selects, or no longer names.
func waysOfConfigurations() map[trust.Reason]wayOut {
	const auditors = "    - name: auditors\n      verifies: {usages: [ClientAuth]}\n      evidence: {kind: acknowledgement}\n"
	const servers, clients = "    - name: servers\n", "      members: [a]\n"
	const chosen = "      forEachNode: {matchLabels: {role: chosen}}\n"
	nothing := func(*guarded) {}
	labelled := func(g *guarded) {
		n := node("n1", "10.0.0.1")
		n.Labels = map[string]string{"role": "chosen"}
		g.putNode(n)
	}
	return map[trust.Reason]wayOut{
		trust.ReasonNoVerifier: {config: strings.Replace(webConfig, clients, chosen, 1), begin: nothing, person: labelled},
		trust.ReasonNoHolder:   {config: strings.Replace(webConfig, servers, auditors+servers+chosen, 1), begin: nothing, person: labelled},
		trust.ReasonUnnamed: {
			begin: func(g *guarded) {
				cfg := g.configuration()
				cfg.Spec.Aggregate = nil
				d := &cfg.Spec.TrustDomains[0]
				d.Leaves, d.RelyingParties[1].Presents = d.Leaves[:1], nil
				d.RelyingParties[0].Verifies = configv1alpha1.LeafSelection{Nothing: true}
				g.put(cfg)
			},
			person: func(g *guarded) { g.admitted(g.secret(clientLeaf), nil) },
			also:   map[string]func(*guarded){"named again": func(g *guarded) { g.admitted(g.configuration(), configuration(g.t, webConfig)) }},
		},
		inventory.ReasonInvalidConfiguration: {
			resting: true,
			begin: func(g *guarded) {
				other := claimant(g.t)
				other.Spec.TrustDomains[0].Leaves = append(other.Spec.TrustDomains[0].Leaves, other.Spec.TrustDomains[0].Leaves[0])
				g.put(other)
			},
			person: func(g *guarded) { g.put(claimant(g.t)) },
		},
		inventory.ReasonConflictingClaim: {
			resting: true,
			begin: func(g *guarded) {
				other := claimant(g.t)
				other.Spec.TrustDomains[0].Bundle.ConfigMapName = bundleName
				g.put(other)
			},
			person: func(g *guarded) { g.put(claimant(g.t)) },
		},
		inventory.ReasonInvalidRecord: {
			resting: true,
			begin: func(g *guarded) {
				g.put(&configv1alpha1.RotationRecord{
					ObjectMeta: metav1.ObjectMeta{Name: "waiver.web.clients.a"},
					Spec:       configv1alpha1.RotationRecordSpec{TrustDomain: "web", Kind: configv1alpha1.RecordWaiver},
				})
			},
			person: func(g *guarded) {
				for _, r := range g.records("Waiver") {
					g.drop(r)
				}
			},
		},
	}
}

// claimant is another configuration, with objects of its own.
func claimant(t testing.TB) *configv1alpha1.RotationConfiguration {
	t.Helper()
	text, _, _ := strings.Cut(strings.ReplaceAll(webConfig, "web", "other"), "  aggregate:")
	return configuration(t, text)
}

// waysOfObjects are the ways out for objects that were broken without the webhook.
func waysOfObjects() map[trust.Reason]wayOut {
	broken := func(name string, change func(*corev1.Secret)) func(*guarded) {
		return func(g *guarded) {
			secret := g.secret(name)
			change(secret)
			g.put(secret)
		}
	}
	deleted := func(g *guarded) { g.admitted(g.secret(serverLeaf), nil) }
	return map[trust.Reason]wayOut{
		trust.ReasonObjectProblem: {
			begin:  broken(serverLeaf, func(s *corev1.Secret) { s.Data[inventory.ActiveCertKey] = []byte("none") }),
			person: deleted,
		},
		trust.ReasonUnparsable: {
			begin:  broken(serverLeaf, func(s *corev1.Secret) { s.Data[inventory.ActiveKeyKey] = []byte("none") }),
			person: deleted,
		},
		trust.ReasonKeyMismatch: {
			begin: func(g *guarded) {
				leaf := g.secret(serverLeaf)
				leaf.Data[inventory.ActiveKeyKey] = g.secret(clientLeaf).Data[inventory.ActiveKeyKey]
				g.put(leaf)
			},
			person: deleted,
		},
		trust.ReasonWrongType: {
			begin:  broken(serverLeaf, func(s *corev1.Secret) { s.Type = corev1.SecretTypeBasicAuth }),
			person: deleted,
		},
		trust.ReasonImmutable: {
			begin:  broken(serverLeaf, func(s *corev1.Secret) { s.Immutable = new(true) }),
			person: deleted,
		},
		trust.ReasonDeleting: {
			begin: broken(serverLeaf, func(s *corev1.Secret) {
				s.Finalizers, s.DeletionTimestamp = []string{"example.com/kept"}, &metav1.Time{Time: time.Unix(1e9, 0)}
			}),
			person: func(g *guarded) { g.drop(g.secret(serverLeaf)) },
		},
		trust.ReasonKeystorePassword: {
			config: keystoreConfig,
			begin:  func(*guarded) {},
			person: func(g *guarded) { g.put(password(firstPassword)) },
		},
		trust.ReasonNotAdopted: {
			begin: broken(serverLeaf, func(s *corev1.Secret) { delete(s.Annotations, trust.AnnotationConfiguration) }),
			person: func(g *guarded) {
				leaf := g.secret(serverLeaf)
				adopted := leaf.DeepCopy()
				adopted.Annotations[trust.AnnotationConfiguration] = "web"
				g.admitted(leaf, adopted)
			},
		},
		trust.ReasonAuthorityRequested: {
			begin: func(g *guarded) { g.put(g.signer(g.intermediate(g.root("Acme Root"), "web 1", false))) },
			person: func(g *guarded) {
				root := g.root("Acme Root 2")
				g.install(g.sign(root), root.Certificate)
			},
			also: map[string]func(*guarded){"aborted": func(g *guarded) { g.request(trust.RequestAbort, signerName) }},
		},
		trust.ReasonRootUnknown: {
			resting: true,
			begin: func(g *guarded) {
				root := g.root("Acme Root")
				pair := g.intermediate(root, "web 1", false)
				pair.Chain = nil
				secret := g.signer(pair)
				secret.Data["elsewhere"] = root.Certificate.PEM()
				g.put(secret)
			},
			person: func(g *guarded) {
				signer := g.secret(signerName)
				completed := signer.DeepCopy()
				completed.Data[inventory.AuthorityKey] = signer.Data["elsewhere"]
				g.admitted(signer, completed)
			},
		},
		trust.ReasonUnreadBlock: {
			begin: func(g *guarded) {
				bundle := g.configMap(bundleName)
				bundle.Data[inventory.BundleKey] += unreadBlock
				g.put(bundle)
			},
			person: func(g *guarded) {
				bundle := g.configMap(bundleName)
				mended := bundle.DeepCopy()
				mended.Data[inventory.BundleKey] = strings.Replace(bundle.Data[inventory.BundleKey], unreadBlock, "", 1)
				g.admitted(bundle, mended)
			},
		},
		trust.ReasonNotCA: {
			begin: func(g *guarded) {
				bundle := g.configMap(bundleName)
				bundle.Data[inventory.BundleKey] += string(g.secret(serverLeaf).Data[inventory.ActiveCertKey])
				g.put(bundle)
			},
			person: func(g *guarded) {
				bundle := g.configMap(bundleName)
				right := bundle.DeepCopy()
				text := right.Data[inventory.BundleKey]
				right.Data[inventory.BundleKey] = strings.TrimSuffix(text, string(g.secret(serverLeaf).Data[inventory.ActiveCertKey]))
				g.admitted(bundle, right)
			},
		},
	}
}

// waysOfNodes are the ways out for leaves of nodes with unusable addresses.
func waysOfNodes() map[trust.Reason]wayOut {
	const each = "    - {secretName: web-server, dnsNames: [web.demo.svc], usages: [ServerAuth]}\n"
	config := strings.Replace(webConfig, each, each+
		"    - {secretName: \"web-{node}\", forEachNode: {}, nodeAddresses: true, usages: [ServerAuth]}\n", 1)
	config = strings.Replace(config, "    relyingParties:\n", "    relyingParties:\n    - name: nodes\n      forEachNode: {}\n"+
		"      verifies: {nothing: true}\n      presents: [\"web-{node}\"]\n      evidence: {kind: acknowledgement}\n", 1)
	config = strings.Replace(config, "spec:\n", "spec:\n  nodeCIDRs: [10.0.0.0/24]\n", 1)
	moved := func(address string) func(*guarded) { return func(g *guarded) { g.putNode(node("n2", address)) } }
	right := moved("10.0.0.2")
	return map[trust.Reason]wayOut{
		trust.ReasonNodeWithoutAddress: {config: config, resting: true, begin: moved(""), person: right},
		trust.ReasonAddressNotBelieved: {config: config, resting: true, begin: moved("192.0.2.7"), person: right},
		trust.ReasonAddressCollision:   {config: config, resting: true, begin: moved("10.0.0.1"), person: right},
	}
}

func node(name, address string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-of-" + name)}, Spec: corev1.NodeSpec{PodCIDR: "10.1.0.0/24"}}
	if address != "" {
		n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address}}
	}
	return n
}

func (w *world) putNode(n *corev1.Node) {
	w.t.Helper()
	if err := w.api.Put(n); err != nil {
		w.t.Fatal(err)
	}
}

// admitted makes an edit that the webhook must allow.
func (g *guarded) admitted(old, changed runtime.Object) {
	g.t.Helper()
	if answer := g.edit(old, changed); !answer.Allowed {
		g.t.Fatalf("the guard refuses what the page says to do: %s", answer.Result.Message)
	}
}
