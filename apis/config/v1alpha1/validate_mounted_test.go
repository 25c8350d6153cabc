// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"strings"
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

// mountedCases have in rule what the schema says, if it can refuse the case.
func mountedCases() []struct {
	validateCase
	rule string
} {
	const (
		server = "spec.trustDomains[0].relyingParties[0]"
		at     = server + ".evidence.mounted"
	)
	return []struct {
		validateCase
		rule string
	}{
		{validateCase: validateCase{name: "anchors and a leaf", mutate: onMounted(func(*RelyingParty) {})}},
		{validateCase: validateCase{name: "a key", mutate: onMounted(func(p *RelyingParty) { p.Evidence.Mounted.TrustKey = "ca.crt" })}},
		{validateCase: validateCase{
			name: "no parameters", mutate: onMounted(func(p *RelyingParty) { p.Evidence.Mounted = nil }),
			want: []string{"FieldValueRequired " + at}, detail: "trustVolume shows their anchors",
		}, rule: "say which volumes"},
		{validateCase: validateCase{
			name: "no volume at all", mutate: onMounted(func(p *RelyingParty) { *p.Evidence.Mounted = MountedEvidence{} }),
			want: []string{"FieldValueRequired " + at + ".trustVolume", "FieldValueRequired " + at + ".leafVolumes"},
		}, rule: "or both"},
		{validateCase: validateCase{
			name: "no anchors", mutate: onMounted(func(p *RelyingParty) { p.Evidence.Mounted.TrustVolume = "" }),
			want: []string{"FieldValueRequired " + at + ".trustVolume"}, detail: "verifies: {nothing: true}",
		}},
		{validateCase: validateCase{
			name: "no leaf", mutate: onMounted(func(p *RelyingParty) { p.Evidence.Mounted.LeafVolumes = nil }),
			want: []string{"FieldValueRequired " + at + ".leafVolumes"},
		}},
		{validateCase: validateCase{
			name: "anchors of who verifies nothing", mutate: onMountedPresenter(func(p *RelyingParty) { p.Evidence.Mounted.TrustVolume = "trust" }),
			want: []string{"FieldValueForbidden " + at + ".trustVolume"},
		}},
		{validateCase: validateCase{name: "a leaf of who verifies nothing", mutate: onMountedPresenter(func(*RelyingParty) {})}},
		{validateCase: validateCase{
			name: "a key of nothing", mutate: onMountedPresenter(func(p *RelyingParty) { p.Evidence.Mounted.TrustKey = "ca.crt" }),
			want: []string{"FieldValueForbidden " + at + ".trustKey"},
		}, rule: "of what trustVolume shows"},
		{validateCase: validateCase{
			name: "names that are none", mutate: onMounted(func(p *RelyingParty) {
				*p.Evidence.Mounted = MountedEvidence{TrustVolume: "Trust", TrustKey: "a/b", LeafVolumes: []string{"tls.crt", "tls", "tls"}}
			}),
			want: []string{
				"FieldValueInvalid " + at + ".trustVolume", "FieldValueInvalid " + at + ".trustKey",
				"FieldValueInvalid " + at + ".leafVolumes[0]", "FieldValueDuplicate " + at + ".leafVolumes[2]",
			},
		}, rule: "leafVolumes[2]"},
		{validateCase: validateCase{
			name: "no pods", mutate: onMounted(func(p *RelyingParty) { p.Pods = nil }),
			want: []string{"FieldValueInvalid " + server + ".evidence.kind"}, detail: "the party needs pods",
		}, rule: "the party needs pods"},
		{validateCase: validateCase{
			name: "parameters of another kind", mutate: onMounted(func(p *RelyingParty) { p.Evidence.Kind = EvidenceAcknowledgement }),
			want: []string{"FieldValueForbidden " + at},
		}, rule: "say which volumes"},
		{validateCase: validateCase{name: "pods that mount its leaf", mutate: onMountingPods(func(*RelyingParty) {})}},
		{validateCase: validateCase{
			name: "pods that mount another leaf", mutate: onMountingPods(func(p *RelyingParty) { p.Pods.Mounting.SecretName = "web-client" }),
			want: []string{"FieldValueInvalid " + server + ".pods.mounting.secretName"}, detail: "name one of presents",
		}},
		{validateCase: validateCase{
			name: "pods that mount nothing", mutate: onMountingPods(func(p *RelyingParty) { p.Pods.Mounting.SecretName = "" }),
			want: []string{"FieldValueInvalid " + server + ".pods.mounting.secretName"},
		}, rule: "secretName"},
		{validateCase: validateCase{
			name:   "pods by labels and by what they mount",
			mutate: onMountingPods(func(p *RelyingParty) { p.Pods.Selector.MatchLabels = map[string]string{"app": "web"} }),
			want:   []string{"FieldValueForbidden " + server + ".pods.mounting"}, detail: "only one of these",
		}, rule: "only one of these"},
	}
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

func TestValidateMounted(t *testing.T) {
	for _, tc := range mountedCases() {
		runValidateCases(t, []validateCase{tc.validateCase})
	}
}

func TestDefinitionOfMounted(t *testing.T) {
	d := readDefinition(t, "rotationconfigurations")
	for _, tc := range mountedCases() {
		t.Run(tc.name, func(t *testing.T) {
			spec := validConfig()
			tc.mutate(spec)
			errs := d.judge(t, configuration(spec))
			switch {
			case tc.rule == "" && len(errs) > 0 && len(tc.want) == 0:
				t.Errorf("refused: %v", errs.ToAggregate())
			case tc.rule != "" && (len(errs) == 0 || !strings.Contains(errs.ToAggregate().Error(), tc.rule)):
				t.Errorf("errors %v, want one with %q", errs, tc.rule)
			}
		})
	}
}

func TestDefaultsOfMounted(t *testing.T) {
	spec := validConfig()
	onMounted(func(*RelyingParty) {})(spec)
	loaded, err := Load(spec, "ns")
	if err != nil {
		t.Fatal(err)
	}
	if got := loaded.TrustDomains[0].RelyingParties[0].Evidence.Mounted.TrustKey; got != "ca-bundle.crt" {
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
