// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/controller/bootstrap"
	"certrotation.dev/controller/rollout/generation"
	"certrotation.dev/registry/nodepod"
	"certrotation.dev/registry/pki"
)

// The directories of the output.
const (
	manifestsDir = "manifests"
	nodesDir     = "nodes"
	tlsDir       = "tls"
)

func (s *staging) write(ctx context.Context, result *bootstrap.Result) error {
	if err := s.writeAll(manifestsDir, result.Manifests); err != nil {
		return fmt.Errorf("write manifests: %w", err)
	}
	if err := s.writeAll(tlsDir, result.TLS); err != nil {
		return fmt.Errorf("write tls: %w", err)
	}
	for i := range result.Nodes {
		if err := s.install(ctx, &result.Nodes[i]); err != nil {
			return fmt.Errorf("write the disk of node %s: %w", result.Nodes[i].Name, err)
		}
	}
	return nil
}

// layout is the layout of a node's disk, below the staging directory.
func (s *staging) layout(node *bootstrap.Node) nodepod.Layout {
	below := func(dir string) string {
		// Clean of an absolute path removes every "..", so the path stays below.
		return filepath.Join(s.dir, nodesDir, node.Name, filepath.Clean("/"+dir))
	}
	layout := nodepod.Layout{
		Name: node.Rollout, ResourceDirectory: below(node.ResourceDirectory), ManifestDirectory: below(node.ManifestDirectory),
		HostResourceDirectory: node.ResourceDirectory, ManifestFile: node.ManifestFile,
	}
	for i := range node.Companions {
		layout.Companions = append(layout.Companions, nodepod.Companion{Name: node.Companions[i].PodName, ManifestFile: node.Companions[i].ManifestFile})
	}
	return layout
}

// install does what an installer pod does on a node.
func (s *staging) install(ctx context.Context, node *bootstrap.Node) error {
	layout := s.layout(node)
	for _, dir := range []string{layout.ResourceDirectory, layout.ManifestDirectory} {
		below, err := filepath.Rel(s.dir, dir)
		if err != nil {
			return err
		}
		if _, err := s.mkdir(below); err != nil {
			return err
		}
	}
	disk, err := generation.Open(layout)
	if err != nil {
		return err
	}
	request := generation.Request{
		Content: node.Content, Revision: node.Revision, ContentHash: node.ContentHash, RestartHash: node.RestartHash,
		NodeName: node.Name, NodeIP: node.Address, Permitted: node.Permitted, Companions: map[string]*configv1alpha1.PermittedPod{},
	}
	for i := range node.Companions {
		request.Companions[node.Companions[i].PodName] = &node.Companions[i].Pod
	}
	_, err = disk.Install(ctx, request)
	return err
}

func (s *staging) verify(ctx context.Context, input *bootstrap.Input, result *bootstrap.Result, now time.Time) error {
	files, err := s.readAll(tlsDir)
	if err != nil {
		return fmt.Errorf("read tls: %w", err)
	}
	if err := verifyTLS(files, now); err != nil {
		return fmt.Errorf("tls: %w", err)
	}
	for i := range result.Nodes {
		if err := s.verifyNode(&result.Nodes[i]); err != nil {
			return fmt.Errorf("node %s: %w", result.Nodes[i].Name, err)
		}
	}
	manifests, err := s.readAll(manifestsDir)
	if err != nil {
		return fmt.Errorf("read manifests: %w", err)
	}
	return bootstrap.Adopt(ctx, input, manifests, now)
}

// verifyNode checks that the node would start with the revision.
func (s *staging) verifyNode(node *bootstrap.Node) error {
	disk, err := generation.Open(s.layout(node))
	if err != nil {
		return err
	}
	installed, err := disk.Installed()
	if err != nil {
		return err
	}
	record := installed.Generation.Record
	if installed.Manifest.Revision != node.Revision || installed.Manifest.RestartHash != node.RestartHash ||
		record.ContentHash != node.ContentHash || record.RestartHash != node.RestartHash || record.Node != node.Name {
		return fmt.Errorf("it has revision %d with the restart hash %s, want %d with %s",
			installed.Manifest.Revision, installed.Manifest.RestartHash, node.Revision, node.RestartHash)
	}
	return nil
}

// verifyTLS checks that every file is a bundle or half of a pair, and that one of the bundles verifies each pair.
func verifyTLS(files map[string][]byte, now time.Time) error {
	var anchors []*pki.Certificate
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(files)) {
		base, isCert := strings.CutSuffix(name, ".crt")
		_, hasKey := files[base+".key"]
		switch {
		case isCert && hasKey:
			pairs = append(pairs, base)
		case isCert:
			bundle, err := pki.ParseBundle(files[name])
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			anchors = append(anchors, bundle...)
		case path.Ext(name) != ".key" || files[strings.TrimSuffix(name, ".key")+".crt"] == nil:
			return fmt.Errorf("%s belongs to no pair", name)
		}
	}
	for _, name := range pairs {
		if err := verifyPair(files[name+".crt"], files[name+".key"], anchors, now); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// verifyPair verifies as a peer would, for any key usage.
func verifyPair(certPEM, keyPEM []byte, anchors []*pki.Certificate, now time.Time) error {
	pair, err := pki.ParsePair(certPEM, keyPEM)
	if err != nil {
		return err
	}
	leaf, err := x509.ParseCertificate(pair.Certificate.DER())
	if err != nil {
		return fmt.Errorf("parse the certificate: %w", err)
	}
	roots := x509.NewCertPool()
	for _, anchor := range anchors {
		root, err := x509.ParseCertificate(anchor.DER())
		if err != nil {
			return fmt.Errorf("parse an anchor: %w", err)
		}
		roots.AddCert(root)
	}
	_, err = leaf.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
	if err != nil {
		return errors.Join(errors.New("no bundle beside it verifies the certificate"), err)
	}
	return nil
}
