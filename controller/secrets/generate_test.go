// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/controller/secrets/kinds"
	"certrotation.dev/registry/edition"
)

func TestLabels(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.times["user"] = begin.Add(-day)
	i := w.instance()
	ca := w.generate(i, authority("ca"), Persist())
	server := w.generate(i, leaf("server", kinds.ServerCert), SignedByCA("ca"), RenewAfterValidityPercentage(50),
		WithLabels(map[string]string{"app": "web", edition.LabelManagedBy: "somebody"}))
	user := w.generate(i, password("user"), Validity(100*day))
	bundle, _ := i.Get("ca")
	for name, test := range map[string]struct {
		secret *corev1.Secret
		want   map[string]string
	}{
		"authority": {ca, map[string]string{"name": "ca", "persist": "true", "last-rotation-initiation-time": "", "issued-at-time": "1772366340"}},
		"leaf": {server, map[string]string{
			"name": "server", "app": "web", "renew-after-validity-percentage": "50", "checksum-of-signing-ca": edition.DataChecksum(ca.Data)[:63],
		}},
		"bundle":   {bundle, map[string]string{"name": "ca-bundle", "bundle-for": "ca", "last-rotation-initiation-time": "", "issued-at-time": "1772366400"}},
		"password": {user, map[string]string{"name": "user", "last-rotation-initiation-time": "1772280000", "valid-until-time": "1781006400"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.want["managed-by"], test.want["manager-identity"], test.want[edition.LabelGeneration] = "secrets-manager", identity, "1"
			got := map[string]string{}
			for key := range test.want {
				if value, ok := test.secret.Labels[key]; ok {
					got[key] = value
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("labels (-want +got):\n%s", diff)
			}
			if test.secret.Immutable == nil || !*test.secret.Immutable {
				t.Error("it is not immutable")
			}
		})
	}
	if server.Type != corev1.SecretTypeTLS || ca.Type != corev1.SecretTypeOpaque {
		t.Errorf("types %s and %s", server.Type, ca.Type)
	}
	if _, ok := bundle.Labels[edition.LabelPersist]; ok {
		t.Error("the bundle is persisted")
	}
	if want := w.certificatesOf(ca, "ca.crt")[0]; want.CommonName != ca.Name {
		t.Errorf("the authority is called %s, and its Secret %s", want.CommonName, ca.Name)
	}
}

// TestRequests counts the requests of a reconciliation: one list if nothing is to do, and otherwise only what is
// needed.
func TestRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	reconcile := func() {
		i := w.instance()
		w.generate(i, authority("ca"), Rotate(KeepOld))
		w.generate(i, leaf("server", kinds.ServerCert), SignedByCA("ca"))
		w.generate(i, leaf("client", kinds.ClientCert), SignedByCA("ca"))
		w.generate(i, password("user"))
		w.cleanup(i)
	}
	reconcile()
	want := []string{
		// The lists find existing Secrets and those to adopt. Nothing can be deleted, so no pods are listed.
		"list secrets", "list secrets", "create secrets", "create secrets", "create secrets", "create secrets", "create secrets",
	}
	if diff := cmp.Diff(want, w.requests()); diff != "" {
		t.Errorf("first reconciliation (-want +got):\n%s", diff)
	}
	w.pass(day)
	reconcile()
	if diff := cmp.Diff([]string{"list secrets"}, w.requests()); diff != "" {
		t.Errorf("second reconciliation (-want +got):\n%s", diff)
	}
	w.times["user"] = w.clock.Now()
	reconcile()
	if diff := cmp.Diff([]string{"list secrets", "create secrets", "list pods", "delete secrets"}, w.requests()); diff != "" {
		t.Errorf("one rotation (-want +got):\n%s", diff)
	}
	if _, err := New(t.Context(), w.clock, w.api.Client.CoreV1(), identity, WithNamespaces(space), WithoutAutomaticSecretRenewal()); err != nil {
		t.Fatal(err)
	}
	if got := w.requests(); got != nil {
		t.Errorf("without renewal New asks for %q", got)
	}
}

func TestForeignLabelsStay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	secret := w.generate(w.instance(), password("user"), Persist(), Validity(100*day), WithLabels(map[string]string{"app": "web"}))
	secret.Labels["team"] = "blue"
	delete(secret.Labels, edition.LabelLastRotationInitiationTime)
	w.put(secret)
	changed := w.generate(w.instance(), password("user"))
	for key, want := range map[string]string{"team": "blue", "app": "web", edition.LabelPersist: "", edition.LabelValidUntilTime: "", edition.LabelLastRotationInitiationTime: ""} {
		if got := changed.Labels[key]; got != want {
			t.Errorf("label %s is %q, want %q", key, got, want)
		}
	}
	if _, ok := changed.Labels[edition.LabelLastRotationInitiationTime]; !ok {
		t.Error("the label that is always there is not")
	}
	w.requests()
	w.generate(w.instance(), password("user"))
	if got := w.requests(); !slices.Equal(got, []string{"list secrets"}) {
		t.Errorf("again it asks for %q", got)
	}
}

// TestConfigurationsStay: Generate does not change the configuration, so the caller can pass it again.
func TestConfigurationsStay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	i := w.instance()
	config := authority("ca")
	first, second := w.generate(i, config), w.generate(i, config)
	w.generate(i, authority("other"))
	server := leaf("server", kinds.ServerCert)
	signed, other := w.generate(i, server, SignedByCA("ca")), w.generate(i, server, SignedByCA("other"))
	if first.Name != second.Name || config.CommonName != "ca" || server.SigningCA != nil {
		t.Errorf("%s and %s; %+v", first.Name, second.Name, config)
	}
	if signed.Name == other.Name {
		t.Errorf("with another signer it is still %s", signed.Name)
	}
	// The caller may change what is returned.
	first.Data["ca.key"][0], first.Labels["name"] = 0, "x"
	if again, _ := i.Get("ca", Current); again.Data["ca.key"][0] == 0 || again.Labels["name"] == "x" {
		t.Error("the caller has changed what the instance knows")
	}
}

func TestGet(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.generate(w.instance(), authority("ca"))
	w.times["ca"] = begin
	i := w.instance()
	ca := w.generate(i, authority("ca"), Rotate(KeepOld))
	user := w.generate(i, password("user"))
	w.generate(i, &kinds.RSASecretConfig{Name: "ssh", Bits: 2048, UsedForSSH: true})
	for name, test := range map[string]struct {
		of      string
		options []GetOption
		want    string
	}{
		"a bundle by default":        {of: "ca", want: "ca-bundle"},
		"a bundle":                   {of: "ca", options: []GetOption{Bundle}, want: "ca-bundle"},
		"the current one":            {of: "ca", options: []GetOption{Current}, want: ca.Name},
		"the old one":                {of: "ca", options: []GetOption{Old}, want: strings.TrimSuffix(ca.Name, ca.Name[len(ca.Name)-6:])},
		"what has no bundle":         {of: "user", want: user.Name},
		"the bundle of what has no":  {of: "user", options: []GetOption{Bundle}},
		"the old one of what has no": {of: "user", options: []GetOption{Old}},
		"the bundle of an SSH key":   {of: "ssh", options: []GetOption{Bundle}},
		"what was not generated":     {of: "other"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			secret, found := i.Get(test.of, test.options...)
			if found != (test.want != "") {
				t.Fatalf("found %t, want %q", found, test.want)
			}
			if found && !strings.HasPrefix(secret.Name, test.want) {
				t.Errorf("it is %s, want %s", secret.Name, test.want)
			}
		})
	}
}

func TestNamespaces(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	i := w.instance(WithNamespaces(space, "garden"))
	first, second := w.generate(i, password("here")), w.generate(i, authority("there"), Namespace("garden"))
	bundle, _ := i.Get("there")
	if first.Namespace != space || second.Namespace != "garden" || bundle.Namespace != "garden" {
		t.Errorf("%s, %s and %s", first.Namespace, second.Namespace, bundle.Namespace)
	}
	if i.Identity() != identity {
		t.Errorf("identity %s", i.Identity())
	}
	if _, err := i.Generate(t.Context(), password("x"), Namespace("elsewhere")); !errors.Is(err, ErrNamespaceNotManaged) {
		t.Errorf("%v, want %v", err, ErrNamespaceNotManaged)
	}
}
