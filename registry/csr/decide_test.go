// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package csr

import (
	"crypto/x509"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	certificatesv1 "k8s.io/api/certificates/v1"

	"certrotation.dev/registry/pki"
	"certrotation.dev/test/property"
)

// TestEncodingsAgree: JSON and protobuf decode to the same object.
func TestEncodingsAgree(t *testing.T) {
	object := soundObject(t)
	data, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	fromJSON, err := DecodeObject(data)
	if err != nil {
		t.Fatal(err)
	}
	fromProtobuf, err := DecodeProtobuf(asProtobuf(t, object))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fromJSON, fromProtobuf); diff != "" {
		t.Errorf("(-JSON +protobuf):\n%s", diff)
	}
	if !SameRequest(fromJSON, fromProtobuf) {
		t.Error("the two are not the same request")
	}
}

// TestSameRequest: every field that the client sets distinguishes requests.
func TestSameRequest(t *testing.T) {
	object := soundObject(t)
	for name, edit := range map[string]func(*certificatesv1.CertificateSigningRequest){
		"name":        func(o *certificatesv1.CertificateSigningRequest) { o.Name = "x" },
		"request":     func(o *certificatesv1.CertificateSigningRequest) { o.Spec.Request = []byte("x") },
		"signer":      func(o *certificatesv1.CertificateSigningRequest) { o.Spec.SignerName = "x" },
		"expiration":  func(o *certificatesv1.CertificateSigningRequest) { o.Spec.ExpirationSeconds = new(int32(601)) },
		"no lifetime": func(o *certificatesv1.CertificateSigningRequest) { o.Spec.ExpirationSeconds = nil },
		"usages":      func(o *certificatesv1.CertificateSigningRequest) { o.Spec.Usages = nil },
	} {
		t.Run(name, func(t *testing.T) {
			other := object.DeepCopy()
			edit(other)
			if SameRequest(object, other) {
				t.Error("it is taken for the same request")
			}
		})
	}
	other := object.DeepCopy()
	other.UID, other.Spec.Username, other.Status.Certificate = "x", "y", []byte("z")
	if !SameRequest(object, other) {
		t.Error("what the server sets makes it another request")
	}
}

// TestProfilesDiffer: each profile approves only requests with its own subject.
func TestProfilesDiffer(t *testing.T) {
	for _, asked := range Profiles() {
		for _, subject := range Profiles() {
			t.Run(fmt.Sprintf("%s with the subject of %s", asked, subject), func(t *testing.T) {
				object := soundObject(t)
				object.Spec.SignerName = asked.SignerName()
				object.Spec.Request = sound(t, func(r *x509.CertificateRequest) {
					r.Subject.Organization, r.Subject.CommonName = []string{subject.Organization()}, subject.CommonName("master-0")
				})
				approval, err := policy().Decide(object, bootstrapper())
				if asked != subject {
					if refusal := RefusalOf(err); refusal == nil || refusal.Reason != SubjectNotAllowed {
						t.Errorf("%+v, %v, want a refusal of the subject", approval, err)
					}
					return
				}
				if err != nil || approval.Profile != asked || approval.Authority != asked.Authority() {
					t.Errorf("%+v, %v", approval, err)
				}
			})
		}
	}
}

func TestMetricIsNoClient(t *testing.T) {
	object := soundObject(t)
	object.Spec.SignerName = EtcdMetric.SignerName()
	object.Spec.Usages = []certificatesv1.KeyUsage{certificatesv1.UsageServerAuth, certificatesv1.UsageClientAuth}
	object.Spec.Request = sound(t, func(r *x509.CertificateRequest) {
		r.Subject.Organization, r.Subject.CommonName = []string{EtcdMetric.Organization()}, EtcdMetric.CommonName("master-0")
	})
	_, err := policy().Decide(object, bootstrapper())
	if refusal := RefusalOf(err); refusal == nil || refusal.Reason != UsageNotAllowed {
		t.Errorf("%v, want a refusal of the usage", err)
	}
}

// TestOnlyListedNames draws sets of names. A request is approved if all its names are listed for the node, and
// refused otherwise.
func TestOnlyListedNames(t *testing.T) {
	listed := map[string]bool{"master-0": true, "localhost": true, "etcd.svc": true}
	p := policy()
	p.Nodes.Shared.DNSNames = []string{"localhost"}
	p.Nodes.Nodes[0].DNSNames = []string{"etcd.svc"}
	p.Nodes.Nodes = append(p.Nodes.Nodes, Node{Name: "master-1", Names: Names{DNSNames: []string{"other.svc"}}})
	property.Check(t, func(r *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{
			"master-0", "localhost", "etcd.svc", "master-1", "other.svc", "evil", "*.svc", "MASTER-0", "master-0.", "10.0.0.10",
		}), 1, 6, rapid.ID).Draw(r, "names")
		object := soundObject(t)
		object.Spec.Request = sound(t, func(c *x509.CertificateRequest) { c.DNSNames, c.IPAddresses = names, nil })
		approval, err := p.Decide(object, bootstrapper())
		allowed := true
		for _, name := range names {
			allowed = allowed && listed[name]
		}
		if allowed != (err == nil) {
			r.Fatalf("%v: %+v, %v", names, approval, err)
		}
	})
}

func TestSignNeedsACA(t *testing.T) {
	approval, err := policy().Decide(soundObject(t), bootstrapper())
	if err != nil {
		t.Fatal(err)
	}
	ca, err := pki.NewAuthority(pki.Profile{CommonName: "ca", Key: pki.ECDSAP256, Validity: time.Hour}, testNow())
	if err != nil {
		t.Fatal(err)
	}
	if leaf, err := approval.Sign(ca, testNow().Add(2*time.Hour)); err == nil || RefusalOf(err) != nil {
		t.Errorf("signed by an expired CA: %v, %v", leaf, err)
	}
	leaf, err := approval.Sign(ca, testNow().Add(30*time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	if !leaf.NotAfter.Equal(ca.Certificate.NotAfter) || leaf.PublicKeyHash != approval.PublicKeyHash() {
		t.Errorf("the leaf ends at %s, the CA at %s", leaf.NotAfter, ca.Certificate.NotAfter)
	}
}

func TestParseNodes(t *testing.T) {
	nodes, err := ParseNodes([]byte("shared: {dnsNames: [localhost]}\nnodes:\n- name: a\n  dnsNames: [a.example]\n  ipAddresses: [\"fd00::1\"]\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := &Nodes{
		Shared: Names{DNSNames: []string{"localhost"}},
		Nodes:  []Node{{Name: "a", Names: Names{DNSNames: []string{"a.example"}, IPAddresses: []string{"fd00::1"}}}},
	}
	if diff := cmp.Diff(want, nodes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for name, data := range map[string]string{
		"unknown field": "nodes: [{name: a, addresses: [x]}]", "no YAML": "{", "too large": strings.Repeat("#", MaxNodesBytes+1),
	} {
		if nodes, err := ParseNodes([]byte(data)); err == nil {
			t.Errorf("%s: %+v", name, nodes)
		}
	}
}

func TestValidateNodes(t *testing.T) {
	for name, tc := range map[string]struct {
		nodes Nodes
		want  string
	}{
		"none":         {Nodes{}, "no node is configured"},
		"wildcard":     {Nodes{Nodes: []Node{{Name: "a", Names: Names{DNSNames: []string{"*.x"}}}}}, `"*.x"`},
		"empty name":   {Nodes{Nodes: []Node{{}}}, `node ""`},
		"no address":   {Nodes{Nodes: []Node{{Name: "a", Names: Names{IPAddresses: []string{"x"}}}}}, `"x" is not usable as the IP address`},
		"unspecified":  {Nodes{Nodes: []Node{{Name: "a"}}, Shared: Names{IPAddresses: []string{"::"}}}, `shared names: "::"`},
		"with a zone":  {Nodes{Nodes: []Node{{Name: "a", Names: Names{IPAddresses: []string{"fe80::1%eth0"}}}}}, "eth0"},
		"listed twice": {Nodes{Nodes: []Node{{Name: "a"}, {Name: "a"}}}, "configured twice"},
	} {
		if err := tc.nodes.Validate(); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want an error with %q", name, err, tc.want)
		}
	}
}
