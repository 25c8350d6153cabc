// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package verifiers

import (
	"crypto"
	"crypto/x509"
	"math/big"
	"slices"
	"time"
)

// role of a certificate in a PKI.
type role int

const (
	// issuer of the leaf.
	issuer role = iota
	// intermediate is the certificate of the issuer's key that the root has signed: the issuer or a cross certificate.
	intermediate
	// root above the issuer.
	root
	// top is the anchor that a program is expected to have: the issuer if it has signed itself, else the root.
	top
)

// chosen returns the certificates that there are, in the order of their roles.
func chosen(made map[role]*x509.Certificate, roles []role) []*x509.Certificate {
	var out []*x509.Certificate
	for _, r := range roles {
		if made[r] != nil {
			out = append(out, made[r])
		}
	}
	return out
}

var rootKey = []byte{5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5}

// chains are what is above the issuer.
func chains(*draft) []shape {
	above := func(d *draft) { d.root = authority(d.at, 6, "Root of all", rootKey) }
	return []shape{
		{},
		{"an intermediate", above},
		{"a cross certificate", func(d *draft) { above(d); d.crossed = true }},
	}
}

// dates are when certificates are valid.
func dates(d *draft) []shape {
	expired := func(c *x509.Certificate, at time.Time) {
		c.NotBefore, c.NotAfter = at.Add(-48*time.Hour), at.Add(-24*time.Hour)
	}
	out := []shape{
		{},
		{"an expired issuer", func(d *draft) { expired(d.issuer, d.at) }},
		{"an issuer that is not valid yet", func(d *draft) { d.issuer.NotBefore = d.at.Add(time.Hour) }},
		{"an expired leaf", func(d *draft) { expired(d.leaf, d.at) }},
		{"a leaf that is not valid yet", func(d *draft) { d.leaf.NotBefore, d.leaf.NotAfter = d.at.Add(time.Hour), d.at.Add(2*time.Hour) }},
	}
	if d.root != nil {
		out = append(out, shape{"an expired root", func(d *draft) { expired(d.root, d.at) }})
	}
	return out
}

// presentations are what the peer sends after its leaf.
func presentations(d *draft) []shape {
	sent := func(name string, roles ...role) shape { return shape{name, func(d *draft) { d.presented = roles }} }
	out := []shape{{}, sent("presented with the anchor", intermediate, top)}
	if d.root != nil {
		out = append(out, sent("presented alone"), sent("presented in another order", root, intermediate))
	}
	return out
}

// files are what the file of anchors holds.
func files(d *draft) []shape {
	has := func(name string, roles ...role) shape { return shape{name, func(d *draft) { d.file = roles }} }
	out := []shape{{}, has("anchor: twice in the file", top, top)}
	if d.root == nil {
		return out
	}
	out = append(out,
		has("anchor: intermediate", intermediate), has("anchors: root, intermediate", root, intermediate),
		has("anchors: intermediate, root", intermediate, root))
	if d.crossed {
		out = append(out, has("anchor: former root", root), has("anchors: former root, issuer", root, issuer), has("anchors: issuer, former root", issuer, root))
	}
	return out
}

// others are anchors that do not matter, at both ends of the file.
func others(*draft) []shape {
	out := []shape{{}}
	for _, o := range []struct {
		name string
		// change makes the template of the anchor another one. twin keeps its key.
		change func(ca *x509.Certificate, at time.Time)
		twin   bool
	}{
		{name: "an unrelated anchor", change: func(ca *x509.Certificate, _ time.Time) {
			ca.RawSubject, ca.SubjectKeyId = nameOf(12, "Signer of mail"), another
		}},
		{name: "an anchor of the same name", change: func(ca *x509.Certificate, _ time.Time) { ca.SubjectKeyId = strange }},
		{name: "an expired anchor of the same name", change: func(ca *x509.Certificate, at time.Time) {
			ca.SubjectKeyId, ca.NotAfter = strange, at.Add(-time.Minute)
		}},
		{name: "an anchor of the same name, without identifier", change: func(ca *x509.Certificate, _ time.Time) { ca.SubjectKeyId = nil }},
		{name: "a twin", change: func(*x509.Certificate, time.Time) {}, twin: true},
		{name: "a twin with another identifier", change: func(ca *x509.Certificate, _ time.Time) { ca.SubjectKeyId = strange }, twin: true},
		{name: "a twin without identifier", change: func(ca *x509.Certificate, _ time.Time) { ca.SubjectKeyId = nil }, twin: true},
		{name: "an expired twin", change: func(ca *x509.Certificate, at time.Time) { ca.NotAfter = at.Add(-time.Minute) }, twin: true},
		{name: "a twin that is not valid yet", change: func(ca *x509.Certificate, at time.Time) { ca.NotBefore = at.Add(time.Hour) }, twin: true},
		{name: "a twin that ends later", change: func(ca *x509.Certificate, at time.Time) { ca.NotAfter = at.Add(48 * time.Hour) }, twin: true},
	} {
		for _, first := range []bool{true, false} {
			place := map[bool]string{true: " first", false: " last"}[first]
			out = append(out, shape{o.name + place, func(d *draft) {
				d.others = func(m *maker, d *draft, file []*x509.Certificate) ([]*x509.Certificate, error) {
					other, err := m.other(d, o.change, o.twin)
					if err != nil {
						return nil, err
					}
					if first {
						return append([]*x509.Certificate{other}, file...), nil
					}
					return append(slices.Clone(file), other), nil
				}
			}})
		}
	}
	return out
}

var strange = []byte{9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9}

// other makes an anchor that resembles the top one.
func (m *maker) other(d *draft, change func(*x509.Certificate, time.Time), twin bool) (*x509.Certificate, error) {
	ca, key := *d.issuer, d.key
	if d.root != nil && !d.crossed {
		ca, key = *d.root, m.root
	}
	ca.SerialNumber = big.NewInt(17)
	change(&ca, d.at)
	if !twin {
		key = m.stranger
	}
	return certify(&ca, &ca, key.(interface{ Public() crypto.PublicKey }).Public(), key)
}
