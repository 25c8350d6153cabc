// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package csr

import (
	"slices"
	"strings"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"

	"certrotation.dev/registry/pki"
)

// backdate is how far certificates start before now, for verifiers whose clocks are behind.
const backdate = 5 * time.Minute

// Policy is the configuration of Decide.
type Policy struct {
	Nodes *Nodes
	// Validity by profile: the default, and the maximum that a request can have.
	Validity map[Profile]time.Duration
}

// Approval is a request that will be signed.
type Approval struct {
	Profile   Profile
	Node      string
	Authority Authority
	request   *Request
	leaf      pki.Profile
}

// Decide returns an approval, or a refusal.
func (p Policy) Decide(object *certificatesv1.CertificateSigningRequest, requester Requester) (*Approval, error) {
	terms, err := profileOf(object.Spec.SignerName)
	if err != nil {
		return nil, err
	}
	request, err := parseRequest(object.Spec.Request)
	if err != nil {
		return nil, err
	}
	name, err := terms.nodeOf(request)
	if err != nil {
		return nil, err
	}
	node, err := p.Nodes.node(name)
	if err != nil {
		return nil, err
	}
	if err := requester.mayAskFor(node.Name); err != nil {
		return nil, err
	}
	if err := p.Nodes.check(node, request.DNSNames, request.IPAddresses); err != nil {
		return nil, err
	}
	usages, err := terms.usagesOf(object.Spec.Usages)
	if err != nil {
		return nil, err
	}
	return &Approval{
		Profile: terms.profile, Node: node.Name, Authority: terms.authority, request: request,
		leaf: pki.Profile{
			CommonName:    request.CommonName,
			Organizations: []string{request.Organization},
			DNSNames:      request.DNSNames,
			IPAddresses:   request.addressTexts(),
			Usages:        usages,
			Validity:      p.validity(terms.profile, object.Spec.ExpirationSeconds),
			Backdate:      backdate,
		},
	}, nil
}

// nodeOf returns the node at the end of the common name. Organization and prefix of the common name must match the
// signer name.
func (t terms) nodeOf(request *Request) (string, error) {
	if request.Organization != t.organization {
		return "", refuse(SubjectNotAllowed, "the organization of the subject is %s; for the signer %s it must be %q",
			quote(request.Organization), t.signerName, t.organization)
	}
	if len(request.CommonName) <= len(t.prefix) || request.CommonName[:len(t.prefix)] != t.prefix {
		return "", refuse(SubjectNotAllowed, "the common name of the subject is %s; for the signer %s it must be %qNODE",
			quote(request.CommonName), t.signerName, t.prefix)
	}
	return request.CommonName[len(t.prefix):], nil
}

func (p Policy) validity(profile Profile, seconds *int32) time.Duration {
	most := p.Validity[profile]
	if seconds == nil {
		return most
	}
	return min(most, time.Duration(*seconds)*time.Second)
}

func (r *Request) addressTexts() []string {
	var out []string
	for _, address := range r.IPAddresses {
		out = append(out, address.String())
	}
	return out
}

// Sign issues the certificate, which never outlives the CA. An error means that the CA cannot sign; it is not a
// refusal.
func (a *Approval) Sign(ca *pki.Pair, now time.Time) (*pki.Certificate, error) {
	return ca.Certify(a.leaf, a.request.PublicKey, now)
}

// PublicKeyHash is the hash of the certificate's key, in the form of pki.Certificate.PublicKeyHash.
func (a *Approval) PublicKeyHash() string { return a.request.PublicKeyHash }

// GroupBootstrappers is the group whose members may ask for every configured node. Holders of bootstrap tokens are in
// it.
const GroupBootstrappers = "system:bootstrappers"

const (
	groupNodes = "system:nodes"
	nodePrefix = "system:node:"
)

// Requester is the authenticated sender of a request.
type Requester struct {
	Name   string
	Groups []string
}

// mayAskFor refuses a requester unless it is a bootstrapper, who may ask for every node, or the node itself. A node
// proves itself by the client certificate of its kubelet.
func (r Requester) mayAskFor(node string) error {
	if slices.Contains(r.Groups, GroupBootstrappers) {
		return nil
	}
	if slices.Contains(r.Groups, groupNodes) && strings.HasPrefix(r.Name, nodePrefix) {
		if r.Name == nodePrefix+node {
			return nil
		}
		return refuse(RequesterNotAllowed, "%s requests a certificate for node %s; a node may request one for itself only", quote(r.Name), node)
	}
	return refuse(RequesterNotAllowed, "%s is neither in the group %s nor a node in the group %s", quote(r.Name), GroupBootstrappers, groupNodes)
}
