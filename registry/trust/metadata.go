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

// Annotations and labels of library-go, kept up to date under the same names (reference: openshift/library-go
// pkg/operator/certrotation).
const (
	AnnotationNotBefore     = "auth.openshift.io/certificate-not-before"
	AnnotationNotAfter      = "auth.openshift.io/certificate-not-after"
	AnnotationIssuer        = "auth.openshift.io/certificate-issuer"
	AnnotationHostnames     = "auth.openshift.io/certificate-hostnames"
	AnnotationRefreshPeriod = "certificates.openshift.io/refresh-period"
	// AnnotationRolloutRevision is the gate of cluster-etcd-operator on its aggregate of bundles.
	AnnotationRolloutRevision = "openshift.io/ceo-bundle-rollout-revision"
	// AnnotationDeleteGraceStart is cluster-etcd-operator's, on objects of a node that left: RFC3339 of when it
	// noticed that.
	AnnotationDeleteGraceStart = "openshift.io/ceo-delete-grace-start"

	LabelManagedType = "auth.openshift.io/managed-certificate-type"
)

// Values of LabelManagedType.
const (
	ManagedTypeSigner = "signer"
	ManagedTypeTarget = "target"
	ManagedTypeBundle = "ca-bundle"
)

// Annotations and labels of certrotation.
const (
	// AnnotationCompromised is on a signer: the fingerprint of a CA whose key must not be trusted longer than needed.
	AnnotationCompromised = "certrotation.dev/compromised"
	// AnnotationPlan is on a signer: the hash of the plan of the last started rotation.
	AnnotationPlan = "certrotation.dev/plan"
	// AnnotationAnswered is on a signer or a leaf: space separated UIDs of the recorded requests that its content
	// answers.
	AnnotationAnswered = "certrotation.dev/answered"
	// AnnotationPublished is on a bundle: space separated FINGERPRINT=RFC3339 of when each anchor was published.
	AnnotationPublished = "certrotation.dev/published"
	// AnnotationTrustStores is on a bundle or a leaf: the comma separated keys that were written as trust stores of its
	// anchors.
	AnnotationTrustStores = "certrotation.dev/trust-stores"
	// AnnotationKeystores is on a leaf: space separated KEY=MADE/SEAL of its keystores, see RecordedKeystore.
	AnnotationKeystores = "certrotation.dev/keystores"
	// AnnotationIssuedAt is on a leaf: RFC3339 of when it was issued (its not-before is back-dated).
	AnnotationIssuedAt = "certrotation.dev/issued-at"
	// AnnotationPromotedAt is on a signer: RFC3339 of the last promotion.
	AnnotationPromotedAt = "certrotation.dev/promoted-at"

	// AnnotationConfiguration is the consent of a Secret or a ConfigMap: the name of the RotationConfiguration of its
	// namespace that may use it. Everyone who may write the object can give it. The controller creates objects with
	// it.
	AnnotationConfiguration = "certrotation.dev/configuration"

	// LabelManaged, with the value ManagedValue on a Namespace, is the consent of the cluster's owner. In other
	// namespaces nothing is read, dialled or written.
	LabelManaged = "certrotation.dev/managed"
	ManagedValue = "true"
	// LabelTrustDomain is on every object that the controller writes; its value is the domain's name.
	LabelTrustDomain = "certrotation.dev/trust-domain"
	// LabelAggregate marks aggregate Secrets and ConfigMaps.
	LabelAggregate = "certrotation.dev/aggregate"
	// LabelCopyOf marks copies of bundles and leaves. Its value is NAMESPACE.NAME of the source as far as a label can
	// hold it. AnnotationCopyOf has it as NAMESPACE/NAME.
	LabelCopyOf      = "certrotation.dev/copy-of"
	AnnotationCopyOf = "certrotation.dev/copy-of"
	// LabelRemoteCopyOf has that value on copies in another cluster, instead of LabelCopyOf: a certrotation there must
	// not take them for its own.
	LabelRemoteCopyOf = "certrotation.dev/remote-copy-of"
	// CopiesFrom, as an annotation of a Namespace, lists the copies that it accepts, separated by commas:
	// FROM/Secret/NAME or FROM/ConfigMap/NAME. FROM is the namespace of the configuration that asks for the copy,
	// NAME the name of the copy.
	CopiesFrom = "certrotation.dev/copies-from"
)

// KnownAnnotation reports whether the model reads an annotation.
func KnownAnnotation(key string) bool {
	return strings.HasPrefix(key, "certrotation.dev/") ||
		strings.HasPrefix(key, "auth.openshift.io/certificate-") ||
		key == AnnotationRefreshPeriod || key == AnnotationRolloutRevision || key == AnnotationDeleteGraceStart
}

// KnownLabel reports whether the model reads a label.
func KnownLabel(key string) bool {
	return strings.HasPrefix(key, "certrotation.dev/") || key == LabelManagedType
}

// Metadata are the annotations and labels that describe the content of an object. They are a cache for people and
// tools, never an input of a decision.
type Metadata struct {
	Annotations, Labels map[string]string
}

// MetadataOfSigner describes the active CA c.
func MetadataOfSigner(domain string, c *pki.Certificate, p Policy) Metadata {
	return certificateMetadata(domain, ManagedTypeSigner, c, p)
}

// MetadataOfLeaf describes a leaf that was issued at issuedAt (Domain.Recorded).
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

// MetadataOfBundle describes a bundle. anchors are of the signer's own generations. Each keeps its time of
// publication; one that is published now gets at (Domain.Recorded).
func MetadataOfBundle(domain string, anchors []*pki.Certificate, published map[pki.Fingerprint]time.Time, at time.Time) Metadata {
	times := make(map[pki.Fingerprint]time.Time, len(anchors))
	for _, ca := range anchors {
		times[ca.Fingerprint] = at
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

func hosts(names, addresses []string) []string {
	all := slices.Concat(names, addresses)
	slices.Sort(all)
	return slices.Compact(all)
}

// Recorded returns the time to record as the start of a wait: the later of the writer's clock and the clocks that it
// was compared with. The reader may use any of them.
func (d *Domain) Recorded(now time.Time) time.Time { return now.Add(max(0, -d.ClockSkew)) }

// stamp formats the start of a wait. It rounds up to full seconds: a wait must never end early.
func stamp(t time.Time) string {
	return t.UTC().Add(time.Second - 1).Truncate(time.Second).Format(time.RFC3339)
}

// parsePublished reads AnnotationPublished. It drops unreadable entries: their anchors count as not published yet,
// which can only lengthen a grace period.
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

func subset(want, have map[string]string) bool {
	for k, v := range want {
		if got, ok := have[k]; !ok || got != v {
			return false
		}
	}
	return true
}
