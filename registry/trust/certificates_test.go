// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"time"

	"certrotation.dev/registry/pki"
)

func (w *world) party(name string) *Party {
	for i := range w.d.Parties {
		if w.d.Parties[i].Name == name {
			return &w.d.Parties[i]
		}
	}
	w.t.Fatalf("no party %q", name)
	return nil
}

// twin returns a CA with the subject of ca and another key.
func twin(w *world, ca *pki.Certificate) *pki.Certificate {
	p := w.d.Signer.Policy.Profile
	p.CommonName = ca.CommonName
	pair, err := pki.NewAuthority(p, w.now)
	if err != nil {
		w.t.Fatal(err)
	}
	w.keys[pair.Certificate.Fingerprint] = pair
	return pair.Certificate
}

// resigned returns ca with a longer validity, under the same name and key.
func resigned(w *world, ca *pki.Certificate) *pki.Certificate {
	return w.raw(ca, func(c *x509.Certificate) { c.NotAfter = c.NotAfter.Add(time.Hour) }, nil)
}

// foreign returns a CA that is no generation of the signer.
func foreign(w *world) *pki.Certificate {
	p := w.d.Signer.Policy.Profile
	p.CommonName = "somebody else"
	pair, err := pki.NewAuthority(p, w.now)
	if err != nil {
		w.t.Fatal(err)
	}
	w.keys[pair.Certificate.Fingerprint] = pair
	return pair.Certificate
}

// forClientsOnly returns a CA whose extended key usages exclude servers.
func forClientsOnly(w *world) *pki.Certificate {
	return w.raw(foreign(w), func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} }, nil)
}

// signedLeaf issues a leaf as pki does, with that CA.
func signedLeaf(w *world, name string, ca *pki.Certificate) *pki.Certificate {
	return signedLeafAt(w, name, ca, w.now)
}

func signedLeafAt(w *world, name string, ca *pki.Certificate, at time.Time) *pki.Certificate {
	pair, err := w.keys[ca.Fingerprint].Issue(w.leaf(name).Policy.Profile, at)
	if err != nil {
		w.t.Fatal(err)
	}
	return pair.Certificate
}

// raw returns a changed copy of a certificate that pki would refuse to make. It is signed with the key of ca, or
// self-signed if ca is nil.
func (w *world) raw(c *pki.Certificate, change func(*x509.Certificate), ca *pki.Certificate) *pki.Certificate {
	template, err := x509.ParseCertificate(c.DER())
	if err != nil {
		w.t.Fatal(err)
	}
	signer, parent := c, template
	if ca != nil {
		signer = ca
		if parent, err = x509.ParseCertificate(ca.DER()); err != nil {
			w.t.Fatal(err)
		}
	}
	public := template.PublicKey
	change(template)
	template.SerialNumber = new(big.Int).Add(template.SerialNumber, big.NewInt(1))
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, w.key(signer))
	if err != nil {
		w.t.Fatal(err)
	}
	made, err := pki.ParseCertificate(der)
	if err != nil {
		w.t.Fatal(err)
	}
	return made
}

func (w *world) key(ca *pki.Certificate) crypto.Signer {
	text, err := w.keys[ca.Fingerprint].KeyPEM()
	if err != nil {
		w.t.Fatal(err)
	}
	block, _ := pem.Decode(text)
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		w.t.Fatal(err)
	}
	return key.(crypto.Signer)
}
