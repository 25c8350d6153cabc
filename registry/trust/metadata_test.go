// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"certrotation.dev/registry/pki"
)

func TestMetadataDescribesContent(t *testing.T) {
	w := bootstrapped(t)
	l := w.leaf("server")
	c := l.Certificate
	want := Metadata{
		Annotations: map[string]string{
			AnnotationNotBefore: c.NotBefore.Format(time.RFC3339), AnnotationNotAfter: c.NotAfter.Format(time.RFC3339),
			AnnotationIssuer: w.d.Signer.Active.CommonName, AnnotationHostnames: "server.example",
			AnnotationRefreshPeriod: refresh(c, l.Policy).Sub(c.NotBefore).String(), AnnotationIssuedAt: w.now.Format(time.RFC3339),
		},
		Labels: map[string]string{LabelManagedType: ManagedTypeTarget, LabelTrustDomain: "service"},
	}
	if diff := cmp.Diff(want, MetadataOfLeaf(w.d.Name, c, l.Policy, w.now)); diff != "" {
		t.Errorf("leaf (-want +got):\n%s", diff)
	}
	signer := MetadataOfSigner(w.d.Name, w.d.Signer.Active, w.d.Signer.Policy)
	if signer.Labels[LabelManagedType] != ManagedTypeSigner || signer.Annotations[AnnotationIssuer] != w.d.Signer.Active.CommonName {
		t.Errorf("signer %+v", signer)
	}
	for _, m := range []Metadata{want, signer} {
		for key := range m.Annotations {
			if !KnownAnnotation(key) {
				t.Errorf("the model writes %s and does not look at it", key)
			}
		}
		for key := range m.Labels {
			if !KnownLabel(key) {
				t.Errorf("the model writes the label %s and does not look at it", key)
			}
		}
	}
	if !KnownAnnotation(AnnotationRolloutRevision) || KnownAnnotation("kubectl.kubernetes.io/last-applied-configuration") || KnownLabel("app") {
		t.Error("known keys")
	}
}

func TestPublicationKeepsItsTime(t *testing.T) {
	w := published(t)
	old, next := w.d.Signer.Active.Fingerprint, w.d.Signer.Next.Fingerprint
	times := parsePublished(w.d.Bundle.Annotations[AnnotationPublished])
	m := MetadataOfBundle("service", w.d.Bundle.Anchors, times, w.now.Add(time.Hour))
	if diff := cmp.Diff(times, parsePublished(m.Annotations[AnnotationPublished])); diff != "" {
		t.Errorf("republished (-want +got):\n%s", diff)
	}
	delete(times, next)
	m = MetadataOfBundle("service", w.d.Bundle.Anchors, times, w.now.Add(time.Hour))
	want := map[pki.Fingerprint]time.Time{old: times[old], next: w.now.Add(time.Hour)}
	if diff := cmp.Diff(want, parsePublished(m.Annotations[AnnotationPublished])); diff != "" {
		t.Errorf("one is new (-want +got):\n%s", diff)
	}
}

func TestLostMetadataIsRecordedAgain(t *testing.T) {
	w := bootstrapped(t)
	w.d.Signer.Labels, w.d.Bundle.Annotations, w.leaf("server").Annotations = nil, nil, nil
	w.settle()
	want := []string{"RecordMetadata signer", "RecordMetadata bundle", "RecordMetadata server"}
	if diff := cmp.Diff(want, w.done); diff != "" {
		t.Errorf("actions (-want +got):\n%s", diff)
	}
}
