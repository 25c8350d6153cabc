// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func hostedPreset(mutate func(*HostedEtcdPreset)) *Preset {
	params := &HostedEtcdPreset{}
	mutate(params)
	return &Preset{Name: PresetHostedEtcd, HostedEtcd: params}
}

func hostedClient(mutate func(*HostedEtcdClient)) func(*HostedEtcdPreset) {
	return func(p *HostedEtcdPreset) {
		client := HostedEtcdClient{Name: "backup", Selector: ofApp("backup")}
		mutate(&client)
		p.Clients = []HostedEtcdClient{client}
	}
}

func TestValidateHostedEtcd(t *testing.T) {
	const params = "spec.preset.hostedEtcd"
	const client = params + ".clients[0]"
	for _, tc := range []struct {
		name   string
		mutate func(*HostedEtcdPreset)
		want   []string
		detail string
	}{
		{name: "nothing but defaults", mutate: func(*HostedEtcdPreset) {}},
		{
			name: "bad names",
			mutate: func(p *HostedEtcdPreset) {
				p.Name, p.StatefulSet, p.Deployment = "a.b", "c.d", "E"
			},
			want: []string{"FieldValueInvalid " + params + ".name", "FieldValueInvalid " + params + ".statefulSet", "FieldValueInvalid " + params + ".deployment"},
		},
		{name: "the longest name", mutate: func(p *HostedEtcdPreset) { p.Name = strings.Repeat("n", 48) }},
		{
			name:   "a name that makes no annotation",
			mutate: func(p *HostedEtcdPreset) { p.Name = strings.Repeat("n", 49) },
			want:   []string{"FieldValueTooLong " + params + ".name"},
			detail: "48",
		},
		{
			name:   "ports that are none",
			mutate: func(p *HostedEtcdPreset) { p.ClientPort, p.PeerPort = 65536, -1 },
			want:   []string{"FieldValueInvalid " + params + ".clientPort", "FieldValueInvalid " + params + ".peerPort"},
		},
		{
			name:   "one port for both",
			mutate: func(p *HostedEtcdPreset) { p.PeerPort = 2379 },
			want:   []string{"FieldValueInvalid " + params + ".peerPort"},
			detail: "a CA each",
		},
		{
			name: "names that no leaf can have",
			mutate: func(p *HostedEtcdPreset) {
				p.Services = []string{"a.b", "etcd"}
				p.DNSNames, p.IPAddresses = []string{"a b", "localhost", "*.etcd.ns.svc"}, []string{"1", "::1"}
			},
			want: []string{"FieldValueInvalid " + params + ".services[0]", "FieldValueInvalid " + params + ".dnsNames[0]", "FieldValueInvalid " + params + ".dnsNames[1]", "FieldValueInvalid " + params + ".dnsNames[2]", "FieldValueInvalid " + params + ".ipAddresses[0]", "FieldValueInvalid " + params + ".ipAddresses[1]"},
		},
		{
			name: "more names than a leaf can have",
			mutate: func(p *HostedEtcdPreset) {
				p.Services = strings.Split("a b c d e f g h", " ")
				for i := range 32 {
					p.DNSNames = append(p.DNSNames, strings.Repeat("x", i+1)+".example.com")
				}
			},
			want: []string{"FieldValueTooMany " + params + ".dnsNames"},
		},
		{
			name:   "a selector that is none",
			mutate: func(p *HostedEtcdPreset) { p.MemberSelector = ofApp("a b") },
			want:   []string{"FieldValueInvalid " + params + ".memberSelector.matchLabels"},
		},
		{
			name:   "etcd and kube-apiserver in one pod",
			mutate: func(p *HostedEtcdPreset) { p.APIServerSelector = ofApp("etcd") },
			want:   []string{"FieldValueInvalid " + params + ".apiServerSelector"},
			detail: "app=etcd",
		},
		{
			name:   "by the defaults as well",
			mutate: func(p *HostedEtcdPreset) { p.Deployment = "etcd" },
			want:   []string{"FieldValueInvalid " + params + ".apiServerSelector"},
			detail: "the pods of etcd",
		},
		{
			name: "clients of bad names",
			mutate: func(p *HostedEtcdPreset) {
				p.Clients = []HostedEtcdClient{{Name: "a.b"}, {Name: strings.Repeat("c", 52)}}
			},
			want: []string{"FieldValueInvalid " + params + ".clients[0].name", "FieldValueInvalid " + params + ".clients[1].name"},
		},
		{
			name:   "a client twice",
			mutate: func(p *HostedEtcdPreset) { p.Clients = []HostedEtcdClient{{Name: "a"}, {Name: "a"}} },
			want:   []string{"FieldValueDuplicate " + params + ".clients[1]"},
		},
		{
			name: "a sidecar with a workload of its own",
			mutate: hostedClient(func(c *HostedEtcdClient) {
				c.Selector, c.Workload = nil, &Workload{Kind: Deployment, Name: "backup"}
			}),
			want: []string{"FieldValueInvalid " + client},
		},
		{
			name:   "a sidecar by the selector of etcd",
			mutate: hostedClient(func(c *HostedEtcdClient) { c.Selector = ofApp("etcd") }),
			want:   []string{"FieldValueInvalid " + client + ".selector"},
			detail: "a sidecar of etcd has no selector",
		},
		{
			name:   "any pod as a client",
			mutate: hostedClient(func(c *HostedEtcdClient) { c.Selector = &metav1.LabelSelector{} }),
			want:   []string{"FieldValueInvalid " + client + ".selector"},
		},
		{
			name:   "the StatefulSet of etcd",
			mutate: hostedClient(func(c *HostedEtcdClient) { c.Workload = &Workload{Kind: StatefulSet, Name: "etcd"} }),
			want:   []string{"FieldValueInvalid " + client + ".workload"},
			detail: "a sidecar of etcd",
		},
		{
			name:   "the Deployment of kube-apiserver",
			mutate: hostedClient(func(c *HostedEtcdClient) { c.Workload = &Workload{Kind: Deployment, Name: "kube-apiserver"} }),
			want:   []string{"FieldValueInvalid " + client + ".workload"},
			detail: "a client already",
		},
		{
			name:   "a workload that cannot be restarted",
			mutate: hostedClient(func(c *HostedEtcdClient) { c.Workload = &Workload{Kind: "CronJob", Name: "backup"} }),
			want:   []string{"FieldValueNotSupported " + client + ".workload.kind"},
		},
		{
			name: "a workload that acknowledges",
			mutate: hostedClient(func(c *HostedEtcdClient) {
				c.Workload, c.ServiceAccountName = &Workload{Kind: DaemonSet, Name: "backup"}, "A"
			}),
			want: []string{"FieldValueInvalid " + client},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			errs := refusals(t, &RotationConfigurationSpec{Preset: hostedPreset(tc.mutate)}, "ns")
			if diff := cmp.Diff(tc.want, summary(errs)); diff != "" {
				t.Fatalf("errors (-want +got):\n%s\n%v", diff, errs.ToAggregate())
			}
			if len(errs) > 0 && !strings.Contains(errs[0].Error(), tc.detail) {
				t.Errorf("message %q does not contain %q", errs[0].Error(), tc.detail)
			}
		})
	}
}

// TestHostedEtcdLetsNoClientBeAPeer: the peer port must not accept a leaf of the CA of clients.
func TestHostedEtcdLetsNoClientBeAPeer(t *testing.T) {
	cfg := expanded(t, &RotationConfigurationSpec{Preset: hostedPreset(func(p *HostedEtcdPreset) { p.Clients = []HostedEtcdClient{{Name: "backup"}} })}, "ns")
	peers := cfg.TrustDomains[0]
	if len(peers.Leaves) != 1 || peers.Leaves[0].SecretName != "etcd-peer" {
		t.Errorf("the CA of peers signs %+v", peers.Leaves)
	}
	if clients := cfg.TrustDomains[1]; clients.Signer.SecretName == peers.Signer.SecretName || clients.Bundle.ConfigMapName == peers.Bundle.ConfigMapName {
		t.Errorf("one CA for both: %+v, %+v", peers.Signer, clients.Signer)
	}
}

// TestHostedEtcdSharesNothing changes what expand returned and expects the input unchanged.
func TestHostedEtcdSharesNothing(t *testing.T) {
	cfg := &RotationConfigurationSpec{Preset: hostedPreset(func(p *HostedEtcdPreset) {
		p.MemberSelector, p.APIServerSelector, p.DNSNames = ofApp("a"), ofApp("b"), []string{"a.example"}
		p.Clients = []HostedEtcdClient{{Name: "c", Selector: ofApp("c"), Workload: &Workload{Kind: Deployment, Name: "c"}}}
	})}
	before := cfg.DeepCopy()
	got := expanded(t, cfg, "ns")
	for i := range got.TrustDomains {
		domain := &got.TrustDomains[i]
		for j := range domain.Leaves {
			clear(domain.Leaves[j].DNSNames)
		}
		for j := range domain.RelyingParties {
			party := &domain.RelyingParties[j]
			if party.Pods == nil {
				continue
			}
			if len(party.Pods.Selector.MatchLabels) == 0 {
				t.Errorf("party %s shares its selector with another one", party.Name)
			}
			clear(party.Pods.Selector.MatchLabels)
			if rollout := party.Evidence.WorkloadRollout; rollout != nil {
				clear(rollout.Workloads)
			}
		}
	}
	if diff := cmp.Diff(before, cfg); diff != "" {
		t.Errorf("the input changed (-want +got):\n%s", diff)
	}
}
