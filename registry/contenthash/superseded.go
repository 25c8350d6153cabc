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

// SupersededKey is the key under which a ConfigMap, or the Secret of a leaf, lists its former contents: their hashes,
// newest first, one a line.
const SupersededKey = "superseded-contents"

// MaxSuperseded bounds the length of the list. A rotation replaces two contents.
const MaxSuperseded = 32

// Content is the content of one object, or of the directory that shows it.
type Content struct {
	Hash string
	// Superseded are the hashes of the former contents that it lists, newest first.
	Superseded []string
}

// Reaches reports whether this is the content with that hash, or a later one of the same object.
func (c *Content) Reaches(hash string) bool {
	return c.Hash == hash || slices.Contains(c.Superseded, hash)
}

// Succession returns the list for a content that replaces this one.
func (c *Content) Succession() []string {
	return append([]string{c.Hash}, c.Superseded[:min(len(c.Superseded), MaxSuperseded-1)]...)
}

// ContentOfConfigMap returns the content of a ConfigMap.
func ContentOfConfigMap(config *corev1.ConfigMap) Content { return contentOf(valuesOf(config)) }

// ContentOfSecret returns the content of a Secret.
func ContentOfSecret(secret *corev1.Secret) Content { return contentOf(secret.Data) }

func contentOf(values map[string][]byte) Content {
	return Content{Hash: of(values), Superseded: supersededIn(values)}
}

// tie begins the list of a leaf, followed by the hash of its certificate. A list that names another certificate is
// ignored.
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

// SupersedeSecret adds the former content to the list of a leaf's Secret before it is written. If the content is
// unchanged, it does nothing. A content with another certificate gets no list, because a process that starts with it
// presents another leaf.
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

// SupersedeConfigMap adds the former content to the list of a ConfigMap before it is written. It does nothing if the
// content is unchanged, or if the former one was empty.
func SupersedeConfigMap(config, former *corev1.ConfigMap) {
	was := ContentOfConfigMap(former)
	if len(former.Data)+len(former.BinaryData) == 0 || OfConfigMap(config) == was.Hash {
		return
	}
	// A key must not be in both data and binaryData.
	delete(config.BinaryData, SupersededKey)
	if config.Data == nil {
		config.Data = map[string]string{}
	}
	config.Data[SupersededKey] = was.succession()
}

func (c *Content) succession() string { return strings.Join(c.Succession(), "\n") + "\n" }

// parseSuperseded parses the hashes of a value. A value with anything else yields none.
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
