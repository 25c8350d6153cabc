// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package csr

import (
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"

	"certrotation.dev/registry/pki"
)

// Profile is a kind of certificate that the bootstrap signer issues.
type Profile string

// The profiles.
const (
	// EtcdPeer is the certificate that etcd members present to each other, as servers and as clients.
	EtcdPeer Profile = "EtcdPeer"
	// EtcdServer is the certificate that a member presents to its clients. It is a client certificate too, because
	// the member's HTTP gateway dials the member itself with it.
	EtcdServer Profile = "EtcdServer"
	// EtcdMetric is the certificate of a member's metrics endpoint, signed by a CA of its own.
	EtcdMetric Profile = "EtcdMetric"
)

// Authority names the CA that signs.
type Authority string

// The authorities.
const (
	EtcdAuthority   Authority = "etcd"
	MetricAuthority Authority = "metric"
)

// terms are the fixed properties of a profile.
type terms struct {
	profile      Profile
	signerName   string
	organization string
	prefix       string
	authority    Authority
	usages       []pki.Usage
}

func allTerms() []terms {
	both := []pki.Usage{pki.ServerAuth, pki.ClientAuth}
	return []terms{
		{EtcdPeer, "certrotation.dev/etcd-peer", "system:etcd-peers", "system:etcd-peer:", EtcdAuthority, both},
		{EtcdServer, "certrotation.dev/etcd-server", "system:etcd-servers", "system:etcd-server:", EtcdAuthority, both},
		{EtcdMetric, "certrotation.dev/etcd-metric", "system:etcd-metrics", "system:etcd-metric:", MetricAuthority, both[:1]},
	}
}

// Profiles lists all profiles.
func Profiles() []Profile { return []Profile{EtcdPeer, EtcdServer, EtcdMetric} }

// SignerName is the spec.signerName of the profile, "" if there is no such profile.
func (p Profile) SignerName() string { return p.terms().signerName }

// Organization is the only organization of a subject of the profile.
func (p Profile) Organization() string { return p.terms().organization }

// CommonName is the common name of a node's certificate.
func (p Profile) CommonName(node string) string { return p.terms().prefix + node }

// Authority is the CA of the profile.
func (p Profile) Authority() Authority { return p.terms().authority }

func (p Profile) terms() terms {
	for _, t := range allTerms() {
		if t.profile == p {
			return t
		}
	}
	return terms{}
}

func profileOf(signerName string) (terms, error) {
	var known []string
	for _, t := range allTerms() {
		if t.signerName == signerName {
			return t, nil
		}
		known = append(known, t.signerName)
	}
	if signerName == "" {
		return terms{}, refuse(InvalidObject, "spec.signerName is required: one of %s", strings.Join(known, ", "))
	}
	return terms{}, refuse(UnknownSignerName, "spec.signerName is %s; this signer knows %s", quote(signerName), strings.Join(known, ", "))
}

// usagesOf checks the requested usages against the profile. Usages that were not requested are not granted.
func (t terms) usagesOf(asked []certificatesv1.KeyUsage) ([]pki.Usage, error) {
	var usages []pki.Usage
	for i, usage := range asked {
		if slices.Contains(asked[:i], usage) {
			return nil, refuse(InvalidObject, "spec.usages has %s twice", quote(string(usage)))
		}
		switch usage {
		// Every certificate may sign handshakes. Key encipherment is for RSA only; the kind of key decides whether
		// the certificate gets it.
		case certificatesv1.UsageDigitalSignature, certificatesv1.UsageKeyEncipherment:
			continue
		case certificatesv1.UsageServerAuth:
			usages = append(usages, pki.ServerAuth)
		case certificatesv1.UsageClientAuth:
			usages = append(usages, pki.ClientAuth)
		default:
			return nil, t.refuseUsage(usage)
		}
		if !slices.Contains(t.usages, usages[len(usages)-1]) {
			return nil, t.refuseUsage(usage)
		}
	}
	if !slices.Contains(usages, pki.ServerAuth) {
		return nil, refuse(UsageNotAllowed, "spec.usages of a certificate of the profile %s must have %q", t.profile, certificatesv1.UsageServerAuth)
	}
	return usages, nil
}

func (t terms) refuseUsage(usage certificatesv1.KeyUsage) error {
	allowed := []string{string(certificatesv1.UsageDigitalSignature), string(certificatesv1.UsageKeyEncipherment), string(certificatesv1.UsageServerAuth)}
	if slices.Contains(t.usages, pki.ClientAuth) {
		allowed = append(allowed, string(certificatesv1.UsageClientAuth))
	}
	return refuse(UsageNotAllowed, "spec.usages has %s; the profile %s allows %s", quote(string(usage)), t.profile, strings.Join(allowed, ", "))
}
