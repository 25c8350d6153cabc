// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// aggregate configures aggregates that hold copies of the server's pair and of the bundle.
func (w *world) aggregate() *world {
	w.config = editedConfiguration(w.config, func(s *configv1alpha1.RotationConfigurationSpec) {
		s.Aggregate = &configv1alpha1.Aggregate{
			SecretName: "all-certs", Leaves: []string{"service-server"},
			ConfigMapName: "all-bundles", Bundles: []configv1alpha1.AggregatedBundle{{Key: "service.crt", ConfigMapName: "service-ca-bundle"}},
		}
	})
	labels := map[string]string{trust.LabelAggregate: "true"}
	cert, key := inventory.AggregateKeys("service-server")
	server := w.secrets["service-server"]
	w.secrets["all-certs"] = &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: demo, Name: "all-certs", Labels: labels, Annotations: consent()},
		Type:       corev1.SecretTypeOpaque,
		Data:       map[string][]byte{cert: server.Data[corev1.TLSCertKey], key: server.Data[corev1.TLSPrivateKeyKey]},
	}
	w.configMaps["all-bundles"] = configMap("all-bundles", labels, map[string]string{
		"service.crt": w.configMaps["service-ca-bundle"].Data[inventory.BundleKey],
	})
	return w
}

func TestReviewAggregate(t *testing.T) {
	stable := newWorld(t).aggregate()
	distributing := stable.clone().distribute()
	certs, bundles := stable.secrets["all-certs"], stable.configMaps["all-bundles"]
	noCerts := edited(certs, func(s *corev1.Secret) { s.Data = nil })
	noBundles := editedConfigMap(bundles, func(cm *corev1.ConfigMap) { cm.Data["service.crt"] = "" })
	neverEmpty := answer{Code: 403, Invariants: []string{"NeverEmpty"}, LiveReads: 1}

	for _, tc := range []struct {
		name         string
		world        *world
		old, changed runtime.Object
		want         answer
	}{
		{name: "stable Secret deleted", world: stable, old: certs, want: answer{LiveReads: 1, Warned: true}},
		{name: "stable ConfigMap deleted", world: stable, old: bundles, want: answer{LiveReads: 1, Warned: true}},
		{name: "Secret deleted mid-rotation", world: distributing, old: certs, want: neverEmpty},
		{name: "ConfigMap deleted mid-rotation", world: distributing, old: bundles, want: neverEmpty},
		{name: "Secret emptied", world: stable, old: certs, changed: noCerts, want: neverEmpty},
		{name: "ConfigMap emptied", world: stable, old: bundles, changed: noBundles, want: neverEmpty},
		{name: "created", world: stable, changed: certs},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v := viewOf(tc.world)
			got := ask(t, newHandler(t, v, namespaceOf(false)), v, request(t, tc.old, tc.changed))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}
