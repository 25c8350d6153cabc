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
	for _, test := range []struct {
		name string
		spec *RotationConfigurationSpec
		want []string
	}{
		{name: "the least", spec: webhookPreset(func(*WebhookServerPreset) {})},
		{
			name: "no parameters", spec: &RotationConfigurationSpec{Preset: &Preset{Name: PresetWebhookServer}},
			want: []string{"FieldValueInvalid spec.preset"},
		},
		{
			name: "parameters of another preset",
			spec: func() *RotationConfigurationSpec {
				out := webhookPreset(func(*WebhookServerPreset) {})
				out.Preset.Name = PresetOpenShiftEtcd
				return out
			}(),
			want: []string{"FieldValueInvalid spec.preset"},
		},
		{
			name: "nowhere to inject",
			spec: webhookPreset(func(p *WebhookServerPreset) { p.InjectInto = nil }),
			want: []string{"FieldValueTypeInvalid " + params + ".injectInto"},
		},
		{
			name: "names that are none",
			spec: webhookPreset(func(p *WebhookServerPreset) {
				p.Name, p.Service, p.DNSNames = "a.b", "1a", []string{"a b"}
			}),
			want: []string{"FieldValueInvalid " + params + ".name", "FieldValueInvalid " + params + ".service", "FieldValueInvalid " + params + ".dnsNames[0]"},
		},
		{
			name: "a name that makes no common name",
			spec: webhookPreset(func(p *WebhookServerPreset) { p.Name, p.Service = strings.Repeat("n", 60), "web" }),
			want: []string{"FieldValueTooLong " + params + ".name"},
		},
		{
			name: "a target twice",
			spec: webhookPreset(func(p *WebhookServerPreset) {
				p.InjectInto = append(p.InjectInto, p.InjectInto...)
			}),
			want: []string{"FieldValueDuplicate " + params + ".injectInto[1]"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			errs := refusals(t, test.spec, "ns")
			if diff := cmp.Diff(test.want, summary(errs)); diff != "" {
				t.Errorf("errors (-want +got):\n%s\n%v", diff, errs.ToAggregate())
			}
		})
	}
}

func TestExpandWebhookServer(t *testing.T) {
	spec := webhookPreset(func(p *WebhookServerPreset) { p.DNSNames = []string{"webhook.ns.svc", "localhost"} })
	before := spec.DeepCopy()
	got := expanded(t, spec, "ns")
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
