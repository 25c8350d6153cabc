// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package contenthash

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// SupersededKey is the key under which a ConfigMap, or the Secret of a leaf, names the contents that it had before this one: their
// hashes, newest first, one a line.
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

// ContentOfConfigMap is the content of a ConfigMap.
func ContentOfConfigMap(config *corev1.ConfigMap) Content { return contentOf(valuesOf(config)) }

// ContentOfSecret is the content of a Secret.
func ContentOfSecret(secret *corev1.Secret) Content { return contentOf(secret.Data) }

func contentOf(values map[string][]byte) Content {
	return Content{Hash: of(values), Superseded: supersededIn(values)}
}

// tie begins the list of a leaf, followed by the hash of its certificate: the list of another certificate says nothing, whoever has
// left it there.
const tie = "certificate "

func tieTo(certificate []byte) string {
	sum := sha256.Sum256(certificate)
	return tie + hex.EncodeToString(sum[:]) + "\n"
}

func supersededIn(values map[string][]byte) []string {
	list := values[SupersededKey]
	if bytes.HasPrefix(list, []byte(tie)) {
		rest, tied := bytes.CutPrefix(list, []byte(tieTo(values[corev1.TLSCertKey])))
		if !tied {
			return nil
		}
		list = rest
	}
	return parseSuperseded(list)
}

// SupersedeSecret has the Secret of a leaf that is about to be written name the content that it replaces: former is the Secret as it
// is. A content that stays as it is, and one with another certificate, is not replaced: whoever starts with that presents another leaf.
func SupersedeSecret(secret, former *corev1.Secret) {
	was, certificate := ContentOfSecret(former), secret.Data[corev1.TLSCertKey]
	switch {
	case OfSecret(secret) == was.Hash:
	case !bytes.Equal(certificate, former.Data[corev1.TLSCertKey]):
		delete(secret.Data, SupersededKey)
	default:
		secret.Data[SupersededKey] = []byte(tieTo(certificate) + was.succession())
	}
}

// SupersedeConfigMap has a ConfigMap that is about to be written name the content that it replaces: former is the ConfigMap as it
// is. A content that stays as it is, and one that was empty, is not replaced.
func SupersedeConfigMap(config, former *corev1.ConfigMap) {
	was := ContentOfConfigMap(former)
	if len(former.Data)+len(former.BinaryData) == 0 || OfConfigMap(config) == was.Hash {
		return
	}
	// A key is in one of the two only.
	delete(config.BinaryData, SupersededKey)
	if config.Data == nil {
		config.Data = map[string]string{}
	}
	config.Data[SupersededKey] = was.succession()
}

// succession is Succession as it is written.
func (c *Content) succession() string { return strings.Join(c.Succession(), "\n") + "\n" }

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
