// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/controller/internal/apply"
	"certrotation.dev/registry/nodepod"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// AnnotationContentHash is on an aggregate: the hexadecimal SHA-256 over its keys and values. It tells a node which
// content it runs with.
const AnnotationContentHash = "certrotation.dev/content-hash"

// members are the leaves and bundles of a namespace by name, the sources of its aggregates.
type members struct {
	leaves  map[string]*trust.Leaf
	bundles map[string]*trust.Bundle
	// revision is the latest one of the rollout that brings the aggregate to its nodes, 0 if there is none.
	revision int
}

func membersOf(n *inventory.Namespace) members {
	m := members{leaves: map[string]*trust.Leaf{}, bundles: map[string]*trust.Bundle{}}
	for _, d := range n.Domains {
		m.bundles[d.Bundle.Name] = &d.Bundle
		for i := range d.Leaves {
			m.leaves[d.Leaves[i].Name] = &d.Leaves[i]
		}
	}
	return m
}

// aggregateContent produces the content of an aggregate. It replaces the data as a whole, so that entries without a
// source, such as those of a node that left, are gone. A write of bundles that is not Irreversible only adds.
type aggregateContent struct {
	*Controller

	namespace string
	aggregate *trust.Aggregate
	members   members
}

func (a aggregateContent) fillSecret(ctx context.Context, secret *corev1.Secret, _ *trust.Action) error {
	data, err := a.collectPairs(ctx)
	if err != nil {
		return err
	}
	secret.Type, secret.Data = cmp.Or(secret.Type, corev1.SecretTypeOpaque), data
	secret.Labels = merged(secret.Labels, map[string]string{trust.LabelAggregate: "true"})
	secret.Annotations = merged(secret.Annotations, hashAnnotation(data))
	return nil
}

func (a aggregateContent) fillConfigMap(ctx context.Context, configMap *corev1.ConfigMap, action *trust.Action) error {
	bundles, err := a.collectBundles(ctx)
	if err != nil {
		return err
	}
	if !action.Irreversible {
		keepAnchors(bundles, configMap.Data)
	} else if err := a.checkPairs(ctx); err != nil {
		return err
	}
	data := make(map[string]string, len(bundles))
	for key, anchors := range bundles {
		data[key] = string(pki.EncodeCertificates(anchors...))
	}
	configMap.Data = data
	configMap.Labels = merged(configMap.Labels, map[string]string{trust.LabelAggregate: "true"})
	configMap.Annotations = merged(configMap.Annotations, hashAnnotation(data), gateAnnotation(configMap, a.members.revision))
	return nil
}

// collectPairs reads every leaf live, and checks that it is the leaf of the decision and that its key belongs to it.
func (a aggregateContent) collectPairs(ctx context.Context) (map[string][]byte, error) {
	data := make(map[string][]byte, 2*len(a.aggregate.Leaves))
	for _, name := range a.aggregate.Leaves {
		secret, err := a.client.CoreV1().Secrets(a.namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, apply.Stale(err)
		}
		if !trust.Consents(secret.Annotations, a.aggregate.Configuration) {
			return nil, apply.ErrStale
		}
		pair, err := inventory.ActivePair(secret.Data)
		if err != nil {
			return nil, fmt.Errorf("read leaf %s/%s: %w", a.namespace, name, err)
		}
		if pair.Certificate.Fingerprint != a.members.leaves[name].Certificate.Fingerprint {
			return nil, apply.ErrStale
		}
		certKey, keyKey := inventory.AggregateKeys(name)
		data[certKey], data[keyKey] = secret.Data[inventory.ActiveCertKey], secret.Data[inventory.ActiveKeyKey]
	}
	return data, nil
}

// checkPairs returns apply.ErrStale unless the Secret holds the leaves as they are now.
func (a aggregateContent) checkPairs(ctx context.Context) error {
	pairs, err := a.collectPairs(ctx)
	if err != nil {
		return err
	}
	secret, err := a.client.CoreV1().Secrets(a.namespace).Get(ctx, a.aggregate.Secret.Name, metav1.GetOptions{})
	if err != nil {
		return apply.Stale(err)
	}
	if !maps.EqualFunc(secret.Data, pairs, bytes.Equal) {
		return apply.ErrStale
	}
	return nil
}

// keepAnchors adds the anchors that are in a ConfigMap. What does not parse is of no use to anybody.
func keepAnchors(bundles map[string][]*pki.Certificate, data map[string]string) {
	for key, text := range data {
		former, err := pki.ParseAnchors([]byte(text))
		if err != nil {
			continue
		}
		for _, ca := range former.Certificates {
			if !slices.ContainsFunc(bundles[key], ca.Equal) {
				bundles[key] = append(bundles[key], ca)
			}
		}
	}
}

// collectBundles reads every bundle live, and checks that it is the bundle of the decision.
func (a aggregateContent) collectBundles(ctx context.Context) (map[string][]*pki.Certificate, error) {
	bundles := make(map[string][]*pki.Certificate, len(a.aggregate.Bundles))
	for _, source := range a.aggregate.Bundles {
		configMap, err := a.client.CoreV1().ConfigMaps(a.namespace).Get(ctx, source.Bundle, metav1.GetOptions{})
		if err != nil {
			return nil, apply.Stale(err)
		}
		if configMap.ResourceVersion != a.members.bundles[source.Bundle].ResourceVersion {
			return nil, apply.ErrStale
		}
		// Static pods refuse to start with a block that cannot be read, so it is left out.
		anchors, err := pki.ParseAnchors([]byte(configMap.Data[inventory.BundleKey]))
		if err != nil {
			return nil, fmt.Errorf("read bundle %s/%s: %w", a.namespace, source.Bundle, err)
		}
		bundles[source.Key] = anchors.Certificates
	}
	return bundles, nil
}

func hashAnnotation[V ~string | ~[]byte](data map[string]V) map[string]string {
	return map[string]string{AnnotationContentHash: ContentHash(data)}
}

// ContentHash is the hexadecimal SHA-256 over the sorted keys, each with its value. A length before each part
// separates it from its neighbors.
func ContentHash[V ~string | ~[]byte](data map[string]V) string {
	hash := sha256.New()
	write := func(b []byte) {
		hash.Write(binary.BigEndian.AppendUint64(nil, uint64(len(b))))
		hash.Write(b)
	}
	for _, name := range slices.Sorted(maps.Keys(data)) {
		write([]byte(name))
		write([]byte(data[name]))
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// latestRevision returns the number of the latest revision in the namespace, 0 if there is none or no rollout brings
// the aggregate to its nodes.
func latestRevision(s *inventory.Sources, n *inventory.Namespace, agg *trust.Aggregate) int {
	if s == nil || !slices.ContainsFunc(n.Rollouts, func(r *inventory.Rollout) bool { return r.Aggregate == agg }) {
		return 0
	}
	latest := 0
	for name := range s.ConfigMaps {
		if number, ok := nodepod.ParseStatusName(name); ok {
			latest = max(latest, number)
		}
	}
	return latest
}

// gateAnnotation returns what cluster-etcd-operator would write with new bundles: the last revision that does not
// have them. It signs leaves only from the next revision on. Nothing here depends on the annotation, and it is never
// lowered.
func gateAnnotation(live *corev1.ConfigMap, latest int) map[string]string {
	if latest == 0 {
		return nil
	}
	if recorded, err := strconv.Atoi(live.Annotations[trust.AnnotationRolloutRevision]); err == nil && recorded > latest {
		return nil
	}
	return map[string]string{trust.AnnotationRolloutRevision: strconv.Itoa(latest)}
}
