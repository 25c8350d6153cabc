// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package injection

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
)

func TestRefusal(t *testing.T) {
	ca := authority(t, "ca")
	agreeing := domain(t, ca, ca.Certificate)
	guard := trust.InjectionTarget{Kind: "ValidatingWebhookConfiguration", Name: "guard"}
	ours, theirs := Source{Namespace: "demo", ConfigMap: "bundle"}, Source{Namespace: "demo", ConfigMap: "bundle", Borrowed: true}
	for name, test := range map[string]struct {
		request Request
		// why is part of the refusal, "" if the request is allowed.
		why  string
		ours bool
	}{
		"both agree":                        {Request{guard, ours, true, agreeing}, "", true},
		"both agree, asked as cert-manager": {Request{guard, theirs, true, agreeing}, "", true},
		"another target":                    {Request{trust.InjectionTarget{Kind: guard.Kind, Name: "other"}, ours, true, agreeing}, "injectInto", true},
		"another kind of that name":         {Request{trust.InjectionTarget{Kind: "MutatingWebhookConfiguration", Name: "guard"}, ours, true, agreeing}, "injectInto", true},
		"another, asked as cert-manager":    {Request{trust.InjectionTarget{Kind: guard.Kind, Name: "other"}, theirs, true, agreeing}, "injectInto", true},
		"no such bundle":                    {Request{guard, ours, true, nil}, "is the bundle of no trust domain", true},
		"no such bundle, cert-manager's":    {Request{guard, theirs, true, nil}, "is the bundle of no trust domain", false},
		"not managed":                       {Request{guard, ours, false, agreeing}, "does not have the label", true},
		"not managed, cert-manager's":       {Request{guard, theirs, false, nil}, "does not have the label", false},
	} {
		t.Run(name, func(t *testing.T) {
			why, isOurs := test.request.Refusal()
			if (why == "") != (test.why == "") || !strings.Contains(why, test.why) || isOurs != test.ours {
				t.Errorf("%q, ours: %t", why, isOurs)
			}
		})
	}
}

func TestAssess(t *testing.T) {
	active, next, foreign := authority(t, "ca@1"), authority(t, "ca@2").Certificate, authority(t, "foreign").Certificate
	ca := active.Certificate
	rest := domain(t, active, ca)
	for name, test := range map[string]struct {
		change func(*trust.Domain)
		held   [][]*pki.Certificate
		fault  string
		// want are the anchors that each entry must hold, nil if it stays unchanged.
		want     [][]*pki.Certificate
		outdated bool
		kept     int
	}{
		"empty":                      {nil, [][]*pki.Certificate{nil}, "", [][]*pki.Certificate{{ca}}, true, 0},
		"up to date":                 {nil, [][]*pki.Certificate{{ca}}, "", [][]*pki.Certificate{{ca}}, false, 0},
		"no entries":                 {nil, nil, "", nil, false, 0},
		"one of two is outdated":     {nil, [][]*pki.Certificate{{ca}, nil}, "", [][]*pki.Certificate{{ca}, {ca}}, true, 0},
		"what nobody needs is lost":  {nil, [][]*pki.Certificate{{foreign, ca}}, "", [][]*pki.Certificate{{ca}}, true, 0},
		"what cannot be read":        {nil, [][]*pki.Certificate{nil}, "no PEM", [][]*pki.Certificate{{ca}}, true, 0},
		"the next CA comes at once":  {func(d *trust.Domain) { d.Bundle.Anchors = []*pki.Certificate{ca, next}; d.Signer.Next = next }, [][]*pki.Certificate{{ca}}, "", [][]*pki.Certificate{{ca, next}}, true, 0},
		"the order says nothing":     {func(d *trust.Domain) { d.Bundle.Anchors = []*pki.Certificate{ca, next}; d.Signer.Next = next }, [][]*pki.Certificate{{next, ca}}, "", [][]*pki.Certificate{{ca, next}}, false, 0},
		"a bundle that was cut down": {func(d *trust.Domain) { d.Bundle.Anchors = []*pki.Certificate{next}; d.Signer.Next = next }, [][]*pki.Certificate{{ca, next}}, "", [][]*pki.Certificate{{next, ca}}, false, 1},
		"an empty bundle":            {func(d *trust.Domain) { d.Bundle.Anchors = nil }, [][]*pki.Certificate{{ca}}, "", nil, false, 0},
		"a bundle that is gone":      {func(d *trust.Domain) { d.Bundle.Present = false }, [][]*pki.Certificate{{ca}}, "", nil, false, 0},
		"a bundle that is broken":    {func(d *trust.Domain) { d.Bundle.Problem = &trust.Problem{Message: "broken"} }, [][]*pki.Certificate{{ca}}, "", nil, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			d := *rest
			if test.change != nil {
				test.change(&d)
			}
			var entries []Entry
			for _, anchors := range test.held {
				entries = append(entries, Entry{Anchors: anchors, Fault: test.fault})
			}
			a := Assess(&d, entries, start.Add(time.Minute))
			if diff := cmp.Diff(test.want, a.Anchors, cmp.Comparer((*pki.Certificate).Equal)); diff != "" {
				t.Errorf("anchors (-want +got):\n%s", diff)
			}
			if a.Outdated != test.outdated || len(a.Kept) != test.kept || (len(a.Blockers) > 0) != (test.want == nil && test.held != nil) {
				t.Errorf("outdated %t, %d kept, blockers %v", a.Outdated, len(a.Kept), a.Blockers)
			}
		})
	}
}
