// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const (
	fileBundle      = "etcd-ca-bundle.crt"
	fileCertificate = "etcd-client.crt"
	fileKey         = "etcd-client.key"

	trustPrefix  = "trust-"
	leafPrefix   = "leaf-"
	leafPointer  = "leaf"
	trustPointer = "-trust" // After the name of an API server.
	seedMark     = "seed"
)

// store is the directory with the etcd material. Directories in it appear complete or not at all, and never change.
type store struct{ dir string }

// putTrust writes a bundle unless its anchors are already there, in any order.
func (s *store) putTrust(bundle []byte) (*trust, error) {
	id, _, err := parseTrust(bundle)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(s.dir, trustPrefix+id)
	if err := s.put(dir, map[string][]byte{fileBundle: bundle}); err != nil {
		return nil, err
	}
	return loadTrust(dir)
}

// putLeaf writes a pair unless it is already there.
func (s *store) putLeaf(certPEM, keyPEM []byte) (*leaf, error) {
	l, err := parseLeaf(certPEM, keyPEM)
	if err != nil {
		return nil, err
	}
	return &l, s.put(filepath.Join(s.dir, leafPrefix+l.id), map[string][]byte{fileCertificate: certPEM, fileKey: keyPEM})
}

// put makes a directory with these files, durably.
func (s *store) put(dir string, files map[string][]byte) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	draft, err := os.MkdirTemp(s.dir, ".draft-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(draft) // A no-op after the rename.
	for name, content := range files {
		if err := writeSynced(filepath.Join(draft, name), content); err != nil {
			return err
		}
	}
	if err := syncDir(draft); err != nil {
		return err
	}
	if err := os.Rename(draft, dir); err != nil {
		return err
	}
	return syncDir(s.dir)
}

// point moves a pointer to a directory of the store atomically.
func (s *store) point(pointer, directory string) error {
	draft := filepath.Join(s.dir, ".draft-"+pointer)
	if err := os.Remove(draft); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Symlink(directory, draft); err != nil {
		return err
	}
	if err := os.Rename(draft, filepath.Join(s.dir, pointer)); err != nil {
		return err
	}
	return syncDir(s.dir)
}

// prune removes directories whose trust or leaf ids are not in use, and what an earlier process left unfinished.
func (s *store) prune(trusts, leaves map[string]bool) error {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return err
	}
	var errs []error
	for _, entry := range entries {
		trustID, isTrust := strings.CutPrefix(entry.Name(), trustPrefix)
		leafID, isLeaf := strings.CutPrefix(entry.Name(), leafPrefix)
		if isTrust && !trusts[trustID] || isLeaf && !leaves[leafID] || strings.HasPrefix(entry.Name(), ".draft-") {
			errs = append(errs, os.RemoveAll(filepath.Join(s.dir, entry.Name())))
		}
	}
	return errors.Join(errs...)
}

func writeSynced(file string, content []byte) error {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
