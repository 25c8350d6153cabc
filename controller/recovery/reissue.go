// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"fmt"
	"time"

	"certrotation.dev/controller/durable"
	"certrotation.dev/registry/nodepod"
	"certrotation.dev/registry/pki"
)

// made is a reissued generation in memory.
type made struct {
	// files by path relative to the generation.
	files map[string][]byte
	// leaves are all pairs of the generation by name, including kept ones.
	leaves map[string]*pki.Pair
	// anchors of each bundle, by its path.
	anchors map[string][]*pki.Certificate
}

// makeGeneration executes a reissue plan and keeps everything else of the old generation.
func makeGeneration(g *nodepod.Generation, plan *nodepod.Reissue, v *vault, now time.Time) (*made, error) {
	if err := v.resign(plan.Resign, now); err != nil {
		return nil, err
	}
	m := &made{files: map[string][]byte{}, leaves: map[string]*pki.Pair{}, anchors: map[string][]*pki.Certificate{}}
	if err := m.takeOver(g); err != nil {
		return nil, err
	}
	for _, t := range plan.Trust {
		anchors := append([]*pki.Certificate(nil), t.Keep...)
		for _, ca := range t.Resigned {
			anchors = append(anchors, v.signing(ca).Certificate)
		}
		m.anchors[t.Path] = anchors
		m.files[t.Path] = pki.EncodeCertificates(anchors...)
	}
	for i := range plan.Leaves {
		if err := m.issue(g, &plan.Leaves[i], v, now); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *made) takeOver(g *nodepod.Generation) error {
	var err error
	for name := range g.Record.Files {
		if m.files[name], err = nodepod.ReadFile(durable.Disk(g.Path), name, nodepod.MaxFileBytes); err != nil {
			return fmt.Errorf("take over generation %s: %w", g.ID(), err)
		}
	}
	for i := range g.Pairs {
		p := &g.Pairs[i]
		if m.leaves[p.Name], err = pki.ParsePair(m.files[p.Cert], m.files[p.Key]); err != nil {
			return fmt.Errorf("take over leaf %s of generation %s: %w", p.Name, g.ID(), err)
		}
	}
	return nil
}

func (m *made) issue(g *nodepod.Generation, leaf *nodepod.ReissueLeaf, v *vault, now time.Time) error {
	pair, err := v.signing(leaf.Authority).Issue(leaf.Profile, now)
	if err != nil {
		return fmt.Errorf("reissue leaf %s: %w", leaf.Name, err)
	}
	key, err := pair.KeyPEM()
	if err != nil {
		return fmt.Errorf("reissue leaf %s: %w", leaf.Name, err)
	}
	for i := range g.Pairs {
		if p := &g.Pairs[i]; p.Name == leaf.Name {
			m.files[p.Cert], m.files[p.Key] = pair.CertPEM(), key
		}
	}
	m.leaves[leaf.Name] = pair
	return nil
}
