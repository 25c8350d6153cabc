// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/yaml"

	"certrotation.dev/apis/config/load"
	"certrotation.dev/registry/nodepod"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/record"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
	"certrotation.dev/test/apifake"
	"certrotation.dev/test/apifake/sources"
	"certrotation.dev/test/disktest"
)

const etcdConfig = `
apiVersion: config.certrotation.dev/v1alpha1
kind: RotationConfiguration
metadata: {name: etcd}
spec:
  trustDomains:
  - name: etcd
    signer: {secretName: etcd-signer, policy: {key: ECDSA-P256, validity: 10h}}
    bundle: {configMapName: etcd-ca-bundle}
    leaves:
    - {secretName: etcd-peer-node-0, commonName: etcd-peer-node-0, organizations: ["system:etcd"], dnsNames: [localhost], ipAddresses: [127.0.0.1], usages: [ServerAuth, ClientAuth], policy: {key: ECDSA-P256, validity: 9h}}
    - {secretName: etcd-peer-node-1, commonName: etcd-peer-node-1, organizations: ["system:etcd"], dnsNames: [localhost], ipAddresses: [127.0.0.1], usages: [ServerAuth, ClientAuth], policy: {key: ECDSA-P256, validity: 9h}}
    - {secretName: etcd-client, commonName: etcd-client, organizations: ["system:etcd"], dnsNames: [localhost], ipAddresses: [127.0.0.1], usages: [ServerAuth, ClientAuth], policy: {key: ECDSA-P256, validity: 9h}}
    relyingParties:
    - {name: etcd, members: [node-0], verifies: {usages: [ClientAuth]}, presents: [etcd-peer-node-0], evidence: {kind: acknowledgement}}
    - {name: other, members: [node-1], verifies: {usages: [ClientAuth]}, presents: [etcd-peer-node-1], evidence: {kind: acknowledgement}}
    - {name: clients, members: [kube-apiserver], verifies: {usages: [ServerAuth]}, presents: [etcd-client], evidence: {kind: acknowledgement}}
`

// cluster is an API server. The test does the steps of the controller and of the nodes.
type cluster struct {
	t   *testing.T
	now time.Time
	api *apifake.Server
}

func newCluster(t *testing.T, now time.Time) *cluster {
	t.Helper()
	a := &cluster{t: t, now: now, api: apifake.New(t, testclock.NewFakePassiveClock(now))}
	cfg, err := load.Decode([]byte(etcdConfig))
	a.must(err)
	cfg.Namespace = disktest.Namespace
	a.put(cfg)
	return a
}

func (a *cluster) put(o runtime.Object) {
	a.t.Helper()
	a.must(a.api.Put(o))
}

func (a *cluster) must(err error) {
	a.t.Helper()
	if err != nil {
		a.t.Fatal(err)
	}
}

func (a *cluster) bundle(anchors ...*pki.Certificate) {
	a.put(&corev1.ConfigMap{
		ObjectMeta: disktest.Meta("etcd-ca-bundle"),
		Data:       map[string]string{inventory.BundleKey: string(pki.EncodeCertificates(anchors...))},
	})
}

func (a *cluster) domain() *trust.Domain {
	a.t.Helper()
	n := inventory.Build(sources.Live(a.api, disktest.Namespace))
	if d := n.Domain("etcd"); d != nil {
		return d
	}
	a.t.Fatalf("the configuration is refused: %+v", n.Problems)
	return nil
}

// apply stores the manifests of a recovery, and fails the test if the webhook would refuse one.
func (a *cluster) apply(dir string) {
	a.t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		a.t.Fatal(err)
	}
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			a.t.Fatal(err)
		}
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(text, object); err != nil {
			a.t.Fatal(err)
		}
		before := a.domain()
		if object.GetKind() == "ConfigMap" {
			cm := &corev1.ConfigMap{}
			a.must(yaml.UnmarshalStrict(text, cm))
			a.put(cm)
		} else {
			secret := &corev1.Secret{}
			a.must(yaml.UnmarshalStrict(text, secret))
			a.put(secret)
		}
		for _, v := range trust.Judge(before, a.domain(), a.now) {
			a.t.Errorf("the webhook refuses %s: %s: %s", object.GetName(), v.Invariant, v.Message)
		}
	}
}

// loaded stores a report of every member about what it trusts and presents.
func (a *cluster) loaded(trusts []*pki.Certificate) {
	d := a.domain()
	for _, p := range d.Parties {
		for _, m := range p.Members {
			o := trust.Observation{Instance: m.Name, Kind: p.Kind, ObservedAt: a.now, Expires: a.now.Add(time.Hour)}
			for _, ca := range trusts {
				o.Trusts = append(o.Trusts, ca.Fingerprint)
			}
			for _, name := range m.Holds {
				if at := slices.IndexFunc(d.Leaves, func(l trust.Leaf) bool { return l.Name == name && l.Certificate != nil }); at >= 0 {
					o.Presents = append(o.Presents, d.Leaves[at].Certificate.Fingerprint)
				}
			}
			seen, err := record.OfEvidence(disktest.Namespace, d.Name, p.Name, m.Name, []trust.Observation{o})
			a.must(err)
			a.put(seen)
		}
	}
}

// step performs one action of the controller, and fails the test on an action that must not follow a recovery.
func (a *cluster) step(action *trust.Action) {
	a.t.Helper()
	switch action.Kind {
	case trust.RecordRoster:
		roster, err := record.OfRoster(disktest.Namespace, "etcd", action.Roster)
		a.must(err)
		a.put(roster)
	case trust.PublishAnchors, trust.RetireAnchors:
		a.bundle(action.Anchors...)
	case trust.UpdateLeafAnchors:
		leaf, ok := apifake.Get(a.api, &corev1.Secret{ObjectMeta: disktest.Meta(action.Object)})
		if !ok {
			a.t.Fatalf("there is no Secret %s", action.Object)
		}
		leaf.Data[inventory.AuthorityKey] = pki.EncodeCertificates(action.Anchors...)
		a.put(leaf)
	case trust.IssueLeaf:
		stored, ok := apifake.Get(a.api, &corev1.Secret{ObjectMeta: disktest.Meta("etcd-signer")})
		if !ok {
			a.t.Fatal("there is no Secret etcd-signer")
		}
		signer, err := pki.ParsePair(stored.Data[inventory.ActiveCertKey], stored.Data[inventory.ActiveKeyKey])
		if err != nil {
			a.t.Fatal(err)
		}
		if signer.Certificate.Fingerprint != action.Authority {
			a.t.Fatalf("%s is to be signed by %s, which is not the re-signed CA", action.Object, action.Authority)
		}
		leaf, err := signer.Issue(action.Profile, a.now)
		if err != nil {
			a.t.Fatal(err)
		}
		a.put(disktest.Secret(a.t, action.Object, leaf))
	default:
		a.t.Fatalf("after a recovery the controller wants %s of %s: %s", action.Kind, action.Object, action.Reason)
	}
}

// TestControllerGoesOnFromRecovery applies the output of a recovery to an API server with the expired signer. The
// controller restores the rest with the same key, and never with a new one.
func TestControllerGoesOnFromRecovery(t *testing.T) {
	now := time.Now()
	end := now.Add(-time.Hour)
	ca := disktest.Authority(t, "openshift-etcd_etcd-signer@1", end)
	node := disktest.NewNode(t, "node-0")
	node.Install(7, 7, node.Files(ca, end))
	a := newCluster(t, now)
	a.put(disktest.Secret(t, "etcd-signer", ca))
	for _, leaf := range []string{"etcd-peer-node-0", "etcd-peer-node-1", "etcd-client"} {
		a.put(disktest.Secret(t, leaf, disktest.Leaf(t, ca, leaf, end)))
	}
	a.bundle(ca.Certificate)
	var stored []disktest.Revision
	for _, secret := range apifake.All(a.api, apifake.Live, &corev1.Secret{}, disktest.Namespace) {
		stored = append(stored, disktest.Revision{Key: disktest.Key(secret.Name), Value: disktest.Encode(t, secret)})
	}
	bundle := &corev1.ConfigMap{ObjectMeta: disktest.Meta("etcd-ca-bundle"),
		Data: map[string]string{inventory.BundleKey: string(ca.Certificate.PEM())}}
	bundle.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	stored = append(stored, disktest.Revision{Key: "/registry/configmaps/openshift-etcd/etcd-ca-bundle", Value: disktest.Encode(t, bundle)})
	node.WriteData(stored...)
	a.loaded([]*pki.Certificate{ca.Certificate})

	o := optionsFor(node, now)
	mustRecover(t, o)
	a.apply(filepath.Join(o.OutputDirectory, "manifests"))
	if anchors := a.domain().Bundle.Anchors; len(anchors) != 2 || anchors[0].Expired(now) {
		t.Errorf("%d anchors, want the re-signed one before the expired one", len(anchors))
	}

	var kinds []trust.ActionKind
	for range 20 {
		actions := trust.Assess(a.domain(), a.now).Actions
		actions = slices.DeleteFunc(actions, func(action trust.Action) bool { return action.Kind == trust.RecordMetadata })
		if len(actions) == 0 {
			break
		}
		for i := range actions {
			a.step(&actions[i])
			kinds = append(kinds, actions[i].Kind)
		}
		a.now = a.now.Add(time.Second)
		a.loaded(a.domain().Bundle.Anchors)
	}
	assessed := trust.Assess(a.domain(), a.now)
	if assessed.Stage != trust.Stable || len(assessed.Blockers)+len(assessed.Problems) > 0 {
		t.Errorf("stage %s, blockers %+v, problems %+v after %v", assessed.Stage, assessed.Blockers, assessed.Problems, kinds)
	}
	d := a.domain()
	if len(d.Bundle.Anchors) != 1 || d.Bundle.Anchors[0].PublicKeyHash != ca.Certificate.PublicKeyHash {
		t.Errorf("the bundle holds %d anchors, want the re-signed one", len(d.Bundle.Anchors))
	}
	t.Logf("actions: %v", kinds)
}

func optionsFor(node *disktest.Node, now time.Time) Options {
	return Options{
		Layout:      nodepod.Layout{Name: "etcd", ManifestDirectory: node.Manifests, ResourceDirectory: node.Resources},
		PeerTimeout: time.Minute, EtcdPrefix: "/registry", Namespace: disktest.Namespace, ClientSecrets: []string{"etcd-client"},
		OutputDirectory: filepath.Join(node.Resources, "recovered"), Clock: testclock.NewFakePassiveClock(now),
	}
}

func mustRecover(t *testing.T, o Options) *Plan {
	t.Helper()
	plan, err := New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := plan.Execute(); err != nil {
		t.Fatal(err)
	}
	return plan
}
