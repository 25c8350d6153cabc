// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// AnnotationContentHash is on an aggregate: the hexadecimal SHA-256 over its keys and values, by which a node knows what
// it runs with.
const AnnotationContentHash = "certrotation.dev/content-hash"

// members are the leaves and bundles of a namespace by name, from which its aggregates are made.
type members struct {
	leaves  map[string]*trust.Leaf
	bundles map[string]*trust.Bundle
	// revision is the latest of the rollout that brings the aggregate to its nodes, 0 if there is none.
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

// writeAggregate does one action of an aggregate and returns the resource version of the object afterwards. The data
// of an aggregate is replaced as a whole, so that what has no source any more, such as a node that left, is gone.
func (c *Controller) writeAggregate(ctx context.Context, namespace string, agg *trust.Aggregate, m members, action *trust.Action) (string, error) {
	action = marked(action)
	if action.Kind == trust.WriteAggregateConfigMap {
		data, err := c.collectBundles(ctx, namespace, agg, m)
		if err != nil {
			return "", err
		}
		return c.writeConfigMap(ctx, namespace, action, func(configMap *corev1.ConfigMap) error {
			configMap.Data = data
			configMap.Annotations = merged(configMap.Annotations, hashAnnotation(data), gateAnnotation(configMap, m.revision))
			return nil
		})
	}
	data, err := c.collectPairs(ctx, namespace, agg, m)
	if err != nil {
		return "", err
	}
	return c.writeSecret(ctx, namespace, action, corev1.SecretTypeOpaque, func(secret *corev1.Secret) error {
		secret.Data = data
		secret.Annotations = merged(secret.Annotations, hashAnnotation(data))
		return nil
	})
}

// marked returns the action with the label by which aggregates are found.
func marked(action *trust.Action) *trust.Action {
	out := *action
	out.Labels = merged(map[string]string{trust.LabelAggregate: "true"}, action.Labels)
	return &out
}

// collectPairs reads every leaf live and checks that it is the one that was decided on, and that its key belongs to it.
func (c *Controller) collectPairs(ctx context.Context, namespace string, agg *trust.Aggregate, m members) (map[string][]byte, error) {
	data := make(map[string][]byte, 2*len(agg.Leaves))
	for _, name := range agg.Leaves {
		secret, err := c.client.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, stale(err)
		}
		if !trust.Consents(secret.Annotations, agg.Configuration) {
			return nil, errStale
		}
		pair, err := inventory.ActivePair(secret.Data)
		if err != nil {
			return nil, fmt.Errorf("read leaf %s/%s: %w", namespace, name, err)
		}
		if pair.Certificate.Fingerprint != m.leaves[name].Certificate.Fingerprint {
			return nil, errStale
		}
		certKey, keyKey := inventory.AggregateKeys(name)
		data[certKey], data[keyKey] = secret.Data[inventory.ActiveCertKey], secret.Data[inventory.ActiveKeyKey]
	}
	return data, nil
}

// collectBundles reads every bundle live and checks that it is the one that was decided on.
func (c *Controller) collectBundles(ctx context.Context, namespace string, agg *trust.Aggregate, m members) (map[string]string, error) {
	data := make(map[string]string, len(agg.Bundles))
	for _, source := range agg.Bundles {
		configMap, err := c.client.CoreV1().ConfigMaps(namespace).Get(ctx, source.Bundle, metav1.GetOptions{})
		if err != nil {
			return nil, stale(err)
		}
		if configMap.ResourceVersion != m.bundles[source.Bundle].ResourceVersion {
			return nil, errStale
		}
		anchors, err := pki.ParseBundle([]byte(configMap.Data[inventory.BundleKey]))
		if err != nil {
			return nil, fmt.Errorf("read bundle %s/%s: %w", namespace, source.Bundle, err)
		}
		data[source.Key] = string(pki.EncodeCertificates(anchors...))
	}
	return data, nil
}
