// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/registry/view/inventory"
)

// ended is one object at the end of a story, without what differs between stories: times, keys and the namespace.
type ended struct {
	Type                string
	Labels, Annotations map[string]string
	Managers            []string
	Content             map[string]string
}

func (s *story) endOf(t *testing.T) map[string]ended {
	t.Helper()
	out := map[string]ended{}
	secrets, err := s.client.CoreV1().Secrets(s.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	configMaps, err := s.client.CoreV1().ConfigMaps(s.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range secrets.Items {
		secret := &secrets.Items[i]
		e := s.ended(&secret.ObjectMeta)
		e.Type = string(secret.Type)
		for key, value := range secret.Data {
			e.Content[key] = s.content(value)
		}
		out["Secret/"+secret.Name] = e
	}
	for i := range configMaps.Items {
		configMap := &configMaps.Items[i]
		if configMap.Name == rootCA {
			continue
		}
		e := s.ended(&configMap.ObjectMeta)
		for key, value := range configMap.Data {
			e.Content[key] = s.content([]byte(value))
		}
		out["ConfigMap/"+configMap.Name] = e
	}
	s.endOfOwn(t, out)
	return out
}

// endOfOwn adds the records and the status of the configurations.
func (s *story) endOfOwn(t *testing.T, out map[string]ended) {
	t.Helper()
	records, err := s.own.ConfigV1alpha1().RotationRecords(s.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	configurations, err := s.own.ConfigV1alpha1().RotationConfigurations(s.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range records.Items {
		record := &records.Items[i]
		if roster := record.Spec.Roster; roster != nil {
			// Whether leaves are issued before the promotion depends on the order in which members load.
			roster.MayHaveSigned = nil
		}
		e := s.ended(&record.ObjectMeta)
		e.Content["spec"] = s.text(t, record.Spec)
		out["RotationRecord/"+record.Name] = e
	}
	for i := range configurations.Items {
		configuration := &configurations.Items[i]
		e := s.ended(&configuration.ObjectMeta)
		e.Content["status"] = s.text(t, configuration.Status)
		out["RotationConfiguration/"+configuration.Name] = e
	}
}

// text encodes a value, without what differs between stories.
func (s *story) text(t *testing.T, said any) string {
	t.Helper()
	data, err := json.MarshalIndent(said, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return s.neutral(string(data))
}

func (s *story) ended(o *metav1.ObjectMeta) ended {
	e := ended{Labels: o.Labels, Annotations: map[string]string{}, Content: map[string]string{}}
	for key, value := range o.Annotations {
		e.Annotations[key] = s.neutral(value)
	}
	for _, entry := range o.ManagedFields {
		e.Managers = append(e.Managers, string(entry.Operation)+" by "+entry.Manager)
	}
	slices.Sort(e.Managers)
	return e
}

var (
	timeText        = regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z`)
	fingerprintText = regexp.MustCompile(`[0-9a-f]{64}`)
	generationText  = regexp.MustCompile(`@\d+`)
	uidText         = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
)

// neutral replaces what differs between stories.
func (s *story) neutral(text string) string {
	text = strings.ReplaceAll(text, s.namespace, "NAMESPACE")
	text = timeText.ReplaceAllString(text, "TIME")
	text = fingerprintText.ReplaceAllString(text, "FINGERPRINT")
	text = uidText.ReplaceAllString(text, "UID")
	return generationText.ReplaceAllString(text, "@GENERATION")
}

// content describes a value: its certificates, that it is a key, or its neutral text.
func (s *story) content(value []byte) string {
	if strings.Contains(string(value), "PRIVATE KEY") {
		return fmt.Sprintf("%d keys", strings.Count(string(value), "-----BEGIN"))
	}
	chain, err := certificates(value)
	if err != nil {
		return s.neutral(string(value))
	}
	var out strings.Builder
	for _, cert := range chain {
		fmt.Fprintf(&out, "%s from %s, CA %t, names %q, usages %v, key %s, valid for %s\n", s.neutral(cert.Subject.String()),
			s.neutral(cert.Issuer.String()), cert.IsCA, cert.DNSNames, cert.ExtKeyUsage, cert.PublicKeyAlgorithm,
			cert.NotAfter.Sub(cert.NotBefore).Round(time.Hour))
	}
	return out.String()
}

// checkEnd checks what holds at the end of every story.
func (s *story) checkEnd(t *testing.T, o objects, before string) {
	t.Helper()
	want := []string{
		"ConfigMap/web-bundle", "RotationConfiguration/web",
		"RotationRecord/clock.web", "RotationRecord/evidence.web.client-a.client-a", "RotationRecord/evidence.web.client-b.client-b",
		"RotationRecord/evidence.web.server.server", "RotationRecord/roster.web",
		"Secret/web-client-a", "Secret/web-client-b", "Secret/web-server", "Secret/web-signer",
	}
	if s.proxy.aggregated {
		want = append(want, "ConfigMap/all-bundles", "Secret/all-certs")
		slices.Sort(want)
		s.checkAggregates(t, o)
	}
	var have []string
	for name := range o.secrets {
		have = append(have, "Secret/"+name)
	}
	for name := range o.configMaps {
		have = append(have, "ConfigMap/"+name)
	}
	for name := range o.configurations {
		have = append(have, "RotationConfiguration/"+name)
	}
	for name := range o.records {
		have = append(have, "RotationRecord/"+name)
	}
	slices.Sort(have)
	if !slices.Equal(have, want) {
		t.Errorf("there are %q, want %q", have, want)
	}
	active := s.checkSigner(t, o.secrets["web-signer"])
	if string(fingerprintOf(active)) == before {
		t.Error("the active CA is the one from before the rotation")
	}
	anchors, err := certificates([]byte(o.configMaps["web-bundle"].Data[inventory.BundleKey]))
	if err != nil || len(anchors) != 1 || !anchors[0].Equal(active) {
		t.Errorf("the bundle is not exactly the active CA: %d anchors, error %v", len(anchors), err)
	}
	for _, m := range s.members {
		s.checkLeaf(t, o.secrets[m.leaf], m, active)
	}
	if err := s.verify(o); err != nil {
		t.Error(err)
	}
}

// checkAggregates compares the aggregates with their sources.
func (s *story) checkAggregates(t *testing.T, o objects) {
	t.Helper()
	pairs := map[string][]byte{}
	for _, m := range s.members {
		certKey, keyKey := inventory.AggregateKeys(m.leaf)
		pairs[certKey], pairs[keyKey] = o.secrets[m.leaf].Data[corev1.TLSCertKey], o.secrets[m.leaf].Data[corev1.TLSPrivateKeyKey]
	}
	if !maps.EqualFunc(o.secrets["all-certs"].Data, pairs, bytes.Equal) {
		t.Error("all-certs does not hold exactly the pairs of the leaves")
	}
	bundles := map[string]string{"web.crt": o.configMaps["web-bundle"].Data[inventory.BundleKey]}
	if !maps.Equal(o.configMaps["all-bundles"].Data, bundles) {
		t.Error("all-bundles does not hold exactly the bundle")
	}
}

// checkSigner asserts that the signer has only an active CA, and returns that.
func (s *story) checkSigner(t *testing.T, signer *corev1.Secret) *x509.Certificate {
	t.Helper()
	for _, key := range []string{inventory.NextCertKey, inventory.NextKeyKey, inventory.PreviousCertKey, inventory.PreviousKeyKey} {
		if _, ok := signer.Data[key]; ok {
			t.Errorf("the signer still has %s", key)
		}
	}
	pair, err := tls.X509KeyPair(signer.Data[inventory.ActiveCertKey], signer.Data[inventory.ActiveKeyKey])
	if err != nil {
		t.Fatalf("the signer is no pair: %v", err)
	}
	return pair.Leaf
}

func (s *story) checkLeaf(t *testing.T, secret *corev1.Secret, m *member, active *x509.Certificate) {
	t.Helper()
	pair, err := tls.X509KeyPair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey])
	if err != nil {
		t.Errorf("%s is no pair: %v", secret.Name, err)
		return
	}
	if err := accepts([]*x509.Certificate{active}, pair.Leaf, m.presents); err != nil {
		t.Errorf("%s is not of the active CA: %v", secret.Name, err)
	}
	if pair.Leaf.NotAfter.After(active.NotAfter) {
		t.Errorf("%s outlives its signer", secret.Name)
	}
	if !m.loaded.Equal(pair.Leaf) {
		t.Errorf("%s does not present what is in %s", m.party, secret.Name)
	}
}
