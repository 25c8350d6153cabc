// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// onMounted gives the party "server" pods with the evidence mounted.
func onMounted(mutate func(*RelyingParty)) func(*RotationConfigurationSpec) {
	return acknowledgedPods(func(p *RelyingParty) {
		p.Evidence = Evidence{Kind: EvidenceMounted, Mounted: &MountedEvidence{TrustVolume: "trust", LeafVolumes: []string{"tls"}}}
		mutate(p)
	})
}

// onMountingPods selects the pods of the party "server" by the leaf that they mount.
func onMountingPods(mutate func(*RelyingParty)) func(*RotationConfigurationSpec) {
	return acknowledgedPods(func(p *RelyingParty) {
		p.Pods.Selector, p.Pods.Mounting = metav1.LabelSelector{}, &MountedLeaf{SecretName: "web-server"}
		mutate(p)
	})
}

func TestValidateMounted(t *testing.T) {
	const (
		server = "spec.trustDomains[0].relyingParties[0]"
		at     = server + ".evidence.mounted"
	)
	runValidateCases(t, []validateCase{
		{name: "anchors and a leaf", mutate: onMounted(func(*RelyingParty) {})},
		{name: "a key", mutate: onMounted(func(p *RelyingParty) { p.Evidence.Mounted.TrustKey = "ca.crt" })},
		{
			name: "no parameters", mutate: onMounted(func(p *RelyingParty) { p.Evidence.Mounted = nil }),
			want: []string{"FieldValueInvalid " + server + ".evidence"}, detail: "say which volumes",
		},
		{
			name: "no volume at all", mutate: onMounted(func(p *RelyingParty) { *p.Evidence.Mounted = MountedEvidence{} }),
			want: []string{"FieldValueInvalid " + at}, detail: "or both",
		},
		{
			name: "no anchors", mutate: onMounted(func(p *RelyingParty) { p.Evidence.Mounted.TrustVolume = "" }),
			want: []string{"FieldValueRequired " + at + ".trustVolume"}, detail: "verifies: {nothing: true}",
		},
		{
			name: "no leaf", mutate: onMounted(func(p *RelyingParty) { p.Evidence.Mounted.LeafVolumes = nil }),
			want: []string{"FieldValueRequired " + at + ".leafVolumes"},
		},
		{
			name: "anchors of who verifies nothing", mutate: onMountedPresenter(func(p *RelyingParty) { p.Evidence.Mounted.TrustVolume = "trust" }),
			want: []string{"FieldValueForbidden " + at + ".trustVolume"},
		},
		{name: "a leaf of who verifies nothing", mutate: onMountedPresenter(func(*RelyingParty) {})},
		{
			name: "a key of nothing", mutate: onMountedPresenter(func(p *RelyingParty) { p.Evidence.Mounted.TrustKey = "ca.crt" }),
			want: []string{"FieldValueInvalid " + at}, detail: "of what trustVolume shows",
		},
		{
			name: "names that are none", mutate: onMounted(func(p *RelyingParty) {
				*p.Evidence.Mounted = MountedEvidence{TrustVolume: "Trust", TrustKey: "a/b", LeafVolumes: []string{"tls.crt"}}
			}),
			want: []string{"FieldValueInvalid " + at + ".trustVolume", "FieldValueInvalid " + at + ".trustKey", "FieldValueInvalid " + at + ".leafVolumes[0]"},
		},
		{
			name: "no pods", mutate: onMounted(func(p *RelyingParty) { p.Pods = nil }),
			want: []string{"FieldValueInvalid " + server}, detail: "the party needs pods",
		},
		{
			name: "parameters of another kind", mutate: onMounted(func(p *RelyingParty) { p.Evidence.Kind = EvidenceAcknowledgement }),
			want: []string{"FieldValueInvalid " + server + ".evidence"}, detail: "say which volumes",
		},
		{name: "pods that mount its leaf", mutate: onMountingPods(func(*RelyingParty) {})},
		{
			name: "pods that mount another leaf", mutate: onMountingPods(func(p *RelyingParty) { p.Pods.Mounting.SecretName = "web-client" }),
			want: []string{"FieldValueInvalid " + server + ".pods.mounting.secretName"}, detail: "name one of presents",
		},
		{
			name: "pods that mount nothing", mutate: onMountingPods(func(p *RelyingParty) { p.Pods.Mounting.SecretName = "" }),
			want: []string{"FieldValueInvalid " + server + ".pods.mounting.secretName"}, detail: "secretName",
		},
		{
			name:   "pods by labels and by what they mount",
			mutate: onMountingPods(func(p *RelyingParty) { p.Pods.Selector.MatchLabels = map[string]string{"app": "web"} }),
			want:   []string{"FieldValueInvalid " + server + ".pods"}, detail: "only one of these",
		},
	})
}

// onMountedPresenter lets the party "server" only present leaves, and adds another party that verifies.
func onMountedPresenter(mutate func(*RelyingParty)) func(*RotationConfigurationSpec) {
	return func(c *RotationConfigurationSpec) {
		onMounted(func(p *RelyingParty) {
			p.Verifies, p.Evidence.Mounted.TrustVolume = LeafSelection{Nothing: true}, ""
			mutate(p)
		})(c)
		c.TrustDomains[0].RelyingParties = append(c.TrustDomains[0].RelyingParties, RelyingParty{
			Name: "who-verifies", Verifies: LeafSelection{Leaves: []string{"web-client"}}, Evidence: Evidence{Kind: EvidenceAcknowledgement},
		})
	}
}

func TestDefaultsOfMounted(t *testing.T) {
	spec := validConfig()
	onMounted(func(*RelyingParty) {})(spec)
	if got := expanded(t, spec, "ns").TrustDomains[0].RelyingParties[0].Evidence.Mounted.TrustKey; got != "ca-bundle.crt" {
		t.Errorf("the key is %q", got)
	}
}

func TestSecretOf(t *testing.T) {
	for name, want := range map[string]string{"leaf": "leaf", "leaf-{node}": "leaf-n1"} {
		if got := (&MountedLeaf{SecretName: name}).SecretOf("n1"); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}
