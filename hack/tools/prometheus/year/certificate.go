// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package year

import (
	"slices"
	"sort"
	"time"
)

// Roles of certificates, as the API calls them.
const (
	signer = "Signer"
	leaf   = "Leaf"
)

// certificate of a domain, with what was in its Secret over the year.
type certificate struct {
	name, role string
	issues     []issue
}

// issue of a certificate. Due is when its renewal is due, zero if it is not renewed for its own sake.
type issue struct{ at, expires, due time.Duration }

// policy of a certificate, as a part of its validity: renewed at four fifths, leaves earlier by a share that is their own.
type policy struct {
	validity time.Duration
	jitter   float64
}

func (p policy) due(from time.Duration) time.Duration {
	return from + time.Duration(float64(p.validity)*(0.8-p.jitter))
}

// at is what is in the Secret at a moment.
func (c *certificate) at(at time.Duration) issue {
	i := sort.Search(len(c.issues), func(i int) bool { return c.issues[i].at > at }) - 1
	return c.issues[max(i, 0)]
}

// addSigner fills the rotations of a domain, those that are due as well as those that are asked for, and its signer. The new CA is
// made when a rotation begins, and becomes active when it has reissued the leaves.
func (d *domain) addSigner(age time.Duration, requested ...time.Duration) {
	p := policy{validity: d.signerValidity}
	c := certificate{name: d.signer, role: signer, issues: []issue{{at: -age, expires: p.validity - age, due: p.due(-age)}}}
	for {
		due := c.issues[len(c.issues)-1].due
		begin := due
		if len(requested) > 0 && requested[0] < due {
			begin, requested = requested[0], requested[1:]
		}
		r := rotation{begin: begin, steps: d.course[len(d.rotations)%len(d.course)]}
		if r.end()+day > Length {
			break
		}
		d.rotations = append(d.rotations, r)
		c.issues = append(c.issues, issue{at: r.endOf("Reissuing"), expires: begin + p.validity, due: p.due(begin)})
	}
	d.certificates = append(d.certificates, c)
}

// addLeaf fills what was in the Secret of a leaf: it is reissued when it is due, within seconds, and in each rotation, and ends with
// its signer at the latest.
func (d *domain) addLeaf(name string, p policy, age time.Duration) {
	c := certificate{name: name, role: leaf}
	put := func(at time.Duration) {
		ca := d.certificates[0].at(at)
		// The last leaf of a stage is signed by the CA that becomes active then.
		if next := d.certificates[0].at(at + time.Minute); next.at > at {
			ca = next
		}
		is := issue{at: at, expires: at + p.validity, due: p.due(at)}
		if is.expires >= ca.expires {
			is.expires, is.due = ca.expires, 0
		}
		c.issues = append(c.issues, is)
	}
	var rotated []time.Duration
	for i := range d.rotations {
		rotated = append(rotated, d.rotations[i].endOf("Reissuing")-30*time.Second)
	}
	for put(-age); ; {
		due := c.issues[len(c.issues)-1].due
		switch i := slices.IndexFunc(rotated, func(at time.Duration) bool { return at > c.issues[len(c.issues)-1].at }); {
		case i >= 0 && (due == 0 || rotated[i] < due):
			put(rotated[i])
		case due == 0 || due > Length:
			d.certificates = append(d.certificates, c)
			return
		default:
			put(due + 4*time.Second)
		}
	}
}

// nextExpires is when the next CA expires, zero while there is none: from the begin of a rotation until the CA is active.
func (d *domain) nextExpires(at time.Duration) time.Duration {
	for i := range d.rotations {
		if r := &d.rotations[i]; r.begin <= at && at < r.endOf("Reissuing") {
			return r.begin + d.signerValidity
		}
	}
	return 0
}
