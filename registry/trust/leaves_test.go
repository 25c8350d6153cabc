// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"certrotation.dev/registry/pki"
	"certrotation.dev/test/property"
)

const day = 24 * time.Hour

// lasting returns a certificate of that many days from start, sufficient for due dates.
func lasting(days int) *pki.Certificate {
	return &pki.Certificate{NotBefore: start, NotAfter: start.Add(time.Duration(days) * day)}
}

func TestRefresh(t *testing.T) {
	tests := []struct {
		name   string
		cert   *pki.Certificate
		policy Policy
		want   time.Duration
	}{
		{"percent", lasting(100), Policy{RenewAtPercent: 80}, 80 * day},
		{"percent is earlier", lasting(100), Policy{RenewAtPercent: 80, RenewBefore: 10 * day}, 80 * day},
		{"both are the same", lasting(100), Policy{RenewAtPercent: 80, RenewBefore: 20 * day}, 80 * day},
		{"renewBefore is earlier", lasting(100), Policy{RenewAtPercent: 80, RenewBefore: 30 * day}, 70 * day},
		{"renewBefore of a certificate that its signer cut short", lasting(20), Policy{RenewAtPercent: 80, RenewBefore: 30 * day}, 16 * day},
		{"renewBefore of all its validity", lasting(30), Policy{RenewAtPercent: 80, RenewBefore: 30 * day}, 24 * day},
		{"renewBefore of a life that was cut short, by the same part", lasting(10),
			Policy{RenewAtPercent: 80, RenewBefore: 30 * day, Profile: pki.Profile{Validity: 100 * day}}, 7 * day},
		{"renewBefore of all that is left when it is made", lasting(10),
			Policy{RenewAtPercent: 80, RenewBefore: 8 * day, Profile: pki.Profile{Validity: 8 * day, Backdate: 2 * day}}, 8 * day},
		{"the part was over when it was made", lasting(100), Policy{RenewAtPercent: 10, Profile: pki.Profile{Backdate: 50 * day}}, 55 * day},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := refresh(tt.cert, tt.policy).Sub(start); got != tt.want {
				t.Errorf("due after %s, want %s", got, tt.want)
			}
		})
	}
}

func dueOf(namespace, name string, c *pki.Certificate, p Policy) time.Time {
	a := &facts{d: &Domain{Namespace: namespace}}
	return a.due(&Object{Name: name}, c, p)
}

// TestJitter: a due date depends only on the name and stays within the jitter. It is never the time at which the
// certificate was made.
func TestJitter(t *testing.T) {
	property.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-z0-9-]{1,40}`).Draw(t, "name")
		p := Policy{
			RenewAtPercent: rapid.Int32Range(1, 99).Draw(t, "percent"),
			RenewBefore:    time.Duration(rapid.Int64Range(0, int64(100*day)).Draw(t, "before")),
			JitterPercent:  rapid.Int32Range(0, 20).Draw(t, "jitter"),
		}
		p.Profile.Backdate = time.Duration(rapid.Int64Range(0, int64(day)).Draw(t, "backdate"))
		validity := rapid.Int64Range(int64(time.Hour), int64(1000*day)).Draw(t, "validity")
		c := &pki.Certificate{NotBefore: start.Add(-p.Profile.Backdate), NotAfter: start.Add(time.Duration(validity))}
		if p.RenewBefore >= time.Duration(validity) {
			t.Skip("refused by the validation of the configuration")
		}
		due, latest := dueOf("demo", name, c, p), refresh(c, p)
		if again := dueOf("demo", name, c, p); !again.Equal(due) {
			t.Fatalf("due at %s and at %s", due, again)
		}
		earliest := latest.Add(-c.NotAfter.Sub(c.NotBefore) / 100 * time.Duration(p.JitterPercent))
		if due.After(latest) || due.Before(earliest) {
			t.Fatalf("due at %s, outside of %s..%s", due, earliest, latest)
		}
		if !due.After(start) {
			t.Fatalf("due at %s, when it was made: it would be made over and over", due)
		}
	})
}

// TestJitterSpreads: the due dates of a fleet are spread over the window.
func TestJitterSpreads(t *testing.T) {
	const names, buckets = 1000, 10
	p := Policy{RenewAtPercent: 80, JitterPercent: 10}
	for _, pattern := range []string{"client-%05d", "etcd-peer-node-%d", "kubelet-%x.example", "%d"} {
		t.Run(pattern, func(t *testing.T) {
			var heap [buckets]int
			for i := range names {
				early := start.Add(80 * day).Sub(dueOf("demo", fmt.Sprintf(pattern, i), lasting(100), p))
				heap[min(buckets-1, int(early/day))]++
			}
			for i, n := range heap {
				if n < names/buckets/2 || n > names/buckets*2 {
					t.Errorf("%d of %d names in part %d of %d: %v", n, names, i, buckets, heap)
				}
			}
		})
	}
	other := 0
	for i := range names {
		name := fmt.Sprintf("client-%05d", i)
		if !dueOf("a", name, lasting(100), p).Equal(dueOf("b", name, lasting(100), p)) {
			other++
		}
	}
	if other < names*9/10 {
		t.Errorf("only %d of %d names have another share in another namespace", other, names)
	}
}

func TestPolicyDifference(t *testing.T) {
	profile := pki.Profile{
		Key: pki.Ed25519, Validity: day, CommonName: "server", Organizations: []string{"system:b", "system:a"},
		DNSNames: []string{"server.example", "server"}, IPAddresses: []string{"10.0.0.1", "fd00::1"},
		Usages: []pki.Usage{pki.ClientAuth, pki.ServerAuth},
	}
	w := newWorld(t)
	pair, err := w.keys[foreign(w).Fingerprint].Issue(profile, w.now)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		change func(p *pki.Profile)
		// says is part of the difference, "" for none.
		says string
	}{
		{"as issued", func(*pki.Profile) {}, ""},
		{"another order", func(p *pki.Profile) {
			p.Organizations = []string{"system:a", "system:b"}
			p.DNSNames = []string{"server", "server.example"}
			p.IPAddresses = []string{"fd00::1", "10.0.0.1"}
			p.Usages = []pki.Usage{pki.ServerAuth, pki.ClientAuth}
		}, ""},
		{"repetitions", func(p *pki.Profile) {
			p.Organizations = []string{"system:a", "system:b", "system:a"}
			p.DNSNames = append([]string{"server"}, p.DNSNames...)
			p.Usages = append([]pki.Usage{pki.ServerAuth}, p.Usages...)
		}, ""},
		{"addresses as names too, as of library-go", func(p *pki.Profile) { p.DNSNames = append([]string{"10.0.0.1", "fd00::1"}, p.DNSNames...) }, ""},
		{"any key", func(p *pki.Profile) { p.Key = "" }, ""},
		{"validity counts from the next on", func(p *pki.Profile) { p.Validity = time.Hour }, ""},
		{"backdate counts from the next on", func(p *pki.Profile) { p.Backdate = time.Hour }, ""},
		{"key algorithm", func(p *pki.Profile) { p.Key = pki.ECDSAP256 }, "key is Ed25519"},
		{"common name", func(p *pki.Profile) { p.CommonName = "other" }, `common name "other"`},
		{"no common name", func(p *pki.Profile) { p.CommonName = "" }, `common name ""`},
		{"another organization", func(p *pki.Profile) { p.Organizations = []string{"system:a", "system:c"} }, "system:c"},
		{"an organization more", func(p *pki.Profile) { p.Organizations = []string{"system:a", "system:b", "system:c"} }, "system:c"},
		{"an organization less", func(p *pki.Profile) { p.Organizations = []string{"system:a"} }, "subject"},
		{"a usage less", func(p *pki.Profile) { p.Usages = []pki.Usage{pki.ServerAuth} }, "usages"},
		{"a name more", func(p *pki.Profile) { p.DNSNames = append([]string{"new"}, p.DNSNames...) }, `missing ["new"]`},
		{"a name less", func(p *pki.Profile) { p.DNSNames = []string{"server"} }, `not required ["server.example"]`},
		{"an address more", func(p *pki.Profile) { p.IPAddresses = append([]string{"10.0.0.2"}, p.IPAddresses...) }, `missing ["10.0.0.2"]`},
		{"an address less", func(p *pki.Profile) { p.IPAddresses = []string{"10.0.0.1"} }, `not required ["fd00::1"]`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want := profile
			tt.change(&want)
			got := policyDifference(pair.Certificate, want)
			if (got == "") != (tt.says == "") || !strings.Contains(got, tt.says) {
				t.Errorf("difference %q, want one that says %q", got, tt.says)
			}
		})
	}
}

// TestAddressAsDNSName: clients refuse a leaf that has their server's address among its DNS names only (OpenSSL:
// error 64). The guard does not admit it, and past the guard it is reissued.
func TestAddressAsDNSName(t *testing.T) {
	const address = "10.0.0.7"
	w := bootstrapped(t)
	w.leaf("server").Policy.Profile.IPAddresses = []string{address}
	w.settle()
	after := w.clone()
	l := leafOf(after, "server")
	l.Certificate = w.raw(l.Certificate, func(c *x509.Certificate) {
		c.DNSNames, c.IPAddresses = append(slices.Clone(c.DNSNames), address), nil
	}, w.d.Signer.Active)
	if found := Judge(w.clone(), after, w.now); len(found) != 1 || !strings.Contains(found[0].Message, address+" as an IP address") {
		t.Errorf("the guard says %+v", found)
	}
	w.leaf("server").Certificate = l.Certificate
	if w.settle(); !slices.Contains(w.leaf("server").Certificate.IPAddresses, address) {
		t.Error("it was not reissued")
	}
}

// TestPolicyChangeIsRolledOut: a leaf of another policy is reissued once, by the present CA.
func TestPolicyChangeIsRolledOut(t *testing.T) {
	changes := map[string]func(p *pki.Profile){
		"key":           func(p *pki.Profile) { p.Key = pki.Ed25519 },
		"common name":   func(p *pki.Profile) { p.CommonName = "other" },
		"organizations": func(p *pki.Profile) { p.Organizations = []string{"system:a"} },
		"usages":        func(p *pki.Profile) { p.Usages = []pki.Usage{pki.ServerAuth, pki.ClientAuth} },
		"names":         func(p *pki.Profile) { p.DNSNames = []string{"other.example"} },
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			w := bootstrapped(t)
			change(&w.leaf("server").Policy.Profile)
			actions := w.assess().Actions
			if len(actions) != 1 || actions[0].Object != "server" || actions[0].Urgent || !strings.Contains(actions[0].Reason, "configuration") {
				t.Fatalf("actions %+v", actions)
			}
			if a := w.settle(); a.Stage != Stable || len(w.done) != 1 || policyDifference(w.leaf("server").Certificate, w.leaf("server").Policy.Profile) != "" {
				t.Errorf("stage %s after %v", a.Stage, w.done)
			}
		})
	}
	t.Run("key of the signer", func(t *testing.T) {
		w := bootstrapped(t)
		w.d.Signer.Policy.Profile.Key = pki.Ed25519
		if a := w.assess(); len(a.Actions) != 1 || a.Actions[0].Kind != GenerateNext || !strings.Contains(a.Actions[0].Reason, "configuration says Ed25519") {
			t.Fatalf("actions %+v", a.Actions)
		}
		for range 10 {
			w.settle()
			w.reloadAll()
		}
		if a := w.settle(); a.Stage != Stable || w.d.Signer.Active.KeyAlgorithm != pki.Ed25519 || len(w.d.Bundle.Anchors) != 1 {
			t.Errorf("stage %s, key %s", a.Stage, w.d.Signer.Active.KeyAlgorithm)
		}
	})
}
