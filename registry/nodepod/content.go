// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodepod

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
)

// Content is the content of a revision. Object names have no revision number.
type Content struct {
	// PodTemplate is the manifest with its placeholders. ConfigMaps does not contain its ConfigMap.
	PodTemplate []byte
	// Companions are the manifests of further static pods of the node, by name.
	Companions map[string][]byte
	// ConfigMaps and Secrets map object name and key to a value. The keys of a ConfigMap are those of data and
	// binaryData together.
	ConfigMaps, Secrets map[string]map[string][]byte
	// Reloaded names the Secrets that the process reloads by itself: those of leaves. It does not apply to ConfigMaps
	// of the same name.
	Reloaded sets.Set[string]
}

// Objects of one kind: object name, key, value.
type objects = map[string]map[string][]byte

// ContentHash is the lower-case hexadecimal SHA-256 of everything but Reloaded.
func (c Content) ContentHash() string {
	return digest("certrotation content 1", c.PodTemplate, c.withCompanions(c.ConfigMaps, c.Secrets)...)
}

// RestartHash is the lower-case hexadecimal SHA-256 of the parts that the process reads only at start. It needs
// complete Secrets: with only some of their keys, the hash differs.
func (c Content) RestartHash() string {
	atStart := maps.Clone(c.Secrets)
	maps.DeleteFunc(atStart, func(name string, _ map[string][]byte) bool { return c.Reloaded.Has(name) })
	return digest("certrotation restart 1", c.PodTemplate, c.withCompanions(c.ConfigMaps, atStart)...)
}

// withCompanions adds the templates of the companions, if there are any.
func (c Content) withCompanions(kinds ...objects) []objects {
	if len(c.Companions) == 0 {
		return kinds
	}
	return append(kinds, objects{"": c.Companions})
}

// TakeTemplates moves the templates out of their ConfigMap: the static pod's at key, and those of its companions. It
// returns the missing keys.
func (c *Content) TakeTemplates(configMap, key string, companions []string) (missing []string) {
	values := c.ConfigMaps[configMap]
	delete(c.ConfigMaps, configMap)
	if c.PodTemplate = values[key]; len(c.PodTemplate) == 0 {
		missing = append(missing, key)
	}
	for _, name := range companions {
		template := values[configv1alpha1.CompanionKey(name)]
		if len(template) == 0 {
			missing = append(missing, configv1alpha1.CompanionKey(name))
			continue
		}
		if c.Companions == nil {
			c.Companions = map[string][]byte{}
		}
		c.Companions[name] = template
	}
	return missing
}

// Templates returns the keys and values of the templates' ConfigMap that belong to a revision.
func (c Content) Templates(key string) map[string][]byte {
	out := map[string][]byte{key: c.PodTemplate}
	for name, template := range c.Companions {
		out[configv1alpha1.CompanionKey(name)] = template
	}
	return out
}

// Only returns the content that one node may see: some keys of one Secret, and everything else. Its ContentHash is
// the node's.
func (c Content) Only(secret string, keys []string) Content {
	out := c
	out.Secrets = maps.Clone(c.Secrets)
	if whole, ok := c.Secrets[secret]; ok {
		kept := map[string][]byte{}
		for _, key := range keys {
			if value, ok := whole[key]; ok {
				kept[key] = value
			}
		}
		out.Secrets[secret] = kept
	}
	return out
}

func digest(purpose string, template []byte, kinds ...objects) string {
	d := digester{sha256.New()}
	d.bytes([]byte(purpose))
	d.bytes(template)
	for _, kind := range kinds {
		d.length(len(kind))
		for _, name := range slices.Sorted(maps.Keys(kind)) {
			d.bytes([]byte(name))
			d.length(len(kind[name]))
			for _, key := range slices.Sorted(maps.Keys(kind[name])) {
				d.bytes([]byte(key))
				d.bytes(kind[name][key])
			}
		}
	}
	return hex.EncodeToString(d.Sum(nil))
}

// digester prefixes values with their lengths, so that different values never make the same bytes.
type digester struct{ hash.Hash }

func (d digester) length(n int) {
	d.Write(binary.BigEndian.AppendUint64(nil, uint64(n)))
}

func (d digester) bytes(value []byte) {
	d.length(len(value))
	d.Write(value)
}
