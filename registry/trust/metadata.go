// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"maps"
	"slices"
	"strings"
	"time"

	"certrotation.dev/registry/pki"
)

// Metadata are the annotations and labels that say on an object what its content is. They are a cache of the content
// and a habit of people and tools, never an input of a decision.
type Metadata struct {
	Annotations, Labels map[string]string
}

// MetadataOfSigner describes the active CA c.
func MetadataOfSigner(domain string, c *pki.Certificate, p Policy) Metadata {
	return certificateMetadata(domain, ManagedTypeSigner, c, p)
}

// MetadataOfLeaf describes a leaf that was issued at issuedAt.
func MetadataOfLeaf(domain string, c *pki.Certificate, p Policy, issuedAt time.Time) Metadata {
	m := certificateMetadata(domain, ManagedTypeTarget, c, p)
	m.Annotations[AnnotationIssuedAt] = stamp(issuedAt)
	if names := hosts(c.DNSNames, c.IPAddresses); len(names) > 0 {
		m.Annotations[AnnotationHostnames] = strings.Join(names, ",")
	}
	return m
}

func certificateMetadata(domain, managedType string, c *pki.Certificate, p Policy) Metadata {
	return Metadata{
		Annotations: map[string]string{
			AnnotationNotBefore:     c.NotBefore.UTC().Format(time.RFC3339),
			AnnotationNotAfter:      c.NotAfter.UTC().Format(time.RFC3339),
			AnnotationIssuer:        c.IssuerCommonName,
			AnnotationRefreshPeriod: refresh(c, p).Sub(c.NotBefore).String(),
		},
		Labels: map[string]string{LabelManagedType: managedType, LabelTrustDomain: domain},
	}
}

// MetadataOfBundle describes a bundle. Anchors are those of the signer's own generations; each keeps the time of its
// publication, and one that is published now gets now.
func MetadataOfBundle(domain string, anchors []*pki.Certificate, published map[pki.Fingerprint]time.Time, now time.Time) Metadata {
	times := make(map[pki.Fingerprint]time.Time, len(anchors))
	for _, ca := range anchors {
		times[ca.Fingerprint] = now
		if t, ok := published[ca.Fingerprint]; ok {
			times[ca.Fingerprint] = t
		}
	}
	return Metadata{
		Annotations: map[string]string{AnnotationPublished: formatPublished(times)},
		Labels:      map[string]string{LabelManagedType: ManagedTypeBundle, LabelTrustDomain: domain},
	}
}

func formatPublished(times map[pki.Fingerprint]time.Time) string {
	entries := make([]string, 0, len(times))
	for _, f := range slices.Sorted(maps.Keys(times)) {
		entries = append(entries, string(f)+"="+stamp(times[f]))
	}
	return strings.Join(entries, " ")
}

// stamp writes a time from which something is waited for. It is rounded up to the second that the text counts in: a
// wait must never end early.
func stamp(t time.Time) string {
	return t.UTC().Add(time.Second - 1).Truncate(time.Second).Format(time.RFC3339)
}

// parsePublished reads AnnotationPublished. An entry that cannot be read is left out: its anchor then counts as not
// published yet, which only ever makes a grace period longer.
func parsePublished(text string) map[pki.Fingerprint]time.Time {
	times := map[pki.Fingerprint]time.Time{}
	for entry := range strings.FieldsSeq(text) {
		fingerprint, at, ok := strings.Cut(entry, "=")
		if t, err := time.Parse(time.RFC3339, at); ok && err == nil {
			times[pki.Fingerprint(fingerprint)] = t
		}
	}
	return times
}

// recordMetadata lists the objects whose annotations or labels do not say what their content is.
func (a *assessor) recordMetadata() []Action {
	var out []Action
	s, b := &a.d.Signer, &a.d.Bundle
	if s.Active != nil {
		out = a.recordOne(out, SecretKind, &s.Object, MetadataOfSigner(a.d.Name, s.Active, s.Policy))
	}
	if b.Present {
		out = a.recordOne(out, ConfigMapKind, &b.Object, MetadataOfBundle(a.d.Name, a.own(b.Anchors), a.published, a.now))
	}
	for i := range a.d.Leaves {
		l := &a.d.Leaves[i]
		if l.Problem == nil && l.Certificate != nil && (!l.Unnamed || Consents(l.Annotations, a.d.Configuration)) {
			out = a.recordOne(out, SecretKind, &l.Object, MetadataOfLeaf(a.d.Name, l.Certificate, l.Policy, l.issuedAt()))
		}
	}
	return out
}

func (a *assessor) recordOne(out []Action, kind ObjectKind, o *Object, want Metadata) []Action {
	if subset(want.Annotations, o.Annotations) && subset(want.Labels, o.Labels) {
		return out
	}
	return append(out, Action{
		Kind: RecordMetadata, ObjectKind: kind, Object: o.Name, ResourceVersion: o.ResourceVersion,
		Annotations: want.Annotations, Labels: want.Labels, Reason: "its annotations do not say what it contains",
	})
}

func subset(want, have map[string]string) bool {
	for k, v := range want {
		if got, ok := have[k]; !ok || got != v {
			return false
		}
	}
	return true
}
