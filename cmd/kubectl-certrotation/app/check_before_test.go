// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/registry/trust"
)

const checkedConfiguration = `
apiVersion: config.certrotation.dev/v1alpha1
kind: RotationConfiguration
metadata: {name: web, namespace: demo}
spec:
  trustDomains:
  - name: web
    signer: {secretName: signer}
    bundle: {configMapName: bundle}
    leaves:
    - secretName: server
      dnsNames: [server.demo.svc]
      usages: [ServerAuth]
    relyingParties:
    - name: clients
      verifies: {leaves: [server]}
      members: [a]
      evidence: {kind: acknowledgement}
    - name: servers
      verifies: {nothing: true}
      presents: [server]
      members: [b]
      evidence: {kind: acknowledgement}
`

// checkedDomain is a trust domain in files.
type checkedDomain struct {
	ca, next       *made
	signer, server *corev1.Secret
	bundle         *corev1.ConfigMap
	configuration  string
}

func newCheckedDomain(t testing.TB) *checkedDomain {
	t.Helper()
	d := &checkedDomain{ca: makeCA(t, "signer"), next: makeCA(t, "signer@2"), configuration: checkedConfiguration}
	leaf := makeCertificate(t, d.ca, "server", ofServer("server.demo.svc"))
	d.signer = checkedSecret("demo", "signer", d.ca.cert, d.ca.keyPEM)
	d.server = checkedSecret("demo", "server", leaf.cert, leaf.keyPEM, d.ca)
	d.bundle = checkedConfigMap("demo", "bundle", "ca-bundle.crt", d.ca.cert)
	for _, o := range []object{d.signer, d.server, d.bundle} {
		o.SetAnnotations(map[string]string{trust.AnnotationConfiguration: "web"})
	}
	return d
}

func (d *checkedDomain) write(t testing.TB) string {
	t.Helper()
	objects := []any{d.signer}
	if d.server != nil {
		objects = append(objects, d.server)
	}
	return checkedFiles{"all.yaml": append(manifestOf(t, append(objects, d.bundle)...), "---"+d.configuration...)}.write(t)
}

func TestCheckBefore(t *testing.T) {
	for _, tt := range []struct {
		name   string
		before func(*checkedDomain)
		edit   func(*testing.T, *checkedDomain)
		// want are the objects that are denied, each with its rule.
		want []string
	}{
		{name: "nothing", edit: func(*testing.T, *checkedDomain) {}},
		{name: "a label", edit: func(_ *testing.T, d *checkedDomain) { d.server.Labels = map[string]string{"team": "a"} }},
		{name: "a further anchor", edit: func(_ *testing.T, d *checkedDomain) {
			d.bundle.Data["ca-bundle.crt"] = string(certificatesOf(d.ca, d.next))
		}},
		{name: "the anchor in use is replaced", edit: func(_ *testing.T, d *checkedDomain) {
			d.bundle.Data["ca-bundle.crt"] = string(d.next.cert)
		}, want: []string{"ConfigMap/bundle AnchorInUse"}},
		{name: "a leaf of an unknown CA", edit: func(t *testing.T, d *checkedDomain) {
			leaf := makeCertificate(t, d.next, "server", ofServer("server.demo.svc"))
			d.server.Data["tls.crt"], d.server.Data["tls.key"] = leaf.cert, leaf.keyPEM
		}, want: []string{"Secret/server TrustBeforeUse"}},
		{name: "an empty bundle, of objects that name no namespace", before: func(d *checkedDomain) {
			for _, o := range []object{d.signer, d.server, d.bundle} {
				o.SetNamespace("")
			}
			d.configuration = strings.Replace(d.configuration, ", namespace: demo", "", 1)
		}, edit: func(_ *testing.T, d *checkedDomain) { d.bundle.Data = nil }, want: []string{"ConfigMap/bundle NeverEmpty"}},
		{name: "an empty bundle", edit: func(_ *testing.T, d *checkedDomain) { d.bundle.Data = nil }, want: []string{"ConfigMap/bundle NeverEmpty"}},
		{name: "a configuration that is not valid", edit: func(_ *testing.T, d *checkedDomain) {
			d.configuration = strings.Replace(d.configuration, "acknowledgement", "hearsay", 1)
		}, want: []string{"RotationConfiguration/web RotationConfiguration/web"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newCheckedDomain(t)
			if tt.before != nil {
				tt.before(d)
			}
			before := d.write(t)
			tt.edit(t, d)
			if got := deniedIn(t, d.write(t), before); !slices.Equal(got, tt.want) {
				t.Errorf("denied %q, want %q", got, tt.want)
			}
		})
	}
}

func deniedIn(t *testing.T, after, before string) []string {
	t.Helper()
	s := plainShell(t)
	s.run(t.Context(), "check", "-f", after, "--before", before, "-o", "json")
	var report checkReport
	if err := json.Unmarshal(s.out.Bytes(), &report); err != nil {
		t.Fatalf("%v: %s", err, s.errOut.String())
	}
	var out []string
	for i := range report.Findings {
		if f := &report.Findings[i]; f.Kind == deniedKind {
			rule, _, _ := strings.Cut(f.Message, ":")
			out = append(out, f.Object+" "+rule)
			if f.Next == "" || f.File == "" {
				t.Errorf("%s has no next step or no file", f.Message)
			}
		}
	}
	return out
}

// TestCheckConfiguration: what the model finds is reported once, and not what the survey has found.
func TestCheckConfiguration(t *testing.T) {
	for _, tt := range []struct {
		name string
		edit func(*checkedDomain)
		code int
		want []string
	}{
		{name: "healthy", edit: func(*checkedDomain) {}, want: []string{}},
		{name: "not adopted", edit: func(d *checkedDomain) { d.server.Annotations = nil }, want: []string{"NotAdopted Secret/server"}},
		{name: "of another type", edit: func(d *checkedDomain) { d.server.Type = corev1.SecretTypeOpaque }, code: 1, want: []string{"WrongType Secret/server"}},
		{name: "a key of another certificate", edit: func(d *checkedDomain) { d.server.Data["tls.key"] = d.ca.keyPEM }, code: 1, want: []string{"KeyMismatch Secret/server tls.crt"}},
		{name: "not valid", edit: func(d *checkedDomain) {
			d.configuration = strings.Replace(d.configuration, "acknowledgement", "hearsay", 1)
		}, code: 1, want: []string{"InvalidConfiguration RotationConfiguration/web"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newCheckedDomain(t)
			tt.edit(d)
			if got := checked(t, tt.code, "-f", d.write(t)); !slices.Equal(got, tt.want) {
				t.Errorf("found %q, want %q", got, tt.want)
			}
		})
	}
}
