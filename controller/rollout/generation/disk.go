// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package generation

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"
)

// disk is the real file system below a directory, out of which no link leads.
type disk struct{ root *os.Root }

var _ fileSystem = disk{}

func (d disk) Mkdir(name string) error {
	if err := d.root.Mkdir(name, directoryMode); err != nil {
		return err
	}
	return d.root.Chmod(name, directoryMode)
}

func (d disk) WriteFile(name string, data []byte) error {
	f, err := d.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, fileMode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Chmod(fileMode), f.Close())
}

func (d disk) SyncFile(name string) error {
	return d.sync(name, syscall.O_NOFOLLOW)
}

func (d disk) SyncDirectory(name string) error {
	return d.sync(name, syscall.O_DIRECTORY)
}

func (d disk) sync(name string, flag int) error {
	f, err := d.root.OpenFile(name, os.O_RDONLY|flag, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func (d disk) Rename(from, to string) error { return d.root.Rename(from, to) }

func (d disk) Exchange(a, b string) error {
	if path.Dir(a) != path.Dir(b) {
		return fmt.Errorf("exchange %s and %s: they are in different directories", a, b)
	}
	parent, err := d.root.Open(path.Dir(a))
	if err != nil {
		return err
	}
	defer parent.Close()
	return exchange(parent, path.Base(a), path.Base(b))
}

func (d disk) Symlink(target, name string) error { return d.root.Symlink(target, name) }

func (d disk) Remove(name string) error { return d.root.Remove(name) }

func (d disk) Chmod(name string, mode fs.FileMode) error { return d.root.Chmod(name, mode) }

func (d disk) ReadFile(name string, limit int64) ([]byte, error) {
	// A pipe in the place of a file must not make the open wait for a writer.
	f, err := d.root.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", name)
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%s has more than %d bytes", name, limit)
	}
	return data, nil
}

func (d disk) ReadDirectory(name string) ([]fs.DirEntry, error) {
	return fs.ReadDir(d.root.FS(), name)
}

func (d disk) ReadLink(name string) (string, error) { return d.root.Readlink(name) }

func (d disk) Mode(name string) (fs.FileMode, error) {
	info, err := d.root.Lstat(name)
	if err != nil {
		return 0, err
	}
	return info.Mode(), nil
}
