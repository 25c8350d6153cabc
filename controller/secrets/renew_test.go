// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"testing"
	"time"

	"certrotation.dev/controller/secrets/kinds"
)

// TestRenewal has the cases of Gardener's tests, and cases in which Gardener renews at each reconciliation.
func TestRenewal(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		validity           time.Duration
		percentage         int
		unchanged, renewed time.Duration
	}{
		"80 % of 100 days":                      {100 * day, 0, 79 * day, 81 * day},
		"ten days before the end of 30":         {30 * day, 0, 19 * day, 21 * day},
		"33 % of 30 days":                       {30 * day, 33, 9 * day, 11 * day},
		"70 % of 20 days is after the ten days": {20 * day, 70, 9 * day, 11 * day},
		"twelve days, not before half of them":  {12 * day, 0, 5 * day, 7 * day},
		"ten days have their percentage alone":  {10 * day, 0, 7 * day, 9 * day},
		"a day":                                 {day, 0, 19 * time.Hour, 20 * time.Hour},
		"a minute":                              {time.Minute, 50, 29 * time.Second, 31 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			generate := func() string {
				return w.generate(w.instance(), password("user"), Validity(test.validity), RenewAfterValidityPercentage(test.percentage)).Name
			}
			first := generate()
			w.pass(test.unchanged)
			if again := generate(); again != first {
				t.Fatalf("after %s it is %s, want %s", test.unchanged, again, first)
			}
			w.pass(test.renewed - test.unchanged)
			second := generate()
			if second == first {
				t.Fatalf("after %s it is still %s", test.renewed, first)
			}
			// It is renewed once: not again a second later, nor by another replica.
			for range 3 {
				w.pass(time.Second)
				if again := generate(); again != second {
					t.Fatalf("it was renewed again, as %s", again)
				}
			}
		})
	}
}

func TestRenewalOfCertificates(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	month := 30 * day
	reconcile := func(options ...Option) (ca, server string) {
		i := w.instance(options...)
		config, of := authority("ca"), leaf("server", kinds.ServerCert)
		config.Validity, of.Validity = &month, &month
		ca = w.generate(i, config, Rotate(KeepOld)).Name
		return ca, w.generate(i, of, SignedByCA("ca", UseCurrentCA)).Name
	}
	ca, server := reconcile()
	w.pass(21 * day)
	if sameCA, sameServer := reconcile(WithoutAutomaticSecretRenewal()); sameCA != ca || sameServer != server {
		t.Errorf("without renewal they are %s and %s", sameCA, sameServer)
	}
	sameCA, renewed := reconcile()
	if sameCA != ca || renewed == server {
		t.Errorf("the authority is %s, the leaf %s: a leaf is renewed, an authority is not unless it is asked for", sameCA, renewed)
	}
	other, _ := reconcile(WithCASecretAutoRotation())
	if other == ca {
		t.Error("the authority is not renewed")
	}
}

// TestReplicasRenewOnce: replicas renew in different seconds, each without knowledge of the others.
func TestReplicasRenewOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.generate(w.instance(), password("user"), Validity(100*day))
	w.pass(81 * day)
	var instances []*Instance
	for range 5 {
		w.pass(time.Second)
		instances = append(instances, w.instance())
	}
	for _, i := range instances {
		w.generate(i, password("user"), Validity(100*day))
	}
	if got := w.names(); len(got) != 2 {
		t.Errorf("there are %q, want the former one and one more", got)
	}
}

// TestIgnoreOldSecretsAfter: the old edition counts until the current one has the age, to the second.
func TestIgnoreOldSecretsAfter(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.generate(w.instance(), password("user"))
	w.times["user"] = begin
	for _, test := range []struct {
		pass time.Duration
		old  bool
	}{{0, true}, {59 * time.Second, true}, {time.Second, false}} {
		w.pass(test.pass)
		i := w.instance()
		w.generate(i, password("user"), Rotate(KeepOld), IgnoreOldSecretsAfter(time.Minute))
		if _, found := i.Get("user", Old); found != test.old {
			t.Errorf("at %s there is an old one: %t", w.clock.Now().Sub(begin), found)
		}
	}
}

// TestChangedValidity: a changed validity counts from the start of the certificate, even if it then ended in the
// past. The next instance renews.
func TestChangedValidity(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.generate(w.instance(), password("user"), Validity(100*day))
	w.pass(30 * day)
	changed := w.generate(w.instance(), password("user"), Validity(20*day))
	if changed.Name != first.Name || changed.Labels["valid-until-time"] != "1774094400" {
		t.Errorf("%s until %s", changed.Name, changed.Labels["valid-until-time"])
	}
	if renewed := w.generate(w.instance(), password("user"), Validity(20*day)); renewed.Name == first.Name {
		t.Error("it is not renewed")
	}
}
