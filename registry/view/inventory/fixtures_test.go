// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/record"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

const testNamespace = "demo"

var testTime = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// webConfig has a domain with every kind of expansion.
const webConfig = `
trustDomains:
- name: web
  stageDeadline: 30m
  verifiers: [Go, OpenSSL]
  unlistedLeaves: {drain: 10m}
  signer:
    secretName: web-signer
  bundle:
    configMapName: web-bundle
  leaves:
  - secretName: web-client
    commonName: web-client
    organizations: [system:web]
    usages: [ClientAuth]
  - secretName: web-serving-{node}
    forEachNode: {matchLabels: {role: web}}
    dnsNames: [web.svc]
    nodeAddresses: true
    usages: [ServerAuth]
  relyingParties:
  - name: servers
    forEachNode: {matchLabels: {role: web}}
    verifies: {usages: [ClientAuth]}
    presents: ["web-serving-{node}"]
    evidence:
      kind: tlsProbe
      tlsProbe: {endpoints: [{address: "{node}:8443"}], serverName: web.svc, clientLeaf: web-client}
  - name: clients
    reporters: {serviceAccounts: ["web-{member}"], groups: [web-operators]}
    members: [a, b]
    verifies: {leaves: ["web-serving-{node}"]}
    presents: [web-client]
    evidence: {kind: acknowledgement}
aggregate:
  secretName: all-certs
  leaves: ["web-serving-{node}"]
  configMapName: all-bundles
  bundles: [{key: web.crt, configMapName: web-bundle}]
`

func authority(t *testing.T, name string) *pki.Pair {
	t.Helper()
	ca, err := pki.NewAuthority(pki.Profile{CommonName: name, Key: pki.ECDSAP256, Validity: time.Hour}, testTime)
	if err != nil {
		t.Fatal(err)
	}
	return ca
}

func issue(t *testing.T, ca *pki.Pair, name string) *pki.Pair {
	t.Helper()
	leaf, err := ca.Issue(pki.Profile{
		CommonName: name, DNSNames: []string{name + ".old"}, IPAddresses: []string{"10.9.9.9"},
		Usages: []pki.Usage{pki.ServerAuth}, Key: pki.ECDSAP256, Validity: time.Hour,
	}, testTime)
	if err != nil {
		t.Fatal(err)
	}
	return leaf
}

func keyPEM(t *testing.T, pair *pki.Pair) []byte {
	t.Helper()
	key, err := pair.KeyPEM()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func objectMeta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: testNamespace, Name: name, UID: types.UID("uid-" + name), ResourceVersion: "7",
		CreationTimestamp: metav1.NewTime(testTime),
		Annotations:       map[string]string{trust.AnnotationIssuer: "x", trust.AnnotationConfiguration: "config", "kubectl.kubernetes.io/last-applied-configuration": "y"},
		Labels:            map[string]string{trust.LabelTrustDomain: "web", "app": "z"},
	}
}

func tlsSecret(name string, data map[string][]byte) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: objectMeta(name), Type: corev1.SecretTypeTLS, Data: data}
}

func pairSecret(t *testing.T, name string, pair *pki.Pair) *corev1.Secret {
	t.Helper()
	data := map[string][]byte{inventory.ActiveCertKey: pair.CertPEM(), inventory.ActiveKeyKey: keyPEM(t, pair)}
	if len(pair.Chain) > 0 {
		data[inventory.AuthorityKey] = pki.EncodeCertificates(pair.Chain...)
	}
	return tlsSecret(name, data)
}

func opaqueSecret(name string, data map[string][]byte) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: objectMeta(name), Type: corev1.SecretTypeOpaque, Data: data}
}

// adoptedBy makes an object consent to another configuration than the usual one.
func adoptedBy[T metav1.Object](configuration string, object T) T {
	annotations := maps.Clone(object.GetAnnotations())
	annotations[trust.AnnotationConfiguration] = configuration
	object.SetAnnotations(annotations)
	return object
}

// theirs removes the consent of an object.
func theirs[T metav1.Object](object T) T {
	annotations := maps.Clone(object.GetAnnotations())
	delete(annotations, trust.AnnotationConfiguration)
	object.SetAnnotations(annotations)
	return object
}

func configMap(name string, data map[string]string, labels ...string) *corev1.ConfigMap {
	cm := &corev1.ConfigMap{ObjectMeta: objectMeta(name), Data: data}
	for _, label := range labels {
		cm.Labels[label] = "true"
	}
	return cm
}

func bundle(name string, anchors ...*pki.Certificate) *corev1.ConfigMap {
	return configMap(name, map[string]string{inventory.BundleKey: string(pki.EncodeCertificates(anchors...))})
}

// configuration returns one whose spec is parsed from YAML.
func configuration(name, text string) *configv1alpha1.RotationConfiguration {
	out := &configv1alpha1.RotationConfiguration{ObjectMeta: objectMeta(name)}
	if err := yaml.UnmarshalStrict([]byte(text), &out.Spec); err != nil {
		panic(fmt.Sprintf("%s: %v", name, err))
	}
	return out
}

// evidenceOf returns the evidence record of a member.
func evidenceOf(domain, party, member string, observations ...trust.Observation) *configv1alpha1.RotationRecord {
	out, err := record.OfEvidence(testNamespace, domain, party, member, observations)
	if err != nil {
		panic(err)
	}
	return stored(out)
}

// stored sets what the API server sets on a record.
func stored(r *configv1alpha1.RotationRecord) *configv1alpha1.RotationRecord {
	r.UID, r.ResourceVersion = types.UID("uid-"+r.Name), "7"
	return r
}

// malformed returns a record that cannot be decoded.
func malformed(name, domain string, kind configv1alpha1.RecordKind) *configv1alpha1.RotationRecord {
	return &configv1alpha1.RotationRecord{
		ObjectMeta: objectMeta(name), Spec: configv1alpha1.RotationRecordSpec{TrustDomain: domain, Kind: kind},
	}
}

// report returns an acknowledgement of a process.
func report(instance string, trusts ...pki.Fingerprint) trust.Observation {
	return trust.Observation{
		Instance: instance, Kind: trust.Acknowledgement, Trusts: trusts, ObservedAt: testTime, Expires: testTime.Add(time.Hour),
	}
}

func node(name string, addresses ...string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: name, UID: types.UID("uid-" + name), ResourceVersion: "7", Labels: map[string]string{"role": "web"},
	}}
	for _, address := range addresses {
		n.Status.Addresses = append(n.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: address})
	}
	return n
}

func managedNamespace(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: name, UID: types.UID("uid-" + name), ResourceVersion: "7", Labels: map[string]string{trust.LabelManaged: trust.ManagedValue},
	}}
}

// sources parses objects as the informers do.
func sources(t *testing.T, objects ...any) *inventory.Sources {
	t.Helper()
	s := &inventory.Sources{Namespace: testNamespace, Nodes: map[string]*inventory.Node{}}
	for _, object := range objects {
		switch o := object.(type) {
		case *corev1.Secret:
			s = s.WithSecret(o.Name, o)
		case *corev1.ConfigMap:
			s = s.WithConfigMap(o.Name, o)
		case *configv1alpha1.RotationConfiguration:
			s = s.WithConfiguration(o.Name, o)
		case *configv1alpha1.RotationRecord:
			s = s.WithRecord(o.Name, o)
		case *corev1.Node:
			s.Nodes[o.Name] = inventory.ParseNode(o)
		default:
			t.Fatalf("%T is no source", object)
		}
	}
	return s
}

// describe renders problems as "OBJECT REASON: MESSAGE" lines.
func describe(problems ...*trust.Problem) string {
	var lines []string
	for _, p := range problems {
		if p != nil {
			lines = append(lines, p.Object+" "+string(p.Reason)+": "+p.Message)
		}
	}
	return strings.Join(lines, "\n")
}

// allProblems renders all problems of a namespace, in a fixed order.
func allProblems(n *inventory.Namespace) string {
	var all []*trust.Problem
	for i := range n.Problems {
		all = append(all, &n.Problems[i])
	}
	for _, d := range n.Domains {
		all = append(all, d.Signer.Problem, d.Bundle.Problem)
		for _, l := range d.Leaves {
			all = append(all, l.Problem)
		}
		for i := range d.Problems {
			all = append(all, &d.Problems[i])
		}
	}
	for _, a := range n.Aggregates {
		all = append(all, a.Secret.Problem, a.ConfigMap.Problem)
	}
	return describe(all...)
}
