// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package orphan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"certrotation.dev/apis/config/load"
	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/record"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
	"certrotation.dev/test/property"
)

const (
	namespace = "openshift-etcd"
	master    = "node-role.kubernetes.io/master"
	preset    = `
apiVersion: config.certrotation.dev/v1alpha1
kind: RotationConfiguration
metadata: {name: etcd}
spec:
  preset: {name: openshift-etcd, openshiftEtcd: {key: ECDSA-P256}}
`
	// In twins, the name of a Secret may belong to two nodes.
	twins = `
apiVersion: config.certrotation.dev/v1alpha1
kind: RotationConfiguration
metadata: {name: etcd}
spec:
  trustDomains:
  - name: etcd
    signer: {secretName: etcd-signer}
    bundle: {configMapName: etcd-ca-bundle}
    leaves:
    - {secretName: "peer-{node}", forEachNode: {matchExpressions: [{key: node-role.kubernetes.io/master, operator: Exists}]}, commonName: x, usages: [ServerAuth]}
    - {secretName: "peer-metrics-{node}", forEachNode: {matchExpressions: [{key: node-role.kubernetes.io/master, operator: Exists}]}, commonName: x, usages: [ServerAuth]}
    relyingParties:
    - {name: peers, forEachNode: {matchExpressions: [{key: node-role.kubernetes.io/master, operator: Exists}]}, presents: ["peer-{node}", "peer-metrics-{node}"], verifies: {usages: [ServerAuth]}, evidence: {kind: acknowledgement}}
`
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// world holds the sources of a namespace with the control plane nodes x and y. Its tests add leaves of the node z,
// which left.
type world struct {
	t             testing.TB
	s             *inventory.Sources
	etcd, metrics *pki.Pair
}

func newWorld(t testing.TB, config string) *world {
	t.Helper()
	w := &world{t: t, s: &inventory.Sources{Namespace: namespace, Nodes: map[string]*inventory.Node{}}}
	w.configure(config)
	w.etcd, w.metrics = w.signer("etcd-signer", "etcd-ca-bundle"), w.signer("etcd-metric-signer", "etcd-metrics-ca-bundle")
	w.join("x", true)
	w.join("y", true)
	return w
}

func (w *world) configure(text string) {
	w.t.Helper()
	cfg := w.decode(text)
	w.s = w.s.WithConfiguration(cfg.Name, cfg)
}

func (w *world) decode(text string) *configv1alpha1.RotationConfiguration {
	w.t.Helper()
	cfg, err := load.Decode([]byte(text))
	if err != nil {
		w.t.Fatal(err)
	}
	cfg.Namespace = namespace
	return cfg
}

func (w *world) join(name string, isMaster bool) {
	labels := map[string]string{}
	if isMaster {
		labels[master] = ""
	}
	w.s.Nodes[name] = inventory.ParseNode(&corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Status:     corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: fmt.Sprintf("10.0.0.%d", len(w.s.Nodes)+1)}}},
	})
}

func (w *world) signer(name, bundle string) *pki.Pair {
	w.t.Helper()
	ca, err := pki.NewAuthority(pki.Profile{
		CommonName: pki.GenerationName(namespace, name, now.Add(-time.Hour)), Key: pki.ECDSAP256, Validity: 365 * 24 * time.Hour,
	}, now.Add(-time.Hour))
	if err != nil {
		w.t.Fatal(err)
	}
	w.put(name, ca, nil, nil)
	w.s = w.s.WithConfigMap(bundle, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: bundle, Annotations: consenting(nil)}, Data: map[string]string{inventory.BundleKey: string(ca.CertPEM())},
	})
	return ca
}

func (w *world) put(name string, pair *pki.Pair, labels, annotations map[string]string) {
	w.t.Helper()
	key, err := pair.KeyPEM()
	if err != nil {
		w.t.Fatal(err)
	}
	w.s = w.s.WithSecret(name, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: types.UID("uid-" + name), ResourceVersion: "7", Labels: labels, Annotations: consenting(annotations),
		},
		Type: corev1.SecretTypeTLS, Data: map[string][]byte{inventory.ActiveCertKey: pair.CertPEM(), inventory.ActiveKeyKey: key},
	})
}

// consenting adds the consent annotation.
func consenting(annotations map[string]string) map[string]string {
	out := map[string]string{trust.AnnotationConfiguration: "etcd"}
	maps.Copy(out, annotations)
	return out
}

func (w *world) issue(ca *pki.Pair, name string) *pki.Pair {
	w.t.Helper()
	leaf, err := ca.Issue(pki.Profile{CommonName: name, Usages: []pki.Usage{pki.ServerAuth}, Key: pki.ECDSAP256, Validity: 24 * time.Hour * 300}, now)
	if err != nil {
		w.t.Fatal(err)
	}
	return leaf
}

// leaf stores a leaf as certrotation makes it, or as library-go does if domain is empty.
func (w *world) leaf(name, domain string, since time.Duration) *pki.Pair {
	ca := w.etcd
	if strings.Contains(name, "serving-metrics") && domain != "etcd" {
		ca = w.metrics
	}
	pair := w.issue(ca, name)
	labels := map[string]string{trust.LabelManagedType: trust.ManagedTypeTarget}
	if domain != "" {
		labels[trust.LabelTrustDomain] = domain
	}
	w.put(name, pair, labels, grace(since))
	return pair
}

// grace returns the annotation of a grace period that began the given time ago, or nil for 0.
func grace(since time.Duration) map[string]string {
	if since == 0 {
		return nil
	}
	return map[string]string{trust.AnnotationDeleteGraceStart: now.Add(-since).Format(time.RFC3339)}
}

// waiver records a waiver for the member z, which is gone.
func (w *world) waiver(expires time.Time) {
	w.t.Helper()
	made, err := record.OfWaiver(namespace, "etcd", &trust.Waiver{Party: "etcd", Member: "z", Reason: "it is gone", Expires: expires})
	if err != nil {
		w.t.Fatal(err)
	}
	made.UID, made.ResourceVersion = "u", "7"
	w.s = w.s.WithRecord(made.Name, made)
}

func (w *world) roster(domain string, members ...trust.RosterMember) {
	w.t.Helper()
	made, err := record.OfRoster(namespace, domain, &trust.Roster{Members: members})
	if err != nil {
		w.t.Fatal(err)
	}
	w.s = w.s.WithRecord(made.Name, made)
}

func (w *world) record(domain, party, member string, since time.Duration, presents ...pki.Fingerprint) string {
	made := w.evidence(domain, party, member, presents...)
	made.UID, made.ResourceVersion, made.Annotations = "u", "7", grace(since)
	w.s = w.s.WithRecord(made.Name, made)
	return made.Name
}

func (w *world) evidence(domain, party, member string, presents ...pki.Fingerprint) *configv1alpha1.RotationRecord {
	w.t.Helper()
	made, err := record.OfEvidence(namespace, domain, party, member, []trust.Observation{{
		Instance: "one", Kind: trust.Acknowledgement, ObservedAt: now, Expires: now.Add(time.Hour), Presents: presents,
	}})
	if err != nil {
		w.t.Fatal(err)
	}
	return made
}

func (w *world) decide() *Plan { return Decide(w.s, inventory.Build(w.s), now) }

func steps(p *Plan) []string {
	var out []string
	for _, d := range p.Decisions {
		out = append(out, fmt.Sprintf("%s %s/%s", d.Step, d.Kind, d.Name))
	}
	return out
}

func TestDecide(t *testing.T) {
	const day = 24 * time.Hour
	tests := []struct {
		name    string
		config  string
		world   func(w *world)
		want    []string
		recheck time.Duration
	}{
		{name: "nobody left", world: func(w *world) { w.leaf("etcd-peer-x", "etcd", 0) }},
		{name: "a node left", world: func(w *world) {
			w.leaf("etcd-peer-z", "etcd", 0)
			w.leaf("etcd-serving-z", "etcd", 0)
			w.leaf("etcd-serving-metrics-z", "etcd-metrics", 0)
		}, want: []string{"Mark Secret/etcd-peer-z", "Mark Secret/etcd-serving-metrics-z", "Mark Secret/etcd-serving-z"}},
		{name: "within the grace", world: func(w *world) { w.leaf("etcd-peer-z", "etcd", 2*day) }, recheck: day},
		{name: "after the grace", world: func(w *world) {
			w.leaf("etcd-peer-z", "etcd", 3*day)
			w.leaf("etcd-serving-metrics-z", "etcd-metrics", 3*day)
		}, want: []string{"Delete Secret/etcd-peer-z", "Delete Secret/etcd-serving-metrics-z"}},
		{name: "made by library-go", world: func(w *world) {
			w.leaf("etcd-peer-z", "", 3*day)
			w.leaf("etcd-serving-metrics-z", "", 3*day)
		}, want: []string{"Delete Secret/etcd-peer-z", "Delete Secret/etcd-serving-metrics-z"}},
		{name: "the node comes back", world: func(w *world) { w.leaf("etcd-peer-z", "etcd", 4*day); w.join("z", true) }, want: []string{"Unmark Secret/etcd-peer-z"}},
		{name: "the node is no control plane node any more", world: func(w *world) { w.leaf("etcd-peer-z", "etcd", 3*day); w.join("z", false) },
			want: []string{"Delete Secret/etcd-peer-z"}},
		{name: "the beginning of the grace cannot be read", world: func(w *world) {
			w.leaf("etcd-peer-z", "etcd", 0)
			w.s.Secrets["etcd-peer-z"].Annotations = consenting(map[string]string{trust.AnnotationDeleteGraceStart: "long ago"})
		}, want: []string{"Mark Secret/etcd-peer-z"}},
		{name: "it consents to nothing", world: func(w *world) {
			w.leaf("etcd-peer-z", "etcd", 3*day)
			delete(w.s.Secrets["etcd-peer-z"].Annotations, trust.AnnotationConfiguration)
		}},
		{name: "it consents to another configuration", world: func(w *world) {
			w.leaf("etcd-peer-z", "etcd", 3*day)
			w.s.Secrets["etcd-peer-z"].Annotations[trust.AnnotationConfiguration] = "other"
		}},
		{name: "the beginning of the grace is ahead", world: func(w *world) { w.leaf("etcd-peer-z", "etcd", -day) }, recheck: 4 * day},
		// Names that may belong to two nodes.
		{name: "a node whose name ends with that of another", world: func(w *world) { w.leaf("etcd-peer-a-x", "etcd", 3*day) },
			want: []string{"Delete Secret/etcd-peer-a-x"}},
		{name: "metrics of x is no serving leaf of metrics-x", world: func(w *world) { w.leaf("etcd-serving-metrics-x", "etcd-metrics", 3*day) },
			want: []string{"Unmark Secret/etcd-serving-metrics-x"}},
		{name: "one name for two nodes, the second is there", config: twins, world: func(w *world) { w.leaf("peer-metrics-x", "etcd", 3*day) },
			want: []string{"Unmark Secret/peer-metrics-x"}},
		{name: "one name for two nodes, the first is there", config: twins, world: func(w *world) { w.leaf("peer-metrics-z", "etcd", 0); w.join("metrics-z", true) }},
		{name: "one name for two nodes, both are gone", config: twins, world: func(w *world) { w.leaf("peer-metrics-z", "etcd", 3*day) },
			want: []string{"Delete Secret/peer-metrics-z"}},
		{name: "an uncommon ending", world: func(w *world) { w.leaf("etcd-peer-", "etcd", 3*day); w.leaf("etcd-peer", "etcd", 3*day) }},
		// Objects that certrotation did not make.
		{name: "another name", world: func(w *world) { w.leaf("my-etcd-peer-z", "etcd", 3*day) }},
		{name: "not labelled as a leaf", world: func(w *world) {
			w.put("etcd-peer-z", w.issue(w.etcd, "z"), nil, grace(3*day))
		}},
		{name: "labelled as a signer", world: func(w *world) {
			w.put("etcd-peer-z", w.issue(w.etcd, "z"), map[string]string{trust.LabelManagedType: trust.ManagedTypeSigner}, grace(3*day))
		}},
		{name: "a CA", world: func(w *world) {
			w.put("etcd-peer-z", w.etcd, map[string]string{trust.LabelManagedType: trust.ManagedTypeTarget}, grace(3*day))
		}},
		{name: "of another trust domain", world: func(w *world) { w.leaf("etcd-peer-z", "etcd-metrics", 3*day) }},
		{name: "of a CA that is none of the domain's", world: func(w *world) {
			ca, err := pki.NewAuthority(pki.Profile{CommonName: "other", Key: pki.ECDSAP256, Validity: time.Hour * 9999}, now)
			if err != nil {
				w.t.Fatal(err)
			}
			w.put("etcd-peer-z", w.issue(ca, "z"), map[string]string{trust.LabelManagedType: trust.ManagedTypeTarget}, grace(3*day))
		}},
		// Deletions that are blocked.
		{name: "a rotation is in flight", world: func(w *world) {
			w.leaf("etcd-peer-z", "etcd", 3*day)
			w.leaf("etcd-peer-x", "etcd", 0)
			w.signer("etcd-signer", "other")
		}, recheck: heldRecheck},
		{name: "a rotation of the other domain is in flight", world: func(w *world) {
			w.leaf("etcd-peer-z", "etcd", 3*day)
			w.leaf("etcd-serving-metrics-x", "etcd-metrics", 0)
			w.signer("etcd-metric-signer", "other")
		}, want: []string{"Delete Secret/etcd-peer-z"}},
		{name: "the clock is wrong", world: func(w *world) {
			w.leaf("etcd-peer-z", "etcd", 3*day)
			ca, err := pki.NewAuthority(pki.Profile{CommonName: pki.GenerationName(namespace, "etcd-signer", now), Key: pki.ECDSAP256, Validity: time.Hour * 9999}, now.Add(day))
			if err != nil {
				w.t.Fatal(err)
			}
			w.put("etcd-signer", ca, nil, nil)
			w.s = w.s.WithSecret("etcd-peer-x", nil)
		}, recheck: heldRecheck},
		{name: "a member presents it", world: func(w *world) {
			w.record("etcd", "etcd", "x", 0, w.leaf("etcd-peer-z", "etcd", 3*day).Certificate.Fingerprint)
		}, recheck: heldRecheck},
		{name: "what the member was that left presented it", world: func(w *world) {
			w.record("etcd", "etcd", "z", 2*day, w.leaf("etcd-peer-z", "etcd", 3*day).Certificate.Fingerprint)
		}, want: []string{"Delete Secret/etcd-peer-z"}, recheck: day},
		{name: "the selector chooses no node", world: func(w *world) {
			w.leaf("etcd-peer-z", "etcd", 3*day)
			clear(w.s.Nodes)
			w.join("worker", false)
		}},
		{name: "the configuration cannot be read", world: func(w *world) {
			w.leaf("etcd-peer-z", "etcd", 3*day)
			cfg := w.decode(preset)
			cfg.Spec.Preset.Name = "nonsense"
			w.s = w.s.WithConfiguration(cfg.Name, cfg)
		}},
		{name: "another configuration is refused", world: func(w *world) {
			w.leaf("etcd-peer-z", "etcd", 3*day)
			second := w.decode(preset)
			second.Name, second.CreationTimestamp = "second", metav1.NewTime(now)
			w.s = w.s.WithConfiguration("second", second)
		}},
		// Evidence.
		{name: "the record of a member that is there", world: func(w *world) { w.record("etcd", "etcd", "x", 0) }},
		{name: "the record of a member that left", world: func(w *world) { w.record("etcd", "etcd", "z", 0) },
			want: []string{"Mark RotationRecord/" + record.EvidenceName("etcd", "etcd", "z")}},
		{name: "the record of a member that left long ago", world: func(w *world) { w.record("etcd", "etcd", "z", 3*day) },
			want: []string{"Delete RotationRecord/" + record.EvidenceName("etcd", "etcd", "z")}},
		{name: "the record of a member that came back", world: func(w *world) { w.record("etcd", "etcd", "x", day) },
			want: []string{"Unmark RotationRecord/" + record.EvidenceName("etcd", "etcd", "x")}},
		{name: "the record of a party that is not configured any more", world: func(w *world) { w.record("etcd", "former", "x", 3*day) },
			want: []string{"Delete RotationRecord/" + record.EvidenceName("etcd", "former", "x")}},
		{name: "the record of a party without members", world: func(w *world) {
			w.record("etcd", "etcd", "z", 3*day)
			clear(w.s.Nodes)
		}},
		{name: "the record of another domain", world: func(w *world) { w.record("other", "etcd", "z", 3*day) }},
		{name: "a record under another name", world: func(w *world) {
			w.s = w.s.WithRecord("mine", &configv1alpha1.RotationRecord{
				ObjectMeta: metav1.ObjectMeta{Name: "mine", UID: "u", ResourceVersion: "7", Annotations: grace(3 * day)},
				Spec:       w.evidence("etcd", "etcd", "z").Spec,
			})
		}},
		{name: "a waiver in force", world: func(w *world) { w.waiver(now.Add(time.Hour)) }, recheck: time.Hour + 3*day},
		{name: "a waiver that has just ended", world: func(w *world) { w.waiver(now.Add(-day)) }, recheck: 2 * day},
		{name: "a waiver that ended long ago", world: func(w *world) { w.waiver(now.Add(-3 * day)) },
			want: []string{"Delete RotationRecord/" + record.WaiverName("etcd", "etcd", "z")}},
		{name: "a waiver that ended long ago, in flight", world: func(w *world) {
			w.waiver(now.Add(-3 * day))
			w.leaf("etcd-peer-x", "etcd", 0)
			w.signer("etcd-signer", "other")
		}, recheck: heldRecheck},
		// Roster members that are no longer configured.
		{name: "a member that may present it is not proven to be gone", world: func(w *world) {
			w.leaf("etcd-peer-z", "etcd", 3*day)
			w.roster("etcd", trust.RosterMember{Party: "etcd", Member: "z", Instance: "uid-z", Kind: trust.StaticPodRevision, Presents: []string{"etcd-peer-z"}, Started: true})
			w.record("etcd", "etcd", "z", 3*day)
		}, recheck: heldRecheck},
		{name: "a member that presented it is proven to be gone", world: func(w *world) {
			w.leaf("etcd-peer-z", "etcd", 3*day)
			w.roster("etcd", trust.RosterMember{Party: "etcd", Member: "z", Instance: "uid-z", Kind: trust.StaticPodRevision, Presents: []string{"etcd-peer-z"}, Started: true, Absent: "its node is gone"})
			w.record("etcd", "etcd", "z", 3*day)
		}, want: []string{"Delete RotationRecord/" + record.EvidenceName("etcd", "etcd", "z"), "Delete Secret/etcd-peer-z"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			config := tt.config
			if config == "" {
				config = preset
			}
			w := newWorld(t, config)
			tt.world(w)
			plan := w.decide()
			if diff := cmp.Diff(tt.want, steps(plan)); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
			var want time.Time
			if tt.recheck != 0 {
				want = now.Add(tt.recheck)
			}
			if !plan.Recheck.Equal(want) {
				t.Errorf("recheck %s, want %s", plan.Recheck, want)
			}
			for _, d := range plan.Decisions {
				if d.UID == "" || d.ResourceVersion != "7" || d.Reason == "" {
					t.Errorf("incomplete: %+v", d)
				}
			}
		})
	}
}

func TestDecideWithoutConfiguration(t *testing.T) {
	for _, s := range []*inventory.Sources{nil, {Namespace: namespace}} {
		if got := Decide(s, nil, now); len(got.Decisions) > 0 || !got.Recheck.IsZero() {
			t.Errorf("got %+v", got)
		}
	}
}

// TestNoLivingNodeLosesAnything: for any set and names of nodes, no Secret of a living node is marked or deleted.
func TestNoLivingNodeLosesAnything(t *testing.T) {
	node := rapid.SampledFrom([]string{"x", "y", "a-x", "metrics-x", "metrics-metrics-x", "peer-x", "serving-x", "1", "x.example", "metrics-y"})
	secretOf := func(n string) []string {
		return []string{"etcd-peer-" + n, "etcd-serving-" + n, "etcd-serving-metrics-" + n}
	}
	base := newWorld(t, preset)
	all := map[string]*inventory.Secret{}
	for _, n := range []string{"x", "y", "a-x", "metrics-x", "metrics-metrics-x", "peer-x", "serving-x", "1", "x.example", "metrics-y"} {
		for _, name := range secretOf(n) {
			base.leaf(name, "", Grace)
			all[name] = base.s.Secrets[name]
		}
	}
	property.Check(t, func(t *rapid.T) {
		w := &world{t: base.t, s: &inventory.Sources{}}
		*w.s = *base.s
		w.s.Nodes = map[string]*inventory.Node{}
		living := rapid.SliceOfNDistinct(node, 1, 5, rapid.ID).Draw(t, "living")
		for _, n := range living {
			w.join(n, true)
		}
		deleted := steps(w.decide())
		for _, n := range living {
			for _, name := range secretOf(n) {
				if slices.Contains(deleted, "Delete Secret/"+name) || slices.Contains(deleted, "Mark Secret/"+name) {
					t.Fatalf("%s of the living node %s: %v", name, n, deleted)
				}
			}
		}
		if slices.ContainsFunc(living, func(n string) bool { return strings.HasPrefix(n, "metrics-") }) {
			// A serving Secret of such a node holds the metrics leaf of another node. A rotation must repair that
			// first.
			return
		}
		for name := range all {
			alive := slices.ContainsFunc(living, func(n string) bool { return slices.Contains(secretOf(n), name) })
			if !alive && !slices.Contains(deleted, "Delete Secret/"+name) {
				t.Fatalf("%s stays though nobody of %v has it", name, living)
			}
		}
	})
}

func TestNodeOf(t *testing.T) {
	tests := []struct {
		template, name, want string
	}{
		{"peer-{node}", "peer-x", "x"},
		{"peer-{node}", "peer-a.b", "a.b"},
		{"peer-{node}", "peer-", ""},
		{"peer-{node}", "peer", ""},
		{"peer-{node}", "xpeer-x", ""},
		{"peer-{node}", "peer-X", ""},
		{"peer-{node}", "peer--x", ""},
		{"{node}-peer", "x-peer", "x"},
		{"{node}.{node}", "x.x", "x"},
		{"{node}.{node}", "x.y", ""},
		{"{node}.{node}", "a.b.a.b", "a.b"},
		{"peer", "peer", ""},
	}
	for _, tt := range tests {
		tmpl := template{text: tt.template}
		if got, ok := tmpl.nodeOf(tt.name); got != tt.want || ok != (tt.want != "") {
			t.Errorf("%s of %s is %q, %t, want %q", tt.template, tt.name, got, ok, tt.want)
		}
	}
}

func FuzzNodeOf(f *testing.F) {
	f.Add("peer-{node}", "peer-x")
	f.Add("{node}{node}", "xx")
	f.Fuzz(func(t *testing.T, text, name string) {
		tmpl := template{text: text}
		if node, ok := tmpl.nodeOf(name); ok && strings.ReplaceAll(text, "{node}", node) != name {
			t.Errorf("%q of %q is %q", text, name, node)
		}
	})
}
