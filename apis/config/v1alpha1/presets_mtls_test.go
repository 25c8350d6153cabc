// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func ofApp(name string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}
}

func TestValidateMTLSServiceOfPods(t *testing.T) {
	const params = "spec.preset.mtlsService"
	for _, tc := range []struct {
		name   string
		mutate func(*MTLSServicePreset)
		want   []string
		detail string
	}{
		{name: "pods", mutate: func(*MTLSServicePreset) {}},
		{name: "a port by its name", mutate: func(p *MTLSServicePreset) { p.ServerPods.ContainerPort, p.ServerPods.PortName = 0, "https" }},
		{name: "a client that is no pod as well", mutate: func(p *MTLSServicePreset) { p.Clients = []string{"legacy"} }},
		{
			name: "the name of a Service",
			mutate: func(p *MTLSServicePreset) {
				p.ServerPods, p.ServerAddresses = nil, []string{"10.0.0.7:443", "web.demo.svc:443"}
			},
			want: []string{"FieldValueInvalid " + params + ".serverAddresses[1]"}, detail: "is the name of a Service",
		},
		{
			name:   "the address of a Service",
			mutate: func(p *MTLSServicePreset) { p.ServerPods, p.ServerAddresses = nil, []string{"10.96.3.4:443"} },
			want:   []string{"FieldValueInvalid " + params + ".serverAddresses[0]"}, detail: "is the address of a Service",
		},
		{
			name:   "no port",
			mutate: func(p *MTLSServicePreset) { p.ServerPods.ContainerPort = 0 },
			want:   []string{"FieldValueInvalid " + params + ".serverPods"},
		},
		{
			name: "a client twice",
			mutate: func(p *MTLSServicePreset) {
				p.Clients = []string{"web"}
			},
			want: []string{"FieldValueDuplicate " + params + ".clientPods[0].name"},
		},
		{
			name: "a client that is badly described",
			mutate: func(p *MTLSServicePreset) {
				p.ClientPods = []MTLSClientPods{{Name: "a.b", Selector: *ofApp("a b"), ServiceAccountName: "A"}}
			},
			want: []string{"FieldValueInvalid " + params + ".clientPods[0].name", "FieldValueInvalid " + params + ".clientPods[0].selector.matchLabels", "FieldValueInvalid " + params + ".clientPods[0].serviceAccountName"},
		},
		{
			name: "more clients than a domain has parties for",
			mutate: func(p *MTLSServicePreset) {
				for i := range maxMTLSClients {
					p.Clients = append(p.Clients, fmt.Sprintf("c%d", i))
				}
			},
			want: []string{"FieldValueTooMany " + params + ".clients"},
		},
		{
			name:   "a pattern is no name to verify",
			mutate: func(p *MTLSServicePreset) { p.DNSNames = []string{"*.web.ns.svc"} },
			want:   []string{"FieldValueRequired " + params + ".serverName"},
		},
		{
			name:   "a pattern with a name to verify",
			mutate: func(p *MTLSServicePreset) { p.DNSNames, p.ServerName = []string{"*.web.ns.svc"}, "a.web.ns.svc" },
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			preset := &MTLSServicePreset{
				ServerPods: &MTLSServerPods{Selector: *ofApp("server"), ContainerPort: 8443},
				ClientPods: []MTLSClientPods{{Name: "web", Selector: *ofApp("web")}},
			}
			tc.mutate(preset)
			errs := refusals(t, &RotationConfigurationSpec{
				Preset: &Preset{Name: PresetMTLSService, MTLSService: preset}, ServiceCIDRs: []string{"10.96.0.0/12"},
			}, "ns")
			if diff := cmp.Diff(tc.want, summary(errs)); diff != "" {
				t.Fatalf("errors (-want +got):\n%s\n%v", diff, errs.ToAggregate())
			}
			if len(errs) > 0 && !strings.Contains(errs[0].Error(), tc.detail) {
				t.Errorf("message %q does not contain %q", errs[0].Error(), tc.detail)
			}
		})
	}
}
