// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// onMTLSPreset replaces a configuration by the preset.
func onMTLSPreset(mutate func(*MTLSServicePreset)) func(*RotationConfigurationSpec) {
	return func(c *RotationConfigurationSpec) { *c = RotationConfigurationSpec{Preset: mtlsPreset(mutate)} }
}

// onHostedPreset replaces a configuration by the preset.
func onHostedPreset(mutate func(*HostedEtcdPreset)) func(*RotationConfigurationSpec) {
	return func(c *RotationConfigurationSpec) { *c = RotationConfigurationSpec{Preset: hostedPreset(mutate)} }
}

func TestDefinitionRefusesParametersOfPresets(t *testing.T) {
	for _, tc := range []struct {
		name   string
		mutate func(*RotationConfigurationSpec)
		path   string
		detail string
	}{
		{
			name: "a server with addresses and pods",
			mutate: onMTLSPreset(func(p *MTLSServicePreset) {
				p.ServerPods = &MTLSServerPods{Selector: *ofApp("server"), ContainerPort: 8443}
			}),
			path: "spec.preset.mtlsService", detail: "exactly one of these",
		},
		{
			name:   "a server nowhere",
			mutate: onMTLSPreset(func(p *MTLSServicePreset) { p.ServerAddresses = nil }),
			path:   "spec.preset.mtlsService", detail: "exactly one of these",
		},
		{
			name:   "no clients",
			mutate: onMTLSPreset(func(p *MTLSServicePreset) { p.Clients = nil }),
			path:   "spec.preset.mtlsService", detail: "clientPods",
		},
		{
			name: "any pod as a client",
			mutate: onMTLSPreset(func(p *MTLSServicePreset) {
				p.ClientPods = []MTLSClientPods{{Name: "web"}}
			}),
			path: "spec.preset.mtlsService.clientPods[0].selector", detail: "every pod of the namespace",
		},
		{
			name: "a port of the server twice",
			mutate: onMTLSPreset(func(p *MTLSServicePreset) {
				p.ServerAddresses, p.ServerPods = nil, &MTLSServerPods{Selector: *ofApp("server"), ContainerPort: 8443, PortName: "https"}
			}),
			path: "spec.preset.mtlsService.serverPods", detail: "exactly one of these",
		},
		{
			name: "a hosted etcd of another preset",
			mutate: func(c *RotationConfigurationSpec) {
				*c = RotationConfigurationSpec{Preset: &Preset{Name: PresetOpenShiftEtcd, HostedEtcd: &HostedEtcdPreset{}}}
			},
			path: "spec.preset", detail: "hostedEtcd",
		},
		{
			name:   "any pod as etcd",
			mutate: onHostedPreset(func(p *HostedEtcdPreset) { p.MemberSelector = &metav1.LabelSelector{} }),
			path:   "spec.preset.hostedEtcd.memberSelector", detail: "every pod of the namespace",
		},
		{
			name:   "a sidecar of etcd that acknowledges",
			mutate: onHostedPreset(hostedClient(func(c *HostedEtcdClient) { c.Selector, c.ServiceAccountName = nil, "backup" })),
			path:   "spec.preset.hostedEtcd.clients[0]", detail: "give their selector",
		},
		{
			name: "a workload that acknowledges",
			mutate: onHostedPreset(hostedClient(func(c *HostedEtcdClient) {
				c.Workload, c.ServiceAccountName = &Workload{Kind: Deployment, Name: "backup"}, "backup"
			})),
			path: "spec.preset.hostedEtcd.clients[0]", detail: "pods that acknowledge",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			spec := &RotationConfigurationSpec{}
			tc.mutate(spec)
			errs := refusals(t, spec, "ns")
			if !slices.ContainsFunc(errs, func(err *field.Error) bool {
				return err.Field == tc.path && strings.Contains(err.Error(), tc.detail)
			}) {
				t.Errorf("want an error of %s about %q, got %v", tc.path, tc.detail, errs.ToAggregate())
			}
		})
	}
}
