// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// material is what the API servers start with.
type material struct {
	trusts map[string]*trust // by the server's name
	leaf   *leaf
}

// openStore returns the store and the start material: the last used, or the seed if it is new.
func openStore(dir, seedDir string, servers []Server) (*store, *material, error) {
	s := &store{dir: dir}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, err
	}
	if err := s.sow(seedDir, servers); err != nil {
		return nil, nil, fmt.Errorf("take over the seed %s (`certrotation render` writes it): %w", seedDir, err)
	}
	m := &material{trusts: map[string]*trust{}}
	var err error
	if m.leaf, _, _, err = loadLeaf(filepath.Join(dir, leafPointer)); err != nil {
		return nil, nil, err
	}
	for _, server := range servers {
		// Resolve the link: the file that a process starts with must never change.
		target, err := filepath.EvalSymlinks(filepath.Join(dir, server.Name+trustPointer))
		if err != nil {
			return nil, nil, err
		}
		if m.trusts[server.Name], err = loadTrust(target); err != nil {
			return nil, nil, err
		}
	}
	return s, m, nil
}

// sow takes over a new seed for every server. It writes the mark last.
func (s *store) sow(seedDir string, servers []Server) error {
	bundle, err := os.ReadFile(filepath.Join(seedDir, fileBundle))
	if err != nil {
		return err
	}
	_, certPEM, keyPEM, err := loadLeaf(seedDir)
	if err != nil {
		return err
	}
	t, err := s.putTrust(bundle)
	if err != nil {
		return err
	}
	l, err := s.putLeaf(certPEM, keyPEM)
	if err != nil {
		return err
	}
	mark := t.id + " " + l.id + "\n"
	old, err := os.ReadFile(filepath.Join(s.dir, seedMark))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	known := string(old) == mark
	for _, server := range servers {
		pointer := server.Name + trustPointer
		if _, err := os.Lstat(filepath.Join(s.dir, pointer)); known && err == nil {
			continue
		}
		if err := s.point(pointer, trustPrefix+t.id); err != nil {
			return err
		}
	}
	if known {
		return nil
	}
	if err := s.point(leafPointer, leafPrefix+l.id); err != nil {
		return err
	}
	return s.mark(mark)
}

func (s *store) mark(content string) error {
	draft := filepath.Join(s.dir, ".draft-"+seedMark)
	if err := os.Remove(draft); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := writeSynced(draft, []byte(content)); err != nil {
		return err
	}
	if err := os.Rename(draft, filepath.Join(s.dir, seedMark)); err != nil {
		return err
	}
	return syncDir(s.dir)
}
