// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/trust"
)

// releasing removes the consent annotation from the named objects, or from all if none is named.
func (w *world) releasing(names ...string) *world {
	release := func(annotations map[string]string, name string) map[string]string {
		out := maps.Clone(annotations)
		if len(names) == 0 || slices.Contains(names, name) {
			delete(out, trust.AnnotationConfiguration)
		}
		return out
	}
	for name, s := range w.secrets {
		w.secrets[name] = edited(s, func(s *corev1.Secret) { s.Annotations = release(s.Annotations, name) })
	}
	for name, cm := range w.configMaps {
		w.configMaps[name] = editedConfigMap(cm, func(cm *corev1.ConfigMap) { cm.Annotations = release(cm.Annotations, name) })
	}
	return w
}

func (w *world) with(c *configv1alpha1.RotationConfiguration) *world {
	out := w.clone()
	out.config = c
	return out
}

// TestConfigurationEdits sends edits as the API server does, for presets and for explicit domains. The tests of
// registry/trust cover the rules themselves.
func TestConfigurationEdits(t *testing.T) {
	stable := newWorld(t)
	released := stable.clone().releasing()
	distributing := stable.clone().distribute()
	rostered := distributing.clone().roster()

	preset := func(change func(*configv1alpha1.MTLSServicePreset)) *configv1alpha1.RotationConfiguration {
		return editedConfiguration(stable.config, func(s *configv1alpha1.RotationConfigurationSpec) { change(s.Preset.MTLSService) })
	}
	domain := func(change func(*configv1alpha1.TrustDomain)) *configv1alpha1.RotationConfiguration {
		return editedConfiguration(explicit(), func(s *configv1alpha1.RotationConfigurationSpec) { change(&s.TrustDomains[0]) })
	}
	party := func(name string, change func(*configv1alpha1.RelyingParty)) *configv1alpha1.RotationConfiguration {
		return domain(func(d *configv1alpha1.TrustDomain) {
			for i := range d.RelyingParties {
				if d.RelyingParties[i].Name == name {
					change(&d.RelyingParties[i])
				}
			}
		})
	}
	copied := editedConfiguration(explicit(), func(s *configv1alpha1.RotationConfigurationSpec) {
		s.Copies = []configv1alpha1.Copy{{Kind: "ConfigMap", Name: "service-ca-bundle", ToNamespace: "elsewhere"}}
	})
	refused := func(invariants ...string) answer { return answer{Code: 403, LiveReads: 1, Invariants: invariants} }
	trusted, byName, one := refused("TrustBeforeUse"), refused("ReleasedByName"), refused("OneRotation")
	told := answer{LiveReads: 1, Warned: true}

	for _, tc := range []struct {
		name    string
		world   *world
		changed *configv1alpha1.RotationConfiguration
		want    answer
	}{
		{name: "deleted at rest", world: stable, want: byName},
		{name: "deleted at rest, all but the signer released", world: stable.clone().releasing("service-server", "service-client-a", "service-client-b", "service-ca-bundle"), want: byName},
		{name: "deleted at rest after everything was released", world: released, want: told},
		{name: "deleted in flight", world: distributing, want: one},
		{name: "preset renamed at rest", world: stable, changed: preset(func(p *configv1alpha1.MTLSServicePreset) { p.Name = "other" }), want: byName},
		{name: "preset renamed in flight", world: distributing, changed: preset(func(p *configv1alpha1.MTLSServicePreset) { p.Name = "other" }), want: one},
		{name: "client of a preset dropped at rest", world: stable, changed: configuration("a"), want: told},
		{name: "client of a preset dropped in flight", world: rostered, changed: configuration("a"), want: trusted},
		{name: "addresses of a preset replaced in flight", world: rostered,
			changed: preset(func(p *configv1alpha1.MTLSServicePreset) { p.ServerAddresses = []string{"obliging:443"} }), want: trusted},
		{name: "second address of a preset in flight, which renames its member", world: rostered,
			changed: preset(func(p *configv1alpha1.MTLSServicePreset) { p.ServerAddresses = append(p.ServerAddresses, "second:443") }), want: trusted},
		{name: "second address in flight", world: rostered.with(explicit()), changed: party("server", func(p *configv1alpha1.RelyingParty) {
			p.Evidence.TLSProbe.Endpoints = append(p.Evidence.TLSProbe.Endpoints, configv1alpha1.ProbeEndpoint{Address: "second:443"})
		})},
		{name: "addresses of a preset replaced at rest", world: stable,
			changed: preset(func(p *configv1alpha1.MTLSServicePreset) { p.ServerAddresses = []string{"other:443"} }), want: answer{LiveReads: 1}},
		{name: "server name of a preset replaced in flight", world: rostered,
			changed: preset(func(p *configv1alpha1.MTLSServicePreset) { p.ServerName = "localhost" }), want: trusted},
		{name: "signer renamed at rest", world: stable.with(explicit()),
			changed: domain(func(d *configv1alpha1.TrustDomain) { d.Signer.SecretName = "other" }), want: byName},
		{name: "bundle renamed in flight", world: distributing.with(explicit()),
			changed: domain(func(d *configv1alpha1.TrustDomain) { d.Bundle.ConfigMapName = "other" }), want: one},
		{name: "a nanosecond of grace in flight", world: rostered.with(explicit()), changed: party("client-a", func(p *configv1alpha1.RelyingParty) {
			p.Evidence = configv1alpha1.Evidence{Kind: configv1alpha1.EvidenceGracePeriod, GracePeriod: &metav1.Duration{Duration: time.Second}}
		}), want: trusted},
		{name: "no evidence in flight", world: rostered.with(explicit()), changed: party("client-a", func(p *configv1alpha1.RelyingParty) {
			p.Evidence = configv1alpha1.Evidence{Kind: configv1alpha1.EvidenceNone, Reason: "in a hurry"}
		}), want: trusted},
		{name: "a longer lease in flight", world: rostered.with(explicit()), changed: party("client-a", func(p *configv1alpha1.RelyingParty) {
			p.Evidence.Lease = &metav1.Duration{Duration: 720 * time.Hour}
		}), want: trusted},
		{name: "reporters in flight", world: rostered.with(explicit()), changed: party("client-a", func(p *configv1alpha1.RelyingParty) {
			p.Reporters = &configv1alpha1.Reporters{Users: []string{"me"}}
		}), want: trusted},
		{name: "reporters at rest", world: stable.with(explicit()), changed: party("client-a", func(p *configv1alpha1.RelyingParty) {
			p.Reporters = &configv1alpha1.Reporters{Users: []string{"me"}}
		}), want: answer{LiveReads: 1}},
		{name: "stage deadline in flight", world: rostered.with(explicit()), changed: domain(func(d *configv1alpha1.TrustDomain) {
			d.StageDeadline = &metav1.Duration{Duration: time.Minute}
		})},
		{name: "copy removed in flight", world: rostered.with(copied), changed: explicit(), want: refused("AnchorInUse")},
		{name: "copy removed at rest", world: stable.with(copied), changed: explicit(), want: answer{LiveReads: 1}},
		{name: "nothing but the pace changed in flight", world: rostered.with(explicit()), changed: domain(func(d *configv1alpha1.TrustDomain) { d.ReissuePerMinute = 1 })},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v := viewOf(tc.world)
			var changed runtime.Object
			if tc.changed != nil {
				changed = tc.changed
			}
			req := request(t, tc.world.config, changed)
			if diff := cmp.Diff(tc.want, ask(t, newHandler(t, v, namespaceOf(false)), v, req)); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}

// TestLeafThatIsNotNamed: the content of a leaf that no configuration names decides, not its labels.
func TestLeafThatIsNotNamed(t *testing.T) {
	w := newWorld(t).with(explicit("service-client-b"))
	leaf := w.secrets["service-client-b"]
	labelled := func(s *corev1.Secret) { s.Labels = map[string]string{trust.LabelCopyOf: demo + ".service-server"} }
	refused := answer{Code: 403, LiveReads: 1, Invariants: []string{"AnchorInUse"}}
	for _, tc := range []struct {
		name    string
		changed *corev1.Secret
		want    answer
	}{
		{name: "called a copy", changed: edited(leaf, labelled), want: refused},
		{name: "emptied", changed: edited(leaf, func(s *corev1.Secret) { s.Data = map[string][]byte{"tls.crt": {}, "tls.key": {}} }), want: refused},
		{name: "given a note", changed: edited(leaf, func(s *corev1.Secret) { s.Annotations["certrotation.dev/note"] = "x" })},
		{name: "goes with its last finalizer", changed: edited(leaf, func(s *corev1.Secret) {
			labelled(s)
			s.DeletionTimestamp, s.Finalizers = &metav1.Time{Time: now}, nil
		}), want: answer{LiveReads: 1}},
		{name: "deleted", want: answer{LiveReads: 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v := viewOf(w)
			var changed runtime.Object
			if tc.changed != nil {
				changed = tc.changed
			}
			if diff := cmp.Diff(tc.want, ask(t, newHandler(t, v, namespaceOf(false)), v, request(t, leaf, changed))); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}

// TestStaleConfigurationEdit: the cached view shows no rotation while one is in flight.
func TestStaleConfigurationEdit(t *testing.T) {
	stable := newWorld(t)
	v := &view{cached: stable.sources(), live: stable.clone().distribute().sources()}
	got := ask(t, newHandler(t, v, namespaceOf(false)), v, request(t, stable.config, configuration("a")))
	want := answer{Code: 403, LiveReads: 1, Invariants: []string{"TrustBeforeUse"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
}

// TestEveryFieldOfASpecIsJudged: a field that is not compared could change unchecked during a rotation.
func TestEveryFieldOfASpecIsJudged(t *testing.T) {
	whole := configv1alpha1.RotationConfigurationSpec{
		Preset: &configv1alpha1.Preset{}, TrustDomains: []configv1alpha1.TrustDomain{{}}, NodeCIDRs: []string{"10.0.0.0/8"}, ServiceCIDRs: []string{"10.96.0.0/16"},
		Aggregate: &configv1alpha1.Aggregate{}, Rollout: &configv1alpha1.Rollout{}, Clusters: []configv1alpha1.RemoteCluster{{}}, Copies: []configv1alpha1.Copy{{}},
		Credentials: &configv1alpha1.Credentials{},
	}
	got := changedConfigurationFields(&configv1alpha1.RotationConfiguration{}, &configv1alpha1.RotationConfiguration{Spec: whole})
	want := []string{"spec.preset", "spec.trustDomains", "spec.nodeCIDRs", "spec.serviceCIDRs", "spec.aggregate", "spec.rollout", "spec.clusters", "spec.copies", "spec.credentials"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
	if fields := reflect.TypeFor[configv1alpha1.RotationConfigurationSpec]().NumField(); fields != len(want) {
		t.Errorf("a spec has %d fields, and %d are compared", fields, len(want))
	}
}
