// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package podcontent

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/registry/contenthash"
	"certrotation.dev/registry/edition"
)

// leastHash is the minimum length of a content hash at the end of a name, in hexadecimal digits.
const leastHash = 8

// named is an object in the three forms that the naming schemes hash.
type named struct {
	name string
	// hash is the hash of registry/contenthash.
	hash string
	// values by key, of data and binaryData together.
	values map[string][]byte
	// resource is the input of kustomize's hash, without the name.
	resource map[string]any
}

// byContent reports whether the name ends in a hash of the content. It knows digits of our own hash, Gardener's
// MakeUnique, bundles of Gardener's SecretsManager, kustomize, and `kubectl create configmap --append-hash`.
func (n *named) byContent() bool {
	at := strings.LastIndexByte(n.name, '-')
	if at < 0 {
		return false
	}
	base, hash := n.name[:at], n.name[at+1:]
	switch {
	case len(hash) >= leastHash && strings.HasPrefix(n.hash, hash):
		return true
	case len(hash) == gardenerHash && strings.HasPrefix(edition.DataChecksum(n.values), hash):
		return true
	case n.name == edition.BundleObject(base, n.values):
		return true
	}
	return len(hash) == kustomizeHash && (hash == n.kustomize("") || hash == n.kustomize(base))
}

const gardenerHash = 8

const kustomizeHash = 10

// withoutVowels replaces hexadecimal digits that could form words.
var withoutVowels = strings.NewReplacer("0", "g", "1", "h", "3", "k", "a", "m", "e", "t")

// kustomize hashes the object as JSON without a name; kubectl includes the name before the hash. An object that
// cannot be encoded has no hash.
func (n *named) kustomize(base string) string {
	resource := maps.Clone(n.resource)
	resource["name"] = base
	text, err := json.Marshal(resource)
	if err != nil {
		return ""
	}
	defer clear(text)
	return withoutVowels.Replace(hexHash(text)[:kustomizeHash])
}

func hexHash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func namedConfigMap(cm *corev1.ConfigMap) *named {
	out := &named{name: cm.Name, hash: contenthash.OfConfigMap(cm), values: maps.Clone(cm.BinaryData)}
	if out.values == nil {
		out.values = map[string][]byte{}
	}
	for key, value := range cm.Data {
		out.values[key] = []byte(value)
	}
	out.resource = map[string]any{"kind": "ConfigMap", "data": orEmpty(cm.Data)}
	if len(cm.BinaryData) > 0 {
		out.resource["binaryData"] = cm.BinaryData
	}
	return out
}

func namedSecret(secret *corev1.Secret) *named {
	return &named{
		name: secret.Name, hash: contenthash.OfSecret(secret), values: secret.Data,
		resource: map[string]any{"kind": "Secret", "type": secret.Type, "data": orEmpty(secret.Data)},
	}
}

func orEmpty[T any](values map[string]T) any {
	if len(values) == 0 {
		return ""
	}
	return values
}
