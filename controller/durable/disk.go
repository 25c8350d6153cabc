// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"certrotation.dev/registry/nodepod"
)

// Disk is the real file system below a directory. The directory itself may be a symbolic link, because the operator
// names it.
type Disk string

var _ FileSystem = Disk("")

const directoryFlags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

// Open opens a regular file or a directory. It does not block on a pipe.
func (d Disk) Open(name string) (fs.File, error) {
	return d.open(name, unix.O_RDONLY|unix.O_NONBLOCK)
}

func (d Disk) open(name string, flags int) (f *os.File, err error) {
	err = d.at("open", name, func(parent int, base string) error {
		fd, err := unix.Openat(parent, base, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, uint32(nodepod.PlainMode))
		if err != nil {
			return notFollowed(base, err)
		}
		f = os.NewFile(uintptr(fd), filepath.Join(string(d), name))
		return nil
	})
	return f, err
}

// at runs do with the parent directory of name, opened, and the base of name.
func (d Disk) at(what, name string, do func(parent int, base string) error) error {
	if !fs.ValidPath(name) {
		return &fs.PathError{Op: what, Path: name, Err: fs.ErrInvalid}
	}
	parent, err := d.walk(path.Dir(name))
	if err == nil {
		err = errors.Join(do(parent, path.Base(name)), unix.Close(parent))
	}
	if err != nil {
		return &fs.PathError{Op: what, Path: filepath.Join(string(d), name), Err: err}
	}
	return nil
}

// walk opens a directory without following links below the root.
func (d Disk) walk(dir string) (int, error) {
	at, err := unix.Open(string(d), directoryFlags&^unix.O_NOFOLLOW, 0)
	for component := range strings.SplitSeq(dir, "/") {
		if err != nil {
			return -1, err
		}
		var next int
		next, err = unix.Openat(at, component, directoryFlags, 0)
		_ = unix.Close(at)
		at, err = next, notFollowed(component, err)
	}
	return at, err
}

func notFollowed(name string, err error) error {
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) {
		return fmt.Errorf("%s on the way is a link or no directory, and is not followed: %w", name, err)
	}
	return err
}

// Mkdir creates a directory of mode 0700.
func (d Disk) Mkdir(name string) error {
	return d.at("make directory", name, func(parent int, base string) error {
		if err := unix.Mkdirat(parent, base, uint32(nodepod.DirectoryMode.Perm())); err != nil {
			return err
		}
		return chmod(parent, base, nodepod.DirectoryMode)
	})
}

// WriteFile creates a file of mode 0600. It fails if the name exists.
func (d Disk) WriteFile(name string, data []byte) error {
	f, err := d.open(name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Chmod(nodepod.PlainMode), f.Close())
}

// SyncFile flushes the data of a file to disk.
func (d Disk) SyncFile(name string) error { return d.sync(name, unix.O_NONBLOCK) }

// SyncDirectory flushes the entries of a directory to disk.
func (d Disk) SyncDirectory(name string) error { return d.sync(name, unix.O_DIRECTORY) }

func (d Disk) sync(name string, flag int) error {
	f, err := d.open(name, unix.O_RDONLY|flag)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Rename renames a file or directory and replaces an existing target.
func (d Disk) Rename(from, to string) error { return d.both("rename", from, to, unix.Renameat) }

// Exchange swaps two names.
func (d Disk) Exchange(a, b string) error { return d.both("exchange", a, b, exchange) }

func (d Disk) both(what, a, b string, do func(aParent int, a string, bParent int, b string) error) error {
	return d.at(what, a, func(aParent int, aBase string) error {
		return d.at("with", b, func(bParent int, bBase string) error { return do(aParent, aBase, bParent, bBase) })
	})
}

// Symlink creates a symbolic link.
func (d Disk) Symlink(target, name string) error {
	return d.at("make link", name, func(parent int, base string) error { return unix.Symlinkat(target, parent, base) })
}

// Remove removes a file, a link or an empty directory.
func (d Disk) Remove(name string) error {
	return d.at("remove", name, func(parent int, base string) error {
		err := unix.Unlinkat(parent, base, 0)
		if errors.Is(err, unix.EISDIR) || errors.Is(err, unix.EPERM) {
			if again := unix.Unlinkat(parent, base, unix.AT_REMOVEDIR); !errors.Is(again, unix.ENOTDIR) {
				return again
			}
		}
		return err
	})
}

// Chmod changes the mode of a file or of a directory.
func (d Disk) Chmod(name string, mode fs.FileMode) error {
	return d.at("set the mode of", name, func(parent int, base string) error { return chmod(parent, base, mode) })
}

func chmod(parent int, base string, mode fs.FileMode) error {
	err := unix.Fchmodat(parent, base, uint32(mode.Perm()), unix.AT_SYMLINK_NOFOLLOW)
	if !errors.Is(err, unix.EOPNOTSUPP) {
		return err
	}
	// Linux before 6.6 cannot do this without opening the file.
	fd, err := unix.Openat(parent, base, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	return errors.Join(unix.Fchmod(fd, uint32(mode.Perm())), unix.Close(fd))
}

// ReadDir lists a directory.
func (d Disk) ReadDir(name string) ([]fs.DirEntry, error) {
	f, err := d.open(name, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	names, err := f.Readdirnames(-1)
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	entries := make([]fs.DirEntry, 0, len(names))
	for _, entry := range names {
		info, err := d.Lstat(path.Join(name, entry))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		entries = append(entries, fs.FileInfoToDirEntry(info))
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// ReadLink returns the target of a link.
func (d Disk) ReadLink(name string) (target string, err error) {
	err = d.at("read link", name, func(parent int, base string) error {
		text := make([]byte, unix.PathMax)
		n, err := unix.Readlinkat(parent, base, text)
		target = string(text[:max(n, 0)])
		return err
	})
	return target, err
}

// Lstat describes a name without following a link.
func (d Disk) Lstat(name string) (fs.FileInfo, error) {
	out := &info{name: path.Base(name)}
	return out, d.at("look at", name, func(parent int, base string) error {
		return unix.Fstatat(parent, base, &out.stat, unix.AT_SYMLINK_NOFOLLOW)
	})
}

type info struct {
	name string
	stat unix.Stat_t
}

func (i *info) Name() string       { return i.name }
func (i *info) Size() int64        { return i.stat.Size }
func (i *info) ModTime() time.Time { return time.Unix(i.stat.Mtim.Unix()) }
func (i *info) IsDir() bool        { return i.Mode().IsDir() }
func (i *info) Sys() any           { return &i.stat }

func (i *info) Mode() fs.FileMode {
	mode := fs.FileMode(i.stat.Mode & 0o777)
	for bit, is := range map[uint32]fs.FileMode{unix.S_ISUID: fs.ModeSetuid, unix.S_ISGID: fs.ModeSetgid, unix.S_ISVTX: fs.ModeSticky} {
		if uint32(i.stat.Mode)&bit != 0 { //nolint:unconvert // elsewhere than on Linux it has 16 bits
			mode |= is
		}
	}
	switch i.stat.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		return mode
	case unix.S_IFDIR:
		return mode | fs.ModeDir
	case unix.S_IFLNK:
		return mode | fs.ModeSymlink
	}
	return mode | fs.ModeIrregular
}
