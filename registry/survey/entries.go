// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"bytes"
	"encoding/pem"
	"maps"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/registry/pki"
)

// AddEntries finds the pairs and bundles among values that were found together, by their names as Kubernetes, kubeadm,
// OpenShift, cert-manager and openssl give them.
func (s *Survey) AddEntries(e *Entries) {
	var own *bundle
	pairs := map[string]*presented{}
	for _, name := range slices.Sorted(maps.Keys(e.Values)) {
		data := asPEM(name, e.Values[name])
		at := e.place(name)
		if !isPEM(name, data) {
			continue
		}
		if !bytes.Contains(data, []byte("-----BEGIN CERTIFICATE-----")) {
			if IsPrivateKey(data) && !e.Secret {
				s.bundle(at, data, e.Group)
			} else if isCertificateName(name) && !IsPrivateKey(data) && bytes.Contains(data, []byte("CERTIFICATE-----")) {
				s.pair(at, data, nil, e.Group)
			}
			continue
		}
		key := e.keyOf(name)
		switch {
		case !e.Secret && (IsPrivateKey(data) || isBundleName(name) || onlyCAs(data)), e.Secret && key == nil && !isBundleName(name) && onlyCAs(data):
			s.bundle(at, data, e.Group)
		case key == nil && isBundleName(name):
			if b := s.bundle(at, data, e.Group); path.Base(name) == corev1.ServiceAccountRootCAKey {
				own = b
			}
		case key == nil && IsPrivateKey(data):
			pairs[name] = s.pair(at, data, data, e.Group)
		default:
			pairs[name] = s.pair(at, data, key, e.Group)
		}
	}
	if p := pairs[corev1.TLSCertKey]; p != nil && own != nil {
		p.own, own.beside = own, true
	}
}

func (e *Entries) place(name string) Place {
	at := e.At
	if file, ok := e.Files[name]; ok {
		at.File = file
		return at
	}
	at.Key = name
	return at
}

// keyOf returns the private key that belongs to a certificate by its name, nil if there is none.
func (e *Entries) keyOf(name string) []byte {
	stem, ok := stemOf(name)
	if !ok {
		return nil
	}
	for _, candidate := range []string{stem + ".key", stem + "-key.pem", stem + ".key.pem", stem + "key.pem", stem + "-key"} {
		if key := e.Values[candidate]; candidate != name && IsPrivateKey(key) {
			return key
		}
	}
	return nil
}

func stemOf(name string) (string, bool) {
	for _, suffix := range []string{"-cert.pem", "cert.pem", ".cert.pem", ".crt", ".cert", ".cer", ".pem"} {
		if stem, ok := strings.CutSuffix(name, suffix); ok {
			return stem, true
		}
	}
	return "", false
}

func isCertificateName(name string) bool {
	switch path.Ext(name) {
	case ".crt", ".pem", ".cer", ".cert":
		return true
	}
	return false
}

// isBundleName reports whether programs verify by what is stored under a name. kubeadm has a key beside its CAs.
func isBundleName(name string) bool {
	name = strings.ToLower(path.Base(name))
	return strings.HasPrefix(name, "ca.") || strings.HasPrefix(name, "ca-") || strings.HasPrefix(name, "cacert") || strings.HasSuffix(name, "-ca.crt") ||
		strings.HasSuffix(name, "-ca.pem") || strings.Contains(name, "bundle") || strings.HasPrefix(name, "root")
}

// onlyCAs reports whether a PEM holds CAs and nothing else.
func onlyCAs(data []byte) bool {
	certs, err := pki.ParseChain(data)
	return err == nil && !slices.ContainsFunc(certs, func(c *pki.Certificate) bool { return !c.IsCA })
}

// isPEM leaves out text that only quotes a PEM.
func isPEM(name string, data []byte) bool {
	return bytes.HasPrefix(bytes.TrimSpace(data), []byte("-----BEGIN ")) ||
		isCertificateName(name) && (bytes.HasPrefix(data, []byte("-----BEGIN ")) || bytes.Contains(data, []byte("\n-----BEGIN ")))
}

// asPEM encodes DER in files that are named as certificates.
func asPEM(name string, data []byte) []byte {
	if ext := path.Ext(name); (ext == ".der" || isCertificateName(name)) && len(data) > 1 && data[0] == 0x30 && data[1] >= 0x80 {
		if _, err := pki.ParseCertificate(data); err != nil && ext == ".der" {
			return data // It may be a key.
		}
		return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: data})
	}
	return data
}
