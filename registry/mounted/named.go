// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package mounted

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

// leastHash is how much of a content hash a name has to end in, in hexadecimal digits.
const leastHash = 8

// named is an object, in the three forms in which those who name objects by their content take it.
type named struct {
	name string
	// hash is that of registry/contenthash.
	hash string
	// values by their keys, those of data and binaryData together.
	values map[string][]byte
	// resource is what kustomize takes a hash of, without the name.
	resource map[string]any
}

// byContent says whether the name ends in a hash of the content: in some digits of our own, in that of Gardener (MakeUnique), in that
// of a bundle of its SecretsManager, or in that of kustomize and `kubectl create configmap --append-hash`.
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

// gardenerHash is how many digits Gardener takes.
const gardenerHash = 8

// kustomizeHash is how many digits kustomize takes.
const kustomizeHash = 10

// withoutVowels replaces what would make words of hexadecimal digits.
var withoutVowels = strings.NewReplacer("0", "g", "1", "h", "3", "k", "a", "m", "e", "t")

// kustomize hashes the object as JSON, without a name; kubectl does so with the name before the hash. What has no JSON has no hash.
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

// orEmpty is how kustomize writes that there are no values.
func orEmpty[T any](values map[string]T) any {
	if len(values) == 0 {
		return ""
	}
	return values
}
