// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Whoever can write below the directories of the static pod, as its containers can below their mounts, could put a link where
// this program, which is root on the node, makes or reads a file. So no link on the way is followed: a path is walked from
// the root, one component at a time, and what is done at its end is done relative to the directory that was reached.

const directoryFlags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

// walk opens a directory. With make it makes what is missing of the way.
func walk(dir string, make bool) (int, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return -1, err
	}
	at, err := unix.Open("/", directoryFlags, 0)
	if err != nil {
		return -1, &os.PathError{Op: "open", Path: "/", Err: err}
	}
	for name := range strings.SplitSeq(strings.Trim(filepath.Clean(absolute), "/"), "/") {
		if name == "" {
			continue
		}
		next, err := step(at, name, make)
		_ = unix.Close(at)
		if err != nil {
			return -1, onTheWay(dir, name, err)
		}
		at = next
	}
	return at, nil
}

func step(at int, name string, make bool) (int, error) {
	next, err := unix.Openat(at, name, directoryFlags, 0)
	if !make || !errors.Is(err, unix.ENOENT) {
		return next, err
	}
	if err := unix.Mkdirat(at, name, uint32(directoryMode)); err != nil && !errors.Is(err, unix.EEXIST) {
		return -1, err
	}
	return unix.Openat(at, name, directoryFlags, 0)
}

func onTheWay(path, name string, err error) error {
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) {
		err = fmt.Errorf("%s on the way is a link or no directory, and is not followed: %w", name, err)
	}
	return &os.PathError{Op: "open", Path: path, Err: err}
}

// at does something relative to the directory of a path, in which the path has the name base.
func at(path string, do func(directory int, base string) error) error {
	directory, err := walk(filepath.Dir(filepath.Clean(path)), false)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(directory) }()
	return do(directory, filepath.Base(filepath.Clean(path)))
}

// createNew makes a file that does not exist.
func createNew(file string) (*os.File, error) {
	return openAt(file, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL)
}

// openOld opens a regular file. A pipe in its place must not make the open wait for a writer.
func openOld(file string) (*os.File, error) {
	f, err := openAt(file, unix.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no regular file", file)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func openAt(file string, flags int) (f *os.File, err error) {
	err = at(file, func(directory int, base string) error {
		fd, err := unix.Openat(directory, base, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, uint32(fileMode))
		if err != nil {
			return onTheWay(file, base, err)
		}
		f = os.NewFile(uintptr(fd), file)
		return nil
	})
	return f, err
}

func makeDirectory(dir string) error {
	return at(dir, func(directory int, base string) error {
		if err := unix.Mkdirat(directory, base, uint32(directoryMode)); err != nil {
			return &os.PathError{Op: "mkdir", Path: dir, Err: err}
		}
		return nil
	})
}

// makeWay makes a directory and what is missing of the way to it.
func makeWay(dir string) error {
	fd, err := walk(dir, true)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

func makeLink(target, link string) error {
	return at(link, func(directory int, base string) error {
		if err := unix.Symlinkat(target, directory, base); err != nil {
			return &os.LinkError{Op: "symlink", Old: target, New: link, Err: err}
		}
		return nil
	})
}

// removeFile removes a file or a link, if there is one.
func removeFile(file string) error {
	return at(file, func(directory int, base string) error {
		if err := unix.Unlinkat(directory, base, 0); err != nil && !errors.Is(err, unix.ENOENT) {
			return &os.PathError{Op: "remove", Path: file, Err: err}
		}
		return nil
	})
}

func rename(from, to string) error {
	return at(from, func(fromDirectory int, fromBase string) error {
		return at(to, func(toDirectory int, toBase string) error {
			if err := unix.Renameat(fromDirectory, fromBase, toDirectory, toBase); err != nil {
				return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
			}
			return nil
		})
	})
}
