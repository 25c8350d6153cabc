// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"certrotation.dev/controller/bootstrap"
	"certrotation.dev/controller/rollout/generation"
	"certrotation.dev/registry/nodedisk"
)

// The directories of the output.
const (
	manifestsDir = "manifests"
	nodesDir     = "nodes"
	tlsDir       = "tls"
)

// write writes everything that was rendered.
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

// layout of the disk of a node, below the staging.
func (s *staging) layout(node *bootstrap.Node) nodedisk.Layout {
	below := func(dir string) string {
		// With a slash before it, a path does not climb.
		return filepath.Join(s.dir, nodesDir, node.Name, filepath.Clean("/"+dir))
	}
	return nodedisk.Layout{
		Name: node.Rollout, ResourceDirectory: below(node.ResourceDirectory), ManifestDirectory: below(node.ManifestDirectory),
		HostResourceDirectory: node.ResourceDirectory,
	}
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
	_, err = disk.Install(ctx, generation.Request{
		Content: node.Content, Revision: node.Revision, ContentHash: node.ContentHash, RestartHash: node.RestartHash,
		NodeName: node.Name, NodeIP: node.Address, Permitted: node.Permitted,
	})
	return err
}

// verify reads back what was written, and checks it.
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
