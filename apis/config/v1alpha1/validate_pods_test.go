// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// onPods gives the party "server" pods that are probed.
func onPods(mutate func(*RelyingParty)) func(*RotationConfigurationSpec) {
	return onParty(func(p *RelyingParty) {
		p.Members, p.Evidence.TLSProbe.Endpoints = nil, nil
		p.Pods = &PodMembers{Selector: metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, ContainerPort: 8443}
		mutate(p)
	})
}

func acknowledgedPods(mutate func(*RelyingParty)) func(*RotationConfigurationSpec) {
	return onPods(func(p *RelyingParty) {
		p.Evidence, p.Pods.ContainerPort = Evidence{Kind: EvidenceAcknowledgement}, 0
		mutate(p)
	})
}

func TestValidatePods(t *testing.T) {
	const (
		server = "spec.trustDomains[0].relyingParties[0]"
		pods   = server + ".pods"
	)
	runValidateCases(t, []validateCase{
		{name: "probed at a port", mutate: onPods(func(*RelyingParty) {})},
		{name: "probed at a port by name", mutate: onPods(func(p *RelyingParty) { p.Pods.ContainerPort, p.Pods.PortName = 0, "https" })},
		{name: "probed by a name of their own", mutate: onPods(func(p *RelyingParty) { p.Pods.ServerName = "web.example" })},
		{name: "acknowledging", mutate: acknowledgedPods(func(*RelyingParty) {})},
		{
			name: "and nodes", mutate: acknowledgedPods(func(p *RelyingParty) { p.ForEachNode = &metav1.LabelSelector{} }),
			want: []string{"FieldValueInvalid " + server}, detail: "only one of these",
		},
		{
			name: "and members", mutate: acknowledgedPods(func(p *RelyingParty) { p.Members = []string{"a"} }),
			want: []string{"FieldValueInvalid " + server}, detail: "only one of these",
		},
		{
			name: "and endpoints", mutate: onPods(func(p *RelyingParty) { p.Evidence.TLSProbe.Endpoints = []ProbeEndpoint{{Address: "a:1"}} }),
			want: []string{"FieldValueInvalid " + server}, detail: "take none",
		},
		{
			name: "two ports", mutate: onPods(func(p *RelyingParty) { p.Pods.PortName = "https" }),
			want: []string{"FieldValueInvalid " + pods}, detail: "not both",
		},
		{
			name: "no port", mutate: onPods(func(p *RelyingParty) { p.Pods.ContainerPort = 0 }),
			want: []string{"FieldValueInvalid " + server}, detail: "only with it",
		},
		{
			name: "a port that nobody probes", mutate: acknowledgedPods(func(p *RelyingParty) { p.Pods.ContainerPort = 1 }),
			want: []string{"FieldValueInvalid " + server}, detail: "only with it",
		},
		{
			name: "a server name that nobody is asked for", mutate: acknowledgedPods(func(p *RelyingParty) { p.Pods.ServerName = "web" }),
			want: []string{"FieldValueInvalid " + pods}, detail: "serverName is for a probe",
		},
		{
			name: "every pod of the namespace", mutate: onPods(func(p *RelyingParty) { p.Pods.Selector = metav1.LabelSelector{} }),
			want: []string{"FieldValueInvalid " + pods}, detail: "chooses every pod",
		},
		{
			name: "a port out of range", mutate: onPods(func(p *RelyingParty) { p.Pods.ContainerPort = 65536 }),
			want: []string{"FieldValueInvalid " + pods + ".containerPort"}, detail: "65535",
		},
		{
			name: "a port name that is none", mutate: onPods(func(p *RelyingParty) { p.Pods.ContainerPort, p.Pods.PortName = 0, "Https" }),
			want: []string{"FieldValueInvalid " + pods + ".portName"},
		},
		{
			name: "an operator that is none", mutate: onPods(func(p *RelyingParty) {
				p.Pods.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Like"}}
			}),
			want: []string{"FieldValueInvalid " + pods + ".selector.matchExpressions[0].operator"},
		},
	})
}

// TestValidateAddressesOfServices: the error says what to write instead of a Service.
func TestValidateAddressesOfServices(t *testing.T) {
	const at = "spec.trustDomains[0].relyingParties[0].evidence.tlsProbe.endpoints[0].address"
	for _, tc := range []struct {
		name, address string
		refused       bool
	}{
		{"a Service", "web.demo.svc:443", true},
		{"a Service by its whole name", "web.demo.svc.cluster.local:443", true},
		{"a Service with a dot at the end", "web.demo.SVC.:443", true},
		{"an address of a Service", "10.96.3.4:443", true},
		{"an address of a Service of IPv6", "[fd00:96::1]:443", true},
		{"an address of a Service as IPv4 in IPv6", "[::ffff:10.96.3.4]:443", true},
		{"an address of somebody else", "10.0.3.4:443", false},
		{"a host that is called like one", "svc.example:443", false},
	} {
		tt := validateCase{name: tc.name, mutate: func(c *RotationConfigurationSpec) {
			c.ServiceCIDRs = []string{"10.96.0.0/12", "fd00:96::/112"}
			onProbe(func(p *TLSProbe) { p.Endpoints[0].Address = tc.address })(c)
		}}
		if tc.refused {
			tt.want, tt.detail = []string{"FieldValueInvalid " + at}, "pods: {selector: ..., containerPort: ...}"
		}
		runValidateCases(t, []validateCase{tt})
	}
}

func TestDefaultsOfPods(t *testing.T) {
	spec := validConfig()
	onPods(func(*RelyingParty) {})(spec)
	probe := expanded(t, spec, "ns").TrustDomains[0].RelyingParties[0].Evidence.TLSProbe
	if len(probe.Endpoints) > 0 || probe.Interval == nil || probe.Timeout == nil || probe.Proof == "" {
		t.Errorf("loaded as %+v", probe)
	}
}
