// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package verifiers

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/asn1"
	"fmt"
	"math/big"
	mathrand "math/rand/v2"
	"slices"
	"time"

	"certrotation.dev/registry/pki"
)

// PKI is a leaf, its issuer or an authority that resembles it, and how a program meets them.
type PKI struct {
	Issuer, Leaf *x509.Certificate
	// File holds the anchors in their order, Presented what a peer sends after the leaf.
	File, Presented []*x509.Certificate
	// Shape names what is unusual about it.
	Shape []string
}

// Parsed returns issuer and leaf as registry/pki reads them.
func (p *PKI) Parsed() (issuer, leaf *pki.Certificate, err error) {
	if issuer, err = pki.ParseCertificate(p.Issuer.Raw); err != nil {
		return nil, nil, err
	}
	leaf, err = pki.ParseCertificate(p.Leaf.Raw)
	return issuer, leaf, err
}

// maker makes PKIs that are valid at a time, from keys that it makes once: one that signs leaves for each algorithm, and
// those of the root above, of strangers, and of the leaf.
type maker struct {
	rand                 *mathrand.Rand
	at                   time.Time
	signers              []crypto.Signer
	root, stranger, leaf crypto.Signer
}

func newMaker(random *mathrand.Rand, at time.Time) (*maker, error) {
	prime, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	var curves []crypto.Signer
	for range 4 {
		curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return nil, err
		}
		curves = append(curves, curve)
	}
	return &maker{
		rand: random, at: at, signers: []crypto.Signer{curves[0], prime, edwards}, root: curves[1], stranger: curves[2], leaf: curves[3],
	}, nil
}

// shape is one choice: its name, "" if it is what everybody does, and what it does, nil for nothing.
type shape struct {
	name string
	do   func(*draft)
}

// Shaped makes a PKI with these shapes, and nothing else that is unusual. It is valid at a time.
func Shaped(at time.Time, names ...string) (*PKI, error) {
	m, err := newMaker(nil, at)
	if err != nil {
		return nil, err
	}
	return m.make(func(shapes []shape) shape {
		for _, s := range shapes {
			if slices.Contains(names, s.name) {
				return s
			}
		}
		return shapes[0]
	})
}

// random takes the first shape in most cases, and else another one.
func (m *maker) random(shapes []shape) shape {
	if m.rand.IntN(3) > 0 {
		return shapes[0]
	}
	return shapes[m.rand.IntN(len(shapes))]
}

// draft is what a PKI is made of.
type draft struct {
	at  time.Time
	key crypto.Signer
	// name is the raw name of the issuer in the leaf, nil for the subject of the issuer.
	name []byte
	// authorityKey is the authority key identifier of the leaf, nil for none. serial is with the serial number of the
	// issuer, in a form of RFC 5280.
	authorityKey []byte
	serial       *big.Int
	sha1         bool
	issuer, leaf *x509.Certificate
	// root is nil if there is only the issuer, which has signed itself. It has signed the issuer, or, if crossed,
	// another certificate of its key and name.
	root    *x509.Certificate
	crossed bool
	// presented and file choose certificates, others adds to the file.
	presented, file []role
	others          func(m *maker, d *draft, file []*x509.Certificate) ([]*x509.Certificate, error)
}

var (
	own     = []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20}
	another = []byte{20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1}
)

// make makes a PKI with one shape of each kind.
func (m *maker) make(choose func([]shape) shape) (*PKI, error) {
	p, d := &PKI{}, m.draft()
	for _, kind := range []func(*draft) []shape{
		m.algorithms, identifiers, issuers, names, usages, chains, ofIssuer, ofRoot, dates, presentations, files, others,
	} {
		if s := choose(kind(d)); s.do != nil {
			s.do(d)
			p.Shape = append(p.Shape, s.name)
		}
	}
	if err := m.sign(p, d); err != nil {
		return nil, fmt.Errorf("make a PKI with %q: %w", p.Shape, err)
	}
	return p, nil
}

// draft returns what everybody does.
func (m *maker) draft() *draft {
	return &draft{
		at: m.at, key: m.signers[0], authorityKey: own, issuer: authority(m.at, 7, "Signer of web", own),
		leaf: &x509.Certificate{
			SerialNumber: big.NewInt(8), NotBefore: m.at.Add(-time.Minute), NotAfter: m.at.Add(time.Hour), RawSubject: nameOf(asn1.TagUTF8String, "web"),
			KeyUsage: x509.KeyUsageDigitalSignature, DNSNames: []string{"web.shop.svc"}, BasicConstraintsValid: true,
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		},
		presented: []role{intermediate}, file: []role{top},
	}
}

// authority is the template of an authority.
func authority(at time.Time, serial int64, name string, key []byte) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(serial), NotBefore: at.Add(-time.Hour), NotAfter: at.Add(24 * time.Hour), SubjectKeyId: key,
		RawSubject: nameOf(asn1.TagUTF8String, name), BasicConstraintsValid: true, IsCA: true, KeyUsage: x509.KeyUsageCertSign,
	}
}

// sign makes the certificates.
func (m *maker) sign(p *PKI, d *draft) (err error) {
	made := map[role]*x509.Certificate{}
	if d.root != nil {
		if made[root], err = certify(d.root, d.root, m.root.Public(), m.root); err != nil {
			return err
		}
		if made[intermediate], err = certify(d.issuer, made[root], d.key.Public(), m.root); err != nil {
			return err
		}
		made[issuer], made[top] = made[intermediate], made[root]
	}
	if d.root == nil || d.crossed {
		if made[issuer], err = certify(d.issuer, d.issuer, d.key.Public(), d.key); err != nil {
			return err
		}
		made[top] = made[issuer]
	}
	p.Issuer = made[issuer]
	if p.Leaf, err = d.signLeaf(p.Issuer, m.leaf); err != nil {
		return err
	}
	p.Presented, p.File = chosen(made, d.presented), chosen(made, d.file)
	if d.others != nil {
		p.File, err = d.others(m, d, p.File)
	}
	return err
}

// signLeaf signs the leaf with the key of the issuer.
func (d *draft) signLeaf(by *x509.Certificate, leafKey crypto.Signer) (*x509.Certificate, error) {
	parent := *by
	parent.SubjectKeyId, d.leaf.AuthorityKeyId = nil, nil
	if d.name != nil {
		parent.RawSubject = d.name
	}
	if d.authorityKey != nil || d.serial != nil {
		above := parent.RawSubject
		if !bytes.Equal(by.RawSubject, by.RawIssuer) {
			above = by.RawIssuer
		}
		d.leaf.ExtraExtensions = append(d.leaf.ExtraExtensions, identifierExtension(d.authorityKey, d.serial, above))
	}
	der, err := x509.CreateCertificate(rand.Reader, d.leaf, &parent, leafKey.Public(), d.key)
	if err != nil {
		return nil, err
	}
	if d.sha1 {
		if der, err = withSHA1(der, d.key); err != nil {
			return nil, err
		}
	}
	return x509.ParseCertificate(der)
}

// certify makes the certificate of an authority.
func certify(template, parent *x509.Certificate, key crypto.PublicKey, by crypto.Signer) (*x509.Certificate, error) {
	ca := *template
	// crypto/x509 gives every authority an identifier unless one is set.
	if ca.SubjectKeyId == nil {
		ca.ExtraExtensions = append(slices.Clone(ca.ExtraExtensions), constraintsExtension())
		ca.BasicConstraintsValid, ca.IsCA = false, false
	}
	der, err := x509.CreateCertificate(rand.Reader, &ca, parent, key, by)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}
