// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"slices"
	"time"

	"certrotation.dev/registry/pki"
)

// deliveries are what the issuer delivers, the CA first.
func (d *Domain) deliveries() []*Issued {
	out := make([]*Issued, 0, 1+len(d.Leaves))
	out = append(out, d.Signer.Issued)
	for i := range d.Leaves {
		out = append(out, d.Leaves[i].Issued)
	}
	return slices.DeleteFunc(out, func(i *Issued) bool { return i == nil })
}

func (i *Issued) settledAt() time.Time { return i.Certificate.NotBefore.Add(i.Settles) }

// issuerSignsWith reports whether the issuer signs with a CA now.
func (a *facts) issuerSignsWith(ca *pki.Certificate) bool {
	s := &a.d.Signer
	if s.Issued == nil {
		return same(ca, s.Active)
	}
	return same(ca, s.Issued.Certificate)
}

// takeable reports whether the CA of the issuer can become that of the signer.
func (a *facts) takeable() bool {
	ca := a.d.Signer.Issued.Certificate
	return ca != nil && ca.IsCA && ca.ValidAt(a.now)
}

// replacedByIssuer reports whether the issuer has replaced next by another CA, and nothing depends on next.
func (a *facts) replacedByIssuer() bool {
	s := &a.d.Signer
	return s.Issued != nil && s.Next != nil && a.takeable() && !same(s.Next, s.Issued.Certificate) && a.liveUnder(s.Next) == 0
}

// issuedAnew says that the issuer signs with a CA that is in no slot, "" if it does not.
func (a *facts) issuedAnew() string {
	s := &a.d.Signer
	if !a.takeable() || same(s.Active, s.Issued.Certificate) || same(s.Next, s.Issued.Certificate) {
		return ""
	}
	return a.d.Issuer + " signs with " + s.Issued.Certificate.Subject + " now, serial number " + s.Issued.Certificate.SerialNumber
}

// namedAsIssued reports whether a CA has the subject of one that the issuer signs or has signed with. An issuer that
// renews a CA keeps its name.
func (a *facts) namedAsIssued(ca *pki.Certificate) bool {
	s := &a.d.Signer
	for _, known := range append(s.slots(), s.Issued.Certificate) {
		if known != nil && known.SubjectHash == ca.SubjectHash {
			return true
		}
	}
	return false
}
