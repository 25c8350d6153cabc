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

// Content is what a revision freezes. Objects go by the names that they have without the number of the revision.
type Content struct {
	// PodTemplate is the text of the manifest with its placeholders. The ConfigMap that it comes from is not among ConfigMaps.
	PodTemplate []byte
	// ConfigMaps and Secrets are object name, key, value. For a ConfigMap that is data and binaryData together.
	ConfigMaps, Secrets map[string]map[string][]byte
	// Reloaded names the Secrets that the process reads anew by itself: leaves. It says nothing about a ConfigMap of the
	// same name.
	Reloaded sets.Set[string]
}

// Objects of one kind: object name, key, value.
type objects = map[string]map[string][]byte

// ContentHash is over everything but Reloaded. It is lower-case hexadecimal SHA-256.
func (c Content) ContentHash() string {
	return digest("certrotation content 1", c.PodTemplate, c.ConfigMaps, c.Secrets)
}

// RestartHash is over what the process reads only at its start. It is lower-case hexadecimal SHA-256. The objects that it
// covers have to be complete: who sees only some keys of such a Secret gets another hash.
func (c Content) RestartHash() string {
	atStart := maps.Clone(c.Secrets)
	maps.DeleteFunc(atStart, func(name string, _ map[string][]byte) bool { return c.Reloaded.Has(name) })
	return digest("certrotation restart 1", c.PodTemplate, c.ConfigMaps, atStart)
}

// Only is the content in which of one Secret there are some keys and of all else everything: what one node may see. Its
// ContentHash is that of the node.
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

// digester writes values so that their borders cannot shift.
type digester struct{ hash.Hash }

func (d digester) length(n int) {
	d.Write(binary.BigEndian.AppendUint64(nil, uint64(n)))
}

func (d digester) bytes(value []byte) {
	d.length(len(value))
	d.Write(value)
}
