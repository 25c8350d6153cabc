// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package contenthash

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// SupersededKey is the key under which a ConfigMap names the contents that it had before this one: their hashes, newest
// first, one a line.
const SupersededKey = "superseded-contents"

// MaxSuperseded bounds how many are named. A rotation replaces two contents.
const MaxSuperseded = 32

// Content is what one object has, or the directory that shows it.
type Content struct {
	Hash string
	// Superseded are the hashes of the contents that it says it has replaced, newest first.
	Superseded []string
}

// Reaches says whether this is the content of a hash, or a later one of the same object.
func (c *Content) Reaches(hash string) bool {
	return c.Hash == hash || slices.Contains(c.Superseded, hash)
}

// Succession is what a content has to say that replaces this one.
func (c *Content) Succession() []string {
	return append([]string{c.Hash}, c.Superseded[:min(len(c.Superseded), MaxSuperseded-1)]...)
}

// SupersededBy are the hashes of the contents that a ConfigMap says it had before, newest first.
func SupersededBy(config *corev1.ConfigMap) []string {
	if text, ok := config.Data[SupersededKey]; ok {
		return parseSuperseded([]byte(text))
	}
	return parseSuperseded(config.BinaryData[SupersededKey])
}

// Supersede has a ConfigMap that is about to be written name the content that it replaces: former is the ConfigMap as it
// is. A content that stays as it is, and one that was empty, is not replaced.
func Supersede(config, former *corev1.ConfigMap) {
	was := Content{Hash: OfConfigMap(former), Superseded: SupersededBy(former)}
	if len(former.Data)+len(former.BinaryData) == 0 || OfConfigMap(config) == was.Hash {
		return
	}
	// A key is in one of the two only.
	delete(config.BinaryData, SupersededKey)
	if config.Data == nil {
		config.Data = map[string]string{}
	}
	config.Data[SupersededKey] = strings.Join(was.Succession(), "\n") + "\n"
}

// parseSuperseded reads the hashes of a value. One that has anything else says nothing.
func parseSuperseded(value []byte) []string {
	var out []string
	for line := range strings.Lines(string(value)) {
		if len(out) == MaxSuperseded {
			break
		}
		hash, ended := strings.CutSuffix(line, "\n")
		if !ended || !Valid(hash) {
			return nil
		}
		out = append(out, hash)
	}
	return out
}
