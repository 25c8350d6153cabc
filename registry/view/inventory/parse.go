// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"unique"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"certrotation.dev/apis/config/load"
	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/contenthash"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/record"
	"certrotation.dev/registry/rollout"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/truststore"
)

// keptMeta keeps the metadata that the model needs. The maps are new, so that the object can be collected.
func keptMeta(object metav1.Object) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name:              object.GetName(),
		Namespace:         object.GetNamespace(),
		UID:               object.GetUID(),
		ResourceVersion:   object.GetResourceVersion(),
		Generation:        object.GetGeneration(),
		CreationTimestamp: object.GetCreationTimestamp(),
		DeletionTimestamp: object.GetDeletionTimestamp(),
		Finalizers:        slices.Clone(object.GetFinalizers()),
		Annotations:       keptEntries(object.GetAnnotations(), trust.KnownAnnotation),
		Labels:            keptEntries(object.GetLabels(), trust.KnownLabel),
	}
}

// maxAnnotation is how many bytes of one value are kept. The longest that the model reads lists the names of a
// certificate.
const maxAnnotation = 64 << 10

// keptEntries returns the entries whose keys are known, nil if there are none.
func keptEntries(in map[string]string, known func(string) bool) map[string]string {
	var out map[string]string
	for key, value := range in {
		if !known(key) {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		if len(value) > maxAnnotation {
			// A value this long is a mistake. It is cut, not left out: a missing annotation is a request.
			value = strings.Clone(value[:maxAnnotation])
		}
		// The keys are the same in thousands of objects.
		out[unique.Make(key).Value()] = value
	}
	return out
}

// ParseNode keeps what the model needs of a Node. It leaves out an address that cannot be in a certificate.
func ParseNode(node *corev1.Node) *Node {
	out := &Node{ObjectMeta: metav1.ObjectMeta{
		Name:            node.Name,
		UID:             node.UID,
		ResourceVersion: node.ResourceVersion,
		Labels:          maps.Clone(node.Labels),
	}}
	for _, address := range node.Status.Addresses {
		if address.Type != corev1.NodeInternalIP {
			continue
		}
		ip, err := netip.ParseAddr(address.Address)
		if err != nil || ip.Zone() != "" {
			continue
		}
		if text := ip.Unmap().String(); !slices.Contains(out.Addresses, text) {
			out.Addresses = append(out.Addresses, text)
		}
	}
	return out
}

// same reports whether two states of a node are equal for every domain. Heartbeats update nodes all the time.
func (n *Node) same(other *Node) bool {
	return n.Name == other.Name && n.UID == other.UID &&
		maps.Equal(n.Labels, other.Labels) && slices.Equal(n.Addresses, other.Addresses)
}

// ParseConfiguration loads a configuration.
func ParseConfiguration(cfg *configv1alpha1.RotationConfiguration) *Configuration {
	out := &Configuration{ObjectMeta: keptMeta(cfg), Status: *cfg.Status.DeepCopy()}
	loaded, err := load.Spec(&cfg.Spec, cfg.Namespace)
	if err != nil {
		out.Error = err.Error()
		return out
	}
	out.Loaded, out.Selectors, out.Identities, out.Passwords = loaded, selectorsOf(loaded), identitiesOf(loaded), passwordsOf(loaded)
	return out
}

// ParseRecord decodes a record.
func ParseRecord(r *configv1alpha1.RotationRecord) *Record {
	out := &Record{ObjectMeta: keptMeta(r), Domain: r.Spec.TrustDomain, Kind: r.Spec.Kind}
	said, err := record.Decode(r)
	if err != nil {
		out.Error = err.Error()
		return out
	}
	out.Said = said
	return out
}

// ParseConfigMap keeps what the model needs of a ConfigMap. The parts do not exclude each other: a label on a bundle
// must not hide its anchors.
func ParseConfigMap(cm *corev1.ConfigMap, certs *pki.Cache) *ConfigMap {
	out := &ConfigMap{ObjectMeta: keptMeta(cm), Immutable: ptr.Deref(cm.Immutable, false)}
	if data, ok := valueOf(cm, BundleKey); ok && consents(&out.ObjectMeta) {
		out.Bundle = &Bundle{}
		out.Bundle.Anchors, out.Bundle.Fault = parseAnchors(BundleKey, data, certs)
		out.Bundle.StoreDigests = storeDigests(cm)
		out.Bundle.Keystore = firstKey(keystoreKeys(cm.BinaryData, trust.ParseTrustStores(cm.Annotations[trust.AnnotationTrustStores])...))
		content := contenthash.ContentOfConfigMap(cm)
		out.ContentHash, out.Superseded = content.Hash, content.Superseded
	}
	if consents(&out.ObjectMeta) {
		out.Beside = parseBeside(cm, certs)
	}
	if _, ok := cm.Labels[trust.LabelAggregate]; ok && consents(&out.ObjectMeta) {
		out.Aggregate = parseAggregateConfigMap(cm, certs)
	}
	if name, ok := cm.Labels[rollout.LabelStatus]; ok {
		out.Rollout = &RolloutStatus{}
		var err error
		if out.Rollout.Status, err = rollout.ReadStatus(cm, name); err != nil {
			out.Rollout.Error = fmt.Sprintf("%.512s", err)
		}
	}
	return out
}

// maxBeside bounds how many keys of a ConfigMap are read beside its bundle.
const maxBeside = 16

// parseBeside reads the anchors under the other keys. A value that cannot be read holds none.
func parseBeside(cm *corev1.ConfigMap, certs *pki.Cache) map[string]pki.Anchors {
	var out map[string]pki.Anchors
	for _, key := range slices.Sorted(maps.Keys(cm.Data)) {
		if text := cm.Data[key]; key != BundleKey && len(out) < maxBeside && strings.Contains(text, "-----BEGIN CERTIFICATE-----") {
			anchors, _ := parseAnchors(key, []byte(text), certs)
			out = with(out, key, anchors)
		}
	}
	return out
}

// storeDigests returns the digests of the trust stores by key. It parses none of them.
func storeDigests(cm *corev1.ConfigMap) map[string]string {
	var out map[string]string
	for _, key := range trust.ParseTrustStores(cm.Annotations[trust.AnnotationTrustStores]) {
		if data, ok := valueOf(cm, key); ok {
			out = with(out, key, truststore.DigestOf(data))
		}
	}
	return out
}

// valueOf returns the value that a consumer sees that mounts the ConfigMap: a key is either in Data or in BinaryData.
func valueOf(cm *corev1.ConfigMap, key string) ([]byte, bool) {
	if text, ok := cm.Data[key]; ok {
		return []byte(text), true
	}
	data, ok := cm.BinaryData[key]
	return data, ok
}

func parseAggregateConfigMap(cm *corev1.ConfigMap, certs *pki.Cache) map[string][]pki.Fingerprint {
	out := map[string][]pki.Fingerprint{}
	for key := range cm.BinaryData {
		out[key] = nil
	}
	for key, text := range cm.Data {
		// A value that cannot be read holds no usable anchor; the controller rewrites the aggregate.
		anchors, _ := parseAnchors(key, []byte(text), certs)
		out[key] = fingerprints(anchors.Certificates)
	}
	return out
}

func fingerprints(list []*pki.Certificate) []pki.Fingerprint {
	var out []pki.Fingerprint
	for _, cert := range list {
		out = append(out, cert.Fingerprint)
	}
	return out
}
