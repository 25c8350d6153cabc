// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func kubeadmPreset(mutate func(*KubeadmEtcdPreset)) *RotationConfigurationSpec {
	params := &KubeadmEtcdPreset{}
	mutate(params)
	return &RotationConfigurationSpec{Preset: &Preset{Name: PresetKubeadmEtcd, KubeadmEtcd: params}}
}

func TestValidateKubeadmEtcd(t *testing.T) {
	const params = "spec.preset.kubeadmEtcd"
	for _, test := range []struct {
		name string
		spec *RotationConfigurationSpec
		want []string
	}{
		{name: "no parameters", spec: &RotationConfigurationSpec{Preset: &Preset{Name: PresetKubeadmEtcd}}},
		{name: "some", spec: kubeadmPreset(func(p *KubeadmEtcdPreset) { p.Clients, p.Key = []string{"prometheus"}, ECDSAP256 })},
		{
			name: "parameters of another preset",
			spec: func() *RotationConfigurationSpec {
				out := kubeadmPreset(func(*KubeadmEtcdPreset) {})
				out.Preset.Name = PresetOpenShiftEtcd
				return out
			}(),
			want: []string{"FieldValueInvalid spec.preset"},
		},
		{
			name: "names that are none",
			spec: kubeadmPreset(func(p *KubeadmEtcdPreset) {
				p.NodeSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"a b": "c"}}
				p.ClassName, p.Clients = "A", []string{"a.b"}
			}),
			want: []string{"FieldValueInvalid " + params + ".nodeSelector.matchLabels", "FieldValueInvalid " + params + ".className", "FieldValueInvalid " + params + ".clients[0]"},
		},
		{
			name: "a rollout besides",
			spec: &RotationConfigurationSpec{Preset: &Preset{Name: PresetKubeadmEtcd}, Rollout: &Rollout{StaticPod: &StaticPodRollout{
				Name: "x", ClassName: "x", NodeSelector: metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}, ConfigMapNames: []string{"c"},
			}}},
			want: []string{"FieldValueForbidden spec.rollout"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			errs := refusals(t, test.spec, KubeadmNamespace)
			if diff := cmp.Diff(test.want, summary(errs)); diff != "" {
				t.Errorf("errors (-want +got):\n%s\n%v", diff, errs.ToAggregate())
			}
		})
	}
}

// TestExpandKubeadmEtcd: each leaf has a party that presents it and one that verifies it. One revision brings both
// static pods.
func TestExpandKubeadmEtcd(t *testing.T) {
	spec := kubeadmPreset(func(p *KubeadmEtcdPreset) {
		p.NodeSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"role": "master"}}
		p.Clients = []string{"prometheus"}
	})
	before := spec.DeepCopy()
	got := expanded(t, spec, KubeadmNamespace)
	type story struct{ Presents, Verifies []string }
	domain, parties := &got.TrustDomains[0], map[string]story{}
	for i := range domain.RelyingParties {
		p := &domain.RelyingParties[i]
		s := story{Presents: p.Presents}
		for _, leaf := range domain.Leaves {
			if p.Verifies.Matches(leaf) {
				s.Verifies = append(s.Verifies, leaf.SecretName)
			}
		}
		parties[p.Name+" by "+string(p.Evidence.Kind)] = s
	}
	const server, peer, apiServer, health, prometheus = KubeadmServerLeaf, KubeadmPeerLeaf, KubeadmAPIServerLeaf, kubeadmHealthcheck, "etcd-client-prometheus"
	all := []string{server, peer, apiServer, health, prometheus}
	want := map[string]story{
		"etcd by staticPodRevision":            {[]string{server, peer}, all},
		"etcd-server by tlsProbe":              {[]string{server}, all},
		"etcd-peer by tlsProbe":                {[]string{peer}, all},
		"kube-apiserver by staticPodRevision":  {[]string{apiServer}, []string{server}},
		"certrotation by none":                 {[]string{health}, nil},
		"client-prometheus by acknowledgement": {[]string{prometheus}, []string{server}},
	}
	if diff := cmp.Diff(want, parties); diff != "" {
		t.Errorf("parties (-want +got):\n%s", diff)
	}
	rollout := got.Rollout.StaticPod
	if diff := cmp.Diff([]string{"etcd", "kube-apiserver"}, rollout.StaticPods()); diff != "" || rollout.ClassName != "kubeadm-etcd" {
		t.Errorf("rollout of class %s (-want +got):\n%s", rollout.ClassName, diff)
	}
	if domain.Signer.SecretName != "etcd-ca" || domain.Signer.Policy.Key != RSA2048 {
		t.Errorf("signer %+v", domain.Signer)
	}
	rollout.NodeSelector.MatchLabels["role"] = "changed"
	domain.Leaves[0].ForEachNode.MatchLabels["role"] = "changed"
	if diff := cmp.Diff(before, spec); diff != "" {
		t.Errorf("the input changed (-want +got):\n%s", diff)
	}
}
