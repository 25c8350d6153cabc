// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	runDefinitionCases(t, []definitionCase{
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
		{
			name:   "a start gate of a hosted etcd",
			mutate: onHostedPreset(func(p *HostedEtcdPreset) { p.StartGate = "Hoped" }),
			path:   "spec.preset.hostedEtcd.startGate", detail: "Assumed",
		},
		{name: "a key of a hosted etcd", mutate: onHostedPreset(func(p *HostedEtcdPreset) { p.Key = "DSA" }), path: "spec.preset.hostedEtcd.key", detail: "RSA-2048"},
		{
			name:   "a service twice",
			mutate: onHostedPreset(func(p *HostedEtcdPreset) { p.Services = []string{"etcd", "etcd"} }),
			path:   "spec.preset.hostedEtcd.services[1]", detail: "Duplicate",
		},
		{
			name:   "a client of etcd without a name",
			mutate: onHostedPreset(func(p *HostedEtcdPreset) { p.Clients = []HostedEtcdClient{{}} }),
			path:   "spec.preset.hostedEtcd.clients[0].name", detail: "at least 1",
		},
		{
			name:   "more clients of etcd than there may be",
			mutate: onHostedPreset(func(p *HostedEtcdPreset) { p.Clients = make([]HostedEtcdClient, 33) }),
			path:   "spec.preset.hostedEtcd.clients", detail: "at most 32",
		},
		{
			name:   "a workload of a client without a name",
			mutate: onHostedPreset(hostedClient(func(c *HostedEtcdClient) { c.Workload = &Workload{Kind: Deployment} })),
			path:   "spec.preset.hostedEtcd.clients[0].workload.name", detail: "at least 1",
		},
		{
			name:   "any pod as kube-apiserver",
			mutate: onHostedPreset(func(p *HostedEtcdPreset) { p.APIServerSelector = &metav1.LabelSelector{} }),
			path:   "spec.preset.hostedEtcd.apiServerSelector", detail: "every pod of the namespace",
		},
		{name: "a key of a service", mutate: onMTLSPreset(func(p *MTLSServicePreset) { p.Key = "DSA" }), path: "spec.preset.mtlsService.key", detail: "RSA-2048"},
		{
			name:   "a client twice",
			mutate: onMTLSPreset(func(p *MTLSServicePreset) { p.Clients = []string{"c", "c"} }),
			path:   "spec.preset.mtlsService.clients[1]", detail: "Duplicate",
		},
		{
			name: "pods of a client twice",
			mutate: onMTLSPreset(func(p *MTLSServicePreset) {
				client := MTLSClientPods{Name: "web", Selector: *ofApp("web")}
				p.ClientPods = []MTLSClientPods{client, client}
			}),
			path: "spec.preset.mtlsService.clientPods[1]", detail: "Duplicate",
		},
		{
			name: "any pod as the server",
			mutate: onMTLSPreset(func(p *MTLSServicePreset) {
				p.ServerAddresses, p.ServerPods = nil, &MTLSServerPods{ContainerPort: 8443}
			}),
			path: "spec.preset.mtlsService.serverPods.selector", detail: "every pod of the namespace",
		},
		{
			name: "a key of OpenShift's etcd",
			mutate: func(c *RotationConfigurationSpec) {
				*c = RotationConfigurationSpec{Preset: &Preset{Name: PresetOpenShiftEtcd, OpenShiftEtcd: &OpenShiftEtcdPreset{Key: "DSA"}}}
			},
			path: "spec.preset.openshiftEtcd.key", detail: "RSA-2048",
		},
		{
			name: "parameters of a service for OpenShift's etcd",
			mutate: func(c *RotationConfigurationSpec) {
				c.Preset = mtlsPreset(func(*MTLSServicePreset) {})
				c.Preset.Name = PresetOpenShiftEtcd
			},
			path: "spec.preset", detail: "mtlsService",
		},
		{
			name:   "a key of kubeadm's etcd",
			mutate: func(c *RotationConfigurationSpec) { *c = *kubeadmPreset(func(p *KubeadmEtcdPreset) { p.Key = "DSA" }) },
			path:   "spec.preset.kubeadmEtcd.key", detail: "RSA-2048",
		},
		{
			name: "a strategy of kubeadm's etcd",
			mutate: func(c *RotationConfigurationSpec) {
				*c = *kubeadmPreset(func(p *KubeadmEtcdPreset) { p.Strategy = "Luck" })
			},
			path: "spec.preset.kubeadmEtcd.strategy", detail: "TwoNode",
		},
		{
			name: "a key of a webhook",
			mutate: func(c *RotationConfigurationSpec) {
				*c = *webhookPreset(func(p *WebhookServerPreset) { p.Key = "DSA" })
			},
			path: "spec.preset.webhookServer.key", detail: "RSA-2048",
		},
		{
			name: "a port of a webhook out of range",
			mutate: func(c *RotationConfigurationSpec) {
				*c = *webhookPreset(func(p *WebhookServerPreset) { p.Pods.ContainerPort = 70000 })
			},
			path: "spec.preset.webhookServer.pods.containerPort", detail: "65535",
		},
		{
			name: "any pod as a webhook",
			mutate: func(c *RotationConfigurationSpec) {
				*c = *webhookPreset(func(p *WebhookServerPreset) { p.Pods = PodMembers{} })
			},
			path: "spec.preset.webhookServer.pods", detail: "every pod of the namespace",
		},
	})
}
