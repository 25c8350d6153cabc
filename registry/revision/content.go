// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package revision

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"
)

// Content is what a revision consists of. Objects have their names without the number of the revision.
type Content struct {
	// PodTemplate is the text of the manifest with its placeholders. Its ConfigMap is not among ConfigMaps.
	PodTemplate []byte
	// ConfigMaps and Secrets map the name of an object and a key to a value. For a ConfigMap the keys are those of data
	// and binaryData together.
	ConfigMaps, Secrets map[string]map[string][]byte
	// Reloaded names the Secrets that the process reloads by itself, which are those of leaves. It does not apply to a
	// ConfigMap of the same name.
	Reloaded sets.Set[string]
}

// Objects of one kind: object name, key, value.
type objects = map[string]map[string][]byte

// ContentHash covers everything but Reloaded. It is a lower-case hexadecimal SHA-256.
func (c Content) ContentHash() string {
	return digest("certrotation content 1", c.PodTemplate, c.ConfigMaps, c.Secrets)
}

// RestartHash covers what the process reads only when it starts. It is a lower-case hexadecimal SHA-256. The Secrets
// that it covers have to be complete: with only some of their keys the hash is a different one.
func (c Content) RestartHash() string {
	atStart := maps.Clone(c.Secrets)
	maps.DeleteFunc(atStart, func(name string, _ map[string][]byte) bool { return c.Reloaded.Has(name) })
	return digest("certrotation restart 1", c.PodTemplate, c.ConfigMaps, atStart)
}

// Only returns the content that one node may see: some keys of one Secret, and everything else. Its ContentHash is that
// of the node.
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

// digester writes values with their lengths, so that different values never make the same bytes.
type digester struct{ hash.Hash }

func (d digester) length(n int) {
	d.Write(binary.BigEndian.AppendUint64(nil, uint64(n)))
}

func (d digester) bytes(value []byte) {
	d.length(len(value))
	d.Write(value)
}
