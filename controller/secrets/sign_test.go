// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"certrotation.dev/controller/secrets/kinds"
	"certrotation.dev/registry/edition"
	"certrotation.dev/registry/pki"
)

// TestWhoSigns has Gardener's table: which edition of an authority signs a leaf, by type and option, during and
// after a rotation.
func TestWhoSigns(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		of      kinds.CertType
		options []SignedByCAOption
		// old is true if the old CA signs while it exists.
		old bool
	}{
		"client":                  {of: kinds.ClientCert},
		"client, current":         {of: kinds.ClientCert, options: []SignedByCAOption{UseCurrentCA}},
		"client, old":             {of: kinds.ClientCert, options: []SignedByCAOption{UseOldCA}, old: true},
		"server":                  {of: kinds.ServerCert, old: true},
		"server, current":         {of: kinds.ServerCert, options: []SignedByCAOption{UseCurrentCA}},
		"server, old":             {of: kinds.ServerCert, options: []SignedByCAOption{UseOldCA}, old: true},
		"both":                    {of: kinds.ServerClientCert, old: true},
		"both, current":           {of: kinds.ServerClientCert, options: []SignedByCAOption{UseCurrentCA}},
		"both, old":               {of: kinds.ServerClientCert, options: []SignedByCAOption{UseOldCA}, old: true},
		"an authority of its own": {of: kinds.CACert, options: []SignedByCAOption{UseOldCA}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			former := w.generate(w.instance(), authority("ca"), Rotate(KeepOld))
			w.pass(time.Hour)
			w.times["ca"] = w.clock.Now()
			for _, expired := range []bool{false, true} {
				phase := "in a rotation"
				if expired {
					phase = "with an old CA that has expired"
					// The old CA ends ten years after its start. The current one ends an hour later.
					w.clock.SetTime(begin.AddDate(10, 0, 0).Add(time.Minute))
				}
				i := w.instance(WithoutAutomaticSecretRenewal())
				current := w.generate(i, authority("ca"), Rotate(KeepOld))
				made := w.generate(i, leaf("leaf", test.of), SignedByCA("ca", test.options...))
				want := current
				if test.old && !expired {
					want = former
				}
				if !w.signedBy(made, want) {
					t.Errorf("%s: it is not signed by %s", phase, want.Name)
				}
				if end := w.certificatesOf(made, "tls.crt")[0].NotAfter; end.After(w.certificatesOf(want, "ca.crt")[0].NotAfter) {
					t.Errorf("%s: it ends at %s, after its signer", phase, end)
				}
				bundle, _ := i.Get("ca")
				if got, want := len(w.certificatesOf(bundle, "bundle.crt")), map[bool]int{false: 2, true: 1}[expired]; got != want {
					t.Errorf("%s: the bundle has %d anchors, want %d", phase, got, want)
				}
			}
			i := w.instance()
			current := w.generate(i, authority("ca"), Rotate(KeepOld), IgnoreOldSecrets())
			if made := w.generate(i, leaf("leaf", test.of), SignedByCA("ca", test.options...)); !w.signedBy(made, current) {
				t.Errorf("after the rotation it is not signed by %s", current.Name)
			}
			if _, found := i.Get("ca", Old); found {
				t.Error("there is an old one after the rotation")
			}
		})
	}
}

// TestExpiredSigner: Gardener's own library signs with an expired old CA, this one does not.
func TestExpiredSigner(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	short := authority("ca")
	hour := time.Hour
	short.Validity = &hour
	w.generate(w.instance(), short)
	w.pass(2 * time.Hour)
	i := w.instance()
	w.generate(i, short)
	if _, err := i.Generate(t.Context(), leaf("server", kinds.ServerCert), SignedByCA("ca")); !errors.Is(err, pki.ErrSignerExpired) {
		t.Errorf("%v, want %v", err, pki.ErrSignerExpired)
	}
	// With a clock that is behind, the CA is not valid yet. This must not replace anything.
	w.clock.SetTime(begin.Add(-day))
	before := w.names()
	i = w.instance()
	w.generate(i, short)
	if _, err := i.Generate(t.Context(), leaf("server", kinds.ServerCert), SignedByCA("ca")); !errors.Is(err, pki.ErrSignerExpired) {
		t.Errorf("%v, want %v", err, pki.ErrSignerExpired)
	}
	w.has(before...)
}

func TestLoadMissingCA(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	former := w.generate(w.instance(), authority("ca"))
	i := w.instance()
	if _, err := i.Generate(t.Context(), leaf("server", kinds.ServerCert), SignedByCA("ca")); !errors.Is(err, ErrUnknownCA) {
		t.Errorf("%v, want %v", err, ErrUnknownCA)
	}
	if _, err := i.Generate(t.Context(), leaf("server", kinds.ServerCert), SignedByCA("other", LoadMissingCAFromCluster)); !errors.Is(err, ErrUnknownCA) {
		t.Errorf("%v, want %v", err, ErrUnknownCA)
	}
	w.pass(time.Minute)
	w.times["ca"] = w.clock.Now()
	current := w.generate(w.instance(), authority("ca"), Rotate(KeepOld))
	w.requests()
	i = w.instance()
	server := w.generate(i, leaf("server", kinds.ServerCert), SignedByCA("ca", LoadMissingCAFromCluster))
	client := w.generate(i, leaf("client", kinds.ClientCert), SignedByCA("ca", LoadMissingCAFromCluster))
	if !w.signedBy(server, former) || !w.signedBy(client, current) {
		t.Error("they are signed by other editions")
	}
	if bundle, found := i.Get("ca"); !found || len(w.certificatesOf(bundle, "bundle.crt")) != 2 {
		t.Error("the bundle of what was only loaded is not found")
	}
	if diff := cmp.Diff([]string{"list secrets", "list secrets", "create secrets", "create secrets"}, w.requests()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	// A run that only signed with an authority must keep it and its bundle.
	before := w.names()
	w.cleanup(i)
	w.has(before...)
}

// TestOvertakenRotation: a second rotation starts before the first one ended. An authority whose leaves are in use
// stays an anchor.
func TestOvertakenRotation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	reconcile := func() (*Instance, int) {
		i := w.instance()
		w.generate(i, authority("ca"), Rotate(KeepOld))
		bundle, _ := i.Get("ca")
		return i, len(w.certificatesOf(bundle, "bundle.crt"))
	}
	i, _ := reconcile()
	server := w.generate(i, leaf("server", kinds.ServerCert), SignedByCA("ca"))
	w.mount("server-0", server.Name)
	for rotation, want := range []int{2, 3, 4} {
		w.pass(time.Hour)
		w.times["ca"] = w.clock.Now()
		i, anchors := reconcile()
		w.generate(i, leaf("other", kinds.ServerCert), SignedByCA("ca"))
		w.cleanup(i)
		if anchors != want {
			t.Errorf("rotation %d: %d anchors, want %d", rotation+1, anchors, want)
		}
		bundle, _ := i.Get("ca")
		found := false
		for _, anchor := range w.certificatesOf(bundle, "bundle.crt") {
			found = found || w.certificatesOf(server, "tls.crt")[0].SignedBy(anchor)
		}
		if !found {
			t.Errorf("rotation %d: the anchor of a leaf that a pod mounts is gone", rotation+1)
		}
	}
}

func TestIntermediate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	i := w.instance()
	root := w.generate(i, authority("root"))
	middle := w.generate(i, authority("middle"), SignedByCA("root"))
	server := w.generate(i, leaf("server", kinds.ServerCert), SignedByCA("middle"))
	if !w.signedBy(middle, root) || !w.certificatesOf(server, "tls.crt")[0].SignedBy(w.certificatesOf(middle, "tls.crt")[0]) {
		t.Error("the chain is broken")
	}
	if _, found := i.Get("middle", Bundle); found {
		t.Error("an authority that another one has signed is an anchor")
	}
	if middle.Labels[edition.LabelChecksumSigningCA] == "" {
		t.Error("it does not say who has signed it")
	}
}

// TestThreeSteps delivers the servers' leaves in a separate run, before the old CA is dropped. At each step, the
// bundles of the step before and after accept the leaves.
func TestThreeSteps(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	step := func(of []GenerateOption, by ...SignedByCAOption) (*pki.Certificate, []*pki.Certificate) {
		i := w.instance()
		w.generate(i, authority("ca"), append([]GenerateOption{Rotate(KeepOld)}, of...)...)
		server := w.generate(i, leaf("server", kinds.ServerCert), SignedByCA("ca", by...))
		w.cleanup(i)
		bundle, _ := i.Get("ca")
		return w.certificatesOf(server, "tls.crt")[0], w.certificatesOf(bundle, "bundle.crt")
	}
	accepts := func(what string, server *pki.Certificate, anchors []*pki.Certificate) {
		t.Helper()
		if !slices.ContainsFunc(anchors, server.SignedBy) {
			t.Errorf("%s: refused", what)
		}
	}
	server, bundle := step(nil)
	w.times["ca"] = begin
	for _, next := range []struct {
		name string
		of   []GenerateOption
		by   []SignedByCAOption
	}{
		{"trust is distributed", nil, nil},
		{"servers are delivered", nil, []SignedByCAOption{UseCurrentCA}},
		{"the old CA leaves", []GenerateOption{IgnoreOldSecrets()}, nil},
	} {
		newServer, newBundle := step(next.of, next.by...)
		accepts(next.name+", the former server", server, newBundle)
		accepts(next.name+", the former bundle", newServer, bundle)
		server, bundle = newServer, newBundle
	}
}

// TestStrategies: what becomes of the former edition of an authority in a rotation.
func TestStrategies(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		options []GenerateOption
		kept    bool
	}{
		"no strategy":         {},
		"in place":            {options: []GenerateOption{Rotate(InPlace)}},
		"keep old":            {options: []GenerateOption{Rotate(KeepOld)}, kept: true},
		"the last one counts": {options: []GenerateOption{Rotate(KeepOld), Rotate(InPlace)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			former := w.generate(w.instance(), authority("ca"), test.options...)
			w.times["ca"] = begin
			i := w.instance()
			current := w.generate(i, authority("ca"), test.options...)
			w.cleanup(i)
			_, old := i.Get("ca", Old)
			bundle, _ := i.Get("ca")
			_, stored := w.stored()[former.Name]
			want := map[bool]int{false: 1, true: 2}[test.kept]
			if anchors := len(w.certificatesOf(bundle, "bundle.crt")); old != test.kept || stored != test.kept || anchors != want {
				t.Errorf("there is an old one: %t, it is stored: %t, %d anchors", old, stored, anchors)
			}
			if server := w.generate(i, leaf("server", kinds.ServerCert), SignedByCA("ca")); w.signedBy(server, current) == test.kept {
				t.Errorf("the server is signed by the current one: %t", !test.kept)
			}
		})
	}
}

// TestBareNameOfSigned: an authority that another one signs has its checksums in its name, with any option.
func TestBareNameOfSigned(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	i := w.instance()
	bare := w.generate(i, authority("ca"), IgnoreConfigChecksumForCASecretName())
	signed := w.generate(i, authority("intermediate"), SignedByCA("ca"))
	again := w.generate(i, authority("intermediate"), SignedByCA("ca"), IgnoreConfigChecksumForCASecretName())
	if bare.Name != "ca" || signed.Name == "intermediate" || again.Name != signed.Name {
		t.Errorf("they are %s, %s and %s", bare.Name, signed.Name, again.Name)
	}
}
