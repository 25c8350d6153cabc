// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package injection

import (
	"encoding/base64"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/pki"
)

const webhookText = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: guard}
webhooks:
- {name: one.demo, clientConfig: {service: {namespace: demo, name: one}, caBundle: CA}}
- {name: two.demo, clientConfig: {url: "https://two.demo"}}
`

func TestEntries(t *testing.T) {
	ca := authority(t, "ca").Certificate
	encoded := base64.StdEncoding.EncodeToString(ca.PEM())
	for name, test := range map[string]struct {
		kind configv1alpha1.InjectionKind
		text string
		want []Holding
	}{
		"a webhook configuration": {configv1alpha1.InjectValidatingWebhook,
			"webhooks: [{name: a, clientConfig: {url: u, caBundle: " + encoded + "}}, {name: b, clientConfig: {url: u}}, {clientConfig: {url: u, caBundle: AAAA}}]",
			[]Holding{{Entry: "a", Anchors: []pki.Fingerprint{ca.Fingerprint}}, {Entry: "b"}, {Entry: "2"}}},
		"a mutating one":              {configv1alpha1.InjectMutatingWebhook, "webhooks: [{name: a, clientConfig: {url: u}}]", []Holding{{Entry: "a"}}},
		"one without webhooks":        {configv1alpha1.InjectMutatingWebhook, "metadata: {name: x}", []Holding{}},
		"an APIService":               {configv1alpha1.InjectAPIService, "spec: {service: {name: s}, caBundle: " + encoded + "}", []Holding{{Anchors: []pki.Fingerprint{ca.Fingerprint}}}},
		"a local APIService":          {configv1alpha1.InjectAPIService, "spec: {group: g}", []Holding{}},
		"a conversion webhook":        {configv1alpha1.InjectCustomResource, "spec: {conversion: {strategy: Webhook, webhook: {clientConfig: {url: u}}}}", []Holding{{}}},
		"a definition that is plain":  {configv1alpha1.InjectCustomResource, "spec: {conversion: {strategy: None}}", []Holding{}},
		"a conversion that is unused": {configv1alpha1.InjectCustomResource, "spec: {conversion: {strategy: None, webhook: {clientConfig: {url: u}}}}", []Holding{}},
		"a definition without":        {configv1alpha1.InjectCustomResource, "spec: {group: g}", []Holding{}},
		"a trust bundle": {configv1alpha1.InjectTrustBundle, "spec: {signerName: example.com/a, trustBundle: " + strconv.Quote("of ours:\n"+string(ca.PEM())) + "}",
			[]Holding{{Anchors: []pki.Fingerprint{ca.Fingerprint}}}},
		"a trust bundle with an anchor twice": {configv1alpha1.InjectTrustBundle, "spec: {trustBundle: " + strconv.Quote(string(ca.PEM())+string(ca.PEM())) + "}",
			[]Holding{{Anchors: []pki.Fingerprint{ca.Fingerprint}}}},
		"a trust bundle in base64":     {configv1alpha1.InjectTrustBundle, "spec: {trustBundle: " + encoded + "}", []Holding{{}}},
		"a trust bundle that is empty": {configv1alpha1.InjectTrustBundle, "spec: {trustBundle: ''}", []Holding{{}}},
	} {
		t.Run(name, func(t *testing.T) {
			entries, err := Entries(test.kind, object(t, test.text))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, Held(entries)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestEntriesThatCannotBe(t *testing.T) {
	for name, test := range map[string]struct {
		kind configv1alpha1.InjectionKind
		text string
	}{
		"no client": {configv1alpha1.InjectValidatingWebhook, "webhooks: [{name: a}]"},
		"a scalar":  {configv1alpha1.InjectValidatingWebhook, "webhooks: [7]"},
		"a Secret":  {"Secret", "data: {}"},
		"no spec":   {configv1alpha1.InjectTrustBundle, "metadata: {name: x}"},
	} {
		if entries, err := Entries(test.kind, object(t, test.text)); err == nil {
			t.Errorf("%s: %v", name, entries)
		}
	}
}

// TestPut: only the field of the CA bundle changes, and only in the entries that are put.
func TestPut(t *testing.T) {
	one, two := authority(t, "one").Certificate, authority(t, "two").Certificate
	o := object(t, webhookText)
	entries, err := Entries(configv1alpha1.InjectValidatingWebhook, o)
	if err != nil {
		t.Fatal(err)
	}
	if entries[0].Fault == "" {
		t.Error("what is no PEM has no fault")
	}
	entries[0].Put([]*pki.Certificate{one, two})
	entries[1].Put(nil)
	want := object(t, webhookText)
	want.Object["webhooks"].([]any)[0].(map[string]any)["clientConfig"].(map[string]any)["caBundle"] =
		base64.StdEncoding.EncodeToString(pki.EncodeCertificates(one, two))
	if diff := cmp.Diff(want.Object, o.Object); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	again, err := Entries(configv1alpha1.InjectValidatingWebhook, o)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Held(again), Held(Known(entries))); diff != "" {
		t.Errorf("what is kept (-want +got):\n%s", diff)
	}
}

// TestPutText: a trust bundle holds plain PEM, and the rest of the object stays.
func TestPutText(t *testing.T) {
	one, two := authority(t, "one").Certificate, authority(t, "two").Certificate
	o := object(t, "spec: {signerName: example.com/a, trustBundle: "+strconv.Quote(string(one.PEM()))+"}")
	entries, err := Entries(configv1alpha1.InjectTrustBundle, o)
	if err != nil {
		t.Fatal(err)
	}
	entries[0].Put(nil)
	entries[0].Put([]*pki.Certificate{one, two})
	want := map[string]any{"signerName": "example.com/a", "trustBundle": string(pki.EncodeCertificates(one, two))}
	if diff := cmp.Diff(map[string]any{"spec": want}, o.Object); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestRepeatedAnchor: a caBundle that has an anchor twice is written again.
func TestRepeatedAnchor(t *testing.T) {
	active := authority(t, "ca@1")
	ca := active.Certificate
	twice := base64.StdEncoding.EncodeToString(append(ca.PEM(), ca.PEM()...))
	entries, err := Entries(configv1alpha1.InjectAPIService, object(t, "spec: {service: {name: s}, caBundle: "+twice+"}"))
	if err != nil {
		t.Fatal(err)
	}
	d, now := domain(t, active, ca), start.Add(time.Minute)
	a := Assess(d, entries, now)
	if !a.Outdated || len(a.Anchors) != 1 || len(a.Anchors[0]) != 1 {
		t.Fatalf("outdated: %t, anchors %v", a.Outdated, a.Anchors)
	}
	entries[0].Put(a.Anchors[0])
	if Assess(d, entries, now).Outdated {
		t.Error("it is written again and again")
	}
}
