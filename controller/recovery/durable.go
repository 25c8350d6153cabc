// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Modes of everything that is written.
const (
	fileMode      fs.FileMode = 0o600
	directoryMode fs.FileMode = 0o700
)

// stagedSuffix is the end of names that are in use only while something is written, as in controller/rollout/generation,
// whose next run removes what is left of them. kubelet passes over dot files.
const stagedSuffix = ".staging"

func staged(file string) string {
	return filepath.Join(filepath.Dir(file), "."+filepath.Base(file)+stagedSuffix)
}

// replaceFile writes a file so that there is the old one or the new one at any time, also after a loss of power.
func replaceFile(file string, data []byte) error {
	temporary := staged(file)
	if err := removeFile(temporary); err != nil {
		return err
	}
	if err := writeSynced(temporary, data); err != nil {
		return err
	}
	if err := rename(temporary, file); err != nil {
		return err
	}
	return syncDirectory(filepath.Dir(file))
}

// replaceLink is replaceFile for a symbolic link.
func replaceLink(link, target string) error {
	temporary := staged(link)
	if err := removeFile(temporary); err != nil {
		return err
	}
	if err := makeLink(target, temporary); err != nil {
		return err
	}
	if err := rename(temporary, link); err != nil {
		return err
	}
	return syncDirectory(filepath.Dir(link))
}

// writeSynced makes a file that does not exist.
func writeSynced(file string, data []byte) (err error) {
	f, err := createNew(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := f.Chmod(fileMode); err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		return err
	}
	return f.Sync()
}

// writeTree writes files, by their relative paths, to a directory that comes into being as a whole. What an attempt that was
// interrupted has left of it is replaced.
func writeTree(dir string, files map[string][]byte, finish func(temporary string) error) error {
	temporary := staged(dir)
	if err := os.RemoveAll(temporary); err != nil {
		return fmt.Errorf("remove what an interrupted recovery has left: %w", err)
	}
	if err := makeDirectory(temporary); err != nil {
		return err
	}
	for name, data := range files {
		file := filepath.Join(temporary, name)
		if err := makeWay(filepath.Dir(file)); err != nil {
			return err
		}
		if err := writeSynced(file, data); err != nil {
			return err
		}
	}
	if finish != nil {
		if err := finish(temporary); err != nil {
			return err
		}
	}
	if err := syncTree(temporary); err != nil {
		return err
	}
	if err := rename(temporary, dir); err != nil {
		return err
	}
	return syncDirectory(filepath.Dir(dir))
}

func syncTree(dir string) error {
	return filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		return syncDirectory(file)
	})
}

func syncDirectory(dir string) (err error) {
	fd, err := walk(dir, false)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), dir)
	defer func() { err = errors.Join(err, f.Close()) }()
	return f.Sync()
}

// exchangeInSteps is exchange where the kernel has no such call.
func exchangeInSteps(a, b string) error {
	between := staged(a)
	for _, step := range [][2]string{{b, between}, {a, b}, {between, a}} {
		if err := rename(step[0], step[1]); err != nil {
			return err
		}
	}
	return nil
}
