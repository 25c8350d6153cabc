// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package versions

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/test/cluster/installation"
)

// shop has a target of a kind that only Kubernetes 1.37 serves, and one that all versions serve.
const shop = `apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {certrotation.dev/managed: "true", certrotation.dev/guard: enabled}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: shop, annotations: {certrotation.dev/inject-ca-from: shop/orders-ca-bundle}}
webhooks:
- name: shop.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Ignore
  clientConfig: {service: {namespace: shop, name: shop}}
---
apiVersion: config.certrotation.dev/v1alpha1
kind: RotationConfiguration
metadata: {name: orders, namespace: shop}
spec:
  trustDomains:
  - name: orders
    signer: {secretName: orders-signer}
    bundle:
      configMapName: orders-ca-bundle
      injectInto: [{kind: ClusterTrustBundle, name: shop}, {kind: ValidatingWebhookConfiguration, name: shop}]
    leaves: [{secretName: orders-server, usages: [ServerAuth], dnsNames: [orders.shop.svc]}]
    relyingParties:
    - {name: everybody, presents: [orders-server], evidence: {kind: gracePeriod, gracePeriod: 1s}}
`

// testNotServed requests a ClusterTrustBundle where Kubernetes does not serve them. An event says so, and all other
// targets work.
func (s *system) testNotServed(t *testing.T) {
	served, err := s.serves("certificates.k8s.io/v1", "ClusterTrustBundle")
	if err != nil {
		t.Fatal(err)
	}
	if served {
		t.Fatalf("Kubernetes %s serves ClusterTrustBundles: docs/cabundles.md says something else", s.version)
	}
	file := filepath.Join(t.TempDir(), "shop.yaml")
	if err := os.WriteFile(file, []byte(shop), 0o600); err != nil {
		t.Fatal(err)
	}
	s.kubectl(t, "apply", "-f", file)
	if err := s.WaitReady(within(t), installation.Expected{"shop": 2}); err != nil {
		t.Fatal(err)
	}
	until(t, "the caBundle of the webhook is there", func(ctx context.Context) error {
		hook, err := s.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(ctx, "shop", metav1.GetOptions{})
		if err == nil && len(hook.Webhooks[0].ClientConfig.CABundle) == 0 {
			err = errors.New("it is not")
		}
		return err
	})
	until(t, "an event says what is not served", func(ctx context.Context) error {
		events, err := s.kube.EventsV1().Events("shop").List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for i := range events.Items {
			if e := &events.Items[i]; e.Reason == "InjectionHeld" && e.Regarding.Name == "orders" && strings.Contains(e.Note, "does not serve clustertrustbundles") {
				return nil
			}
		}
		return fmt.Errorf("there are %d others", len(events.Items))
	})
}

func (s *system) serves(groupVersion, kind string) (bool, error) {
	list, err := s.kube.Discovery().ServerResourcesForGroupVersion(groupVersion)
	if err != nil {
		return false, err
	}
	for i := range list.APIResources {
		if list.APIResources[i].Kind == kind {
			return true, nil
		}
	}
	return false, nil
}
