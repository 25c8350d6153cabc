// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package signcsr

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"

	certificatesv1 "k8s.io/api/certificates/v1"

	"certrotation.dev/registry/csr"
)

// store keeps one file for each record, and the log of decisions. Its lock is held from a decision until it is
// recorded.
type store struct {
	sync.Mutex
	dir string
	// claim is an open file whose lock excludes other processes.
	claim *os.File
}

const (
	privateFile = 0o600
	privateDir  = 0o700
)

// openStore creates the directory if necessary, and locks it for this process.
func openStore(dir string) (*store, error) {
	if err := os.MkdirAll(dir, privateDir); err != nil {
		return nil, fmt.Errorf("make --storage-dir: %w", err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return nil, fmt.Errorf("look at --storage-dir: %w", err)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("--storage-dir %s is no directory, or a link to one: name the directory itself", dir)
	}
	if info.Mode().Perm()&0o022 != 0 {
		return nil, fmt.Errorf("--storage-dir %s has the mode %04o: others can change the records; chmod it to 0700", dir, info.Mode().Perm())
	}
	claim, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, privateFile)
	if err != nil {
		return nil, fmt.Errorf("claim --storage-dir: %w", err)
	}
	if err := unix.Flock(int(claim.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("claim --storage-dir %s: another process uses it: %w", dir, err), claim.Close())
	}
	return &store{dir: dir, claim: claim}, nil
}

func (s *store) close() error { return s.claim.Close() }

// path is a hash, so that the name cannot influence it.
func (s *store) path(name string) string {
	sum := sha256.Sum256([]byte(name))
	return filepath.Join(s.dir, "csr-"+hex.EncodeToString(sum[:])+".json")
}

// get returns nil if there is no record with the name.
func (s *store) get(name string) (*certificatesv1.CertificateSigningRequest, error) {
	data, err := readOwn(s.path(name), 4*csr.MaxObjectBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read record of %q: %w", name, err)
	}
	object := &certificatesv1.CertificateSigningRequest{}
	if err := json.Unmarshal(data, object); err != nil {
		return nil, fmt.Errorf("read record of %q: %w", name, err)
	}
	if object.Name != name {
		return nil, fmt.Errorf("read record of %q: %s is that of %q", name, s.path(name), object.Name)
	}
	return object, nil
}

// put replaces the record with the object's name. When it returns nil, the record is on the disk.
func (s *store) put(object *certificatesv1.CertificateSigningRequest) error {
	data, err := json.Marshal(object)
	if err != nil {
		return fmt.Errorf("encode record of %q: %w", object.Name, err)
	}
	if err := s.replace(s.path(object.Name), data); err != nil {
		return fmt.Errorf("write record of %q: %w", object.Name, err)
	}
	return nil
}

func (s *store) replace(path string, data []byte) (err error) {
	file, err := os.CreateTemp(s.dir, ".csr-*") // of mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(file.Name()))
		}
	}()
	if err := writeSynced(file, data); err != nil {
		return err
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return err
	}
	return syncDir(s.dir)
}

func writeSynced(file *os.File, data []byte) error {
	_, err := file.Write(data)
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

func syncDir(dir string) error {
	opened, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(opened.Sync(), opened.Close())
}
