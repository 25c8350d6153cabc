// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"certrotation.dev/registry/pki"
)

// trust is a set of anchors on the disk.
type trust struct {
	id, file string
	// anchors are fingerprints, sorted.
	anchors []string
	// writtenAt is when the file was complete. A process that started later has read all of it.
	writtenAt time.Time
}

// leaf is a client pair on the disk.
type leaf struct {
	id          string
	fingerprint string
	until       time.Time
}

// parseTrust reads a bundle. The id depends only on the set of anchors.
func parseTrust(bundle []byte) (id string, anchors []string, err error) {
	certs, err := pki.ParseBundle(bundle)
	if err != nil {
		return "", nil, fmt.Errorf("parse the bundle: %w", err)
	}
	for _, cert := range certs {
		anchors = append(anchors, string(cert.Fingerprint))
	}
	slices.Sort(anchors)
	return shortHash([]byte(strings.Join(anchors, "\n"))), anchors, nil
}

// allExpired reports whether every anchor of a bundle has expired, as in an API that does not know of a recovery of
// etcd yet. What is loaded is better then.
func allExpired(bundle []byte, now time.Time) bool {
	certs, err := pki.ParseBundle(bundle)
	return err == nil && !slices.ContainsFunc(certs, func(c *pki.Certificate) bool { return !c.Expired(now) })
}

// parseLeaf reads a pair. The id depends only on the certificates, because they determine the key.
func parseLeaf(certPEM, keyPEM []byte) (leaf, error) {
	chain, err := pki.CheckPair(certPEM, keyPEM)
	if err != nil {
		return leaf{}, fmt.Errorf("parse the client pair: %w", err)
	}
	return leaf{id: shortHash(pki.EncodeCertificates(chain...)), fingerprint: string(chain[0].Fingerprint), until: chain[0].NotAfter}, nil
}

func shortHash(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:8])
}

// loadTrust reads a directory that putTrust wrote.
func loadTrust(dir string) (*trust, error) {
	file := filepath.Join(dir, fileBundle)
	bundle, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	id, anchors, err := parseTrust(bundle)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	return &trust{id: id, file: file, anchors: anchors, writtenAt: info.ModTime()}, nil
}

func loadLeaf(dir string) (*leaf, []byte, []byte, error) {
	certPEM, err := os.ReadFile(filepath.Join(dir, fileCertificate))
	if err != nil {
		return nil, nil, nil, err
	}
	keyPEM, err := os.ReadFile(filepath.Join(dir, fileKey))
	if err != nil {
		return nil, nil, nil, err
	}
	l, err := parseLeaf(certPEM, keyPEM)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("read %s: %w", dir, err)
	}
	return &l, certPEM, keyPEM, nil
}
