// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func webhookPreset(mutate func(*WebhookServerPreset)) *RotationConfigurationSpec {
	params := &WebhookServerPreset{
		InjectInto: []InjectionTarget{{Kind: InjectValidatingWebhook, Name: "guard"}},
		Pods:       PodMembers{Selector: metav1.LabelSelector{MatchLabels: map[string]string{"app": "guard"}}},
	}
	mutate(params)
	return &RotationConfigurationSpec{Preset: &Preset{Name: PresetWebhookServer, WebhookServer: params}}
}

func TestValidateWebhookServer(t *testing.T) {
	const params = "spec.preset.webhookServer"
	d := readDefinition(t, "rotationconfigurations")
	for _, test := range []struct {
		name string
		spec *RotationConfigurationSpec
		want []string
		// admitted is set if the schema cannot refuse it.
		admitted bool
	}{
		{name: "the least", spec: webhookPreset(func(*WebhookServerPreset) {}), admitted: true},
		{
			name: "no parameters", spec: &RotationConfigurationSpec{Preset: &Preset{Name: PresetWebhookServer}},
			want: []string{"FieldValueRequired " + params},
		},
		{
			name: "parameters of another preset",
			spec: func() *RotationConfigurationSpec {
				out := webhookPreset(func(*WebhookServerPreset) {})
				out.Preset.Name = PresetOpenShiftEtcd
				return out
			}(),
			want: []string{"FieldValueForbidden " + params},
		},
		{
			name: "nowhere to inject, and every pod",
			spec: webhookPreset(func(p *WebhookServerPreset) { p.InjectInto, p.Pods = nil, PodMembers{} }),
			want: []string{"FieldValueRequired " + params + ".injectInto", "FieldValueRequired " + params + ".pods.selector"},
		},
		{
			name: "names that are none",
			spec: webhookPreset(func(p *WebhookServerPreset) {
				p.Name, p.Service, p.Key, p.DNSNames = "a.b", "1a", "DSA", []string{"a b"}
			}),
			want: []string{
				"FieldValueInvalid " + params + ".name", "FieldValueInvalid " + params + ".service",
				"FieldValueInvalid " + params + ".dnsNames[0]", "FieldValueNotSupported " + params + ".key",
			},
		},
		{
			name: "a name that makes no common name", admitted: true,
			spec: webhookPreset(func(p *WebhookServerPreset) { p.Name, p.Service = strings.Repeat("n", 60), "web" }),
			want: []string{"FieldValueTooLong " + params + ".name"},
		},
		{
			name: "a target twice, a port that is none, no delay",
			spec: webhookPreset(func(p *WebhookServerPreset) {
				p.InjectInto = append(p.InjectInto, p.InjectInto...)
				p.Pods.ContainerPort, p.MinimumDelay = 70000, duration(0)
			}),
			want: []string{
				"FieldValueDuplicate " + params + ".injectInto[1]", "FieldValueInvalid " + params + ".minimumDelay",
				"FieldValueInvalid " + params + ".pods.containerPort",
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			errs := Validate(test.spec, "ns")
			if diff := cmp.Diff(test.want, summary(errs)); diff != "" {
				t.Errorf("errors (-want +got):\n%s\n%v", diff, errs.ToAggregate())
			}
			if errs := d.judge(t, configuration(test.spec)); (len(errs) == 0) != test.admitted {
				t.Errorf("the definition says %v", errs.ToAggregate())
			}
		})
	}
}

func TestExpandWebhookServer(t *testing.T) {
	spec := webhookPreset(func(p *WebhookServerPreset) { p.DNSNames = []string{"webhook.ns.svc", "localhost"} })
	before := spec.DeepCopy()
	got, err := expand(spec, "ns")
	if err != nil {
		t.Fatal(err)
	}
	domain := &got.TrustDomains[0]
	if diff := cmp.Diff([]string{"webhook.ns.svc", "webhook.ns.svc.cluster.local", "localhost"}, domain.Leaves[0].DNSNames); diff != "" {
		t.Errorf("each name once (-want +got):\n%s", diff)
	}
	if pods := domain.RelyingParties[0].Pods; pods.ContainerPort != 9443 || pods.ServerName != "webhook.ns.svc" {
		t.Errorf("the pods are probed at %+v", pods)
	}
	if delay := domain.RelyingParties[1].Evidence.CABundle.MinimumDelay.Duration; delay != 10*time.Second {
		t.Errorf("the delay is %s", delay)
	}
	domain.Bundle.InjectInto[0].Name, domain.RelyingParties[0].Pods.Selector.MatchLabels["app"] = "changed", "changed"
	if diff := cmp.Diff(before, spec); diff != "" {
		t.Errorf("the input changed (-want +got):\n%s", diff)
	}
}
