// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package generation

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"certrotation.dev/controller/durable"
	"certrotation.dev/registry/nodepod"
)

// errPowerLoss is the error of each operation after the power is cut.
var errPowerLoss = errors.New("the power is gone")

// supply counts the write operations in all trees of a machine, and can make them fail.
type supply struct {
	operations int
	// fails returns the error of operation n, counted from 1.
	fails func(n int) error
}

func (s *supply) use() error {
	s.operations++
	if s.fails == nil {
		return nil
	}
	return s.fails(s.operations)
}

// inode is a file, a link or a directory. It separates what is synced from what a process sees.
type inode struct {
	mode   fs.FileMode
	data   []byte
	target string
	names  map[string]*inode

	// lasting is true once the data of a file are synced, or the directory of a link.
	lasting bool
	// onDisk are the synced names of a directory, and pending the changes since then.
	onDisk  map[string]*inode
	pending []change
}

// change of names in one directory. It is atomic.
type change map[string]*inode

// memory is a file system that loses unsynced data at a loss of power.
type memory struct {
	root  *inode
	power *supply
}

var _ durable.FileSystem = (*memory)(nil)

func newDirectory() *inode {
	return &inode{mode: nodepod.DirectoryMode, names: map[string]*inode{}, onDisk: map[string]*inode{}}
}

func newMemory(power *supply) *memory { return &memory{root: newDirectory(), power: power} }

func (m *memory) find(name string) (*inode, error) {
	at := m.root
	for part := range strings.SplitSeq(path.Clean(name), "/") {
		if part == "." {
			continue
		}
		if at.names == nil {
			return nil, fmt.Errorf("%s: no directory", name)
		}
		next, ok := at.names[part]
		if !ok {
			return nil, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
		}
		at = next
	}
	return at, nil
}

func (m *memory) parent(name string) (*inode, string, error) {
	dir, err := m.find(path.Dir(name))
	if err == nil && dir.names == nil {
		err = fmt.Errorf("%s: no directory", name)
	}
	return dir, path.Base(name), err
}

func (d *inode) apply(c change) {
	d.pending = append(d.pending, c)
	applyTo(d.names, c)
}

func applyTo(names map[string]*inode, c change) {
	for name, node := range c {
		if node == nil {
			delete(names, name)
		} else {
			names[name] = node
		}
	}
}

func (m *memory) create(name string, node *inode) error {
	if err := m.power.use(); err != nil {
		return err
	}
	dir, base, err := m.parent(name)
	if err != nil {
		return err
	}
	if dir.names[base] != nil {
		return fmt.Errorf("%s: %w", name, fs.ErrExist)
	}
	dir.apply(change{base: node})
	return nil
}

func (m *memory) Mkdir(name string) error { return m.create(name, newDirectory()) }

func (m *memory) WriteFile(name string, data []byte) error {
	return m.create(name, &inode{mode: nodepod.PlainMode, data: bytes.Clone(data)})
}

func (m *memory) Symlink(target, name string) error {
	return m.create(name, &inode{mode: fs.ModeSymlink | 0o777, target: target})
}

func (m *memory) SyncFile(name string) error {
	if err := m.power.use(); err != nil {
		return err
	}
	node, err := m.find(name)
	if err != nil {
		return err
	}
	node.lasting = true
	return nil
}

func (m *memory) SyncDirectory(name string) error {
	if err := m.power.use(); err != nil {
		return err
	}
	dir, err := m.find(name)
	if err != nil {
		return err
	}
	dir.onDisk, dir.pending = maps.Clone(dir.names), nil
	for _, node := range dir.names {
		if node.mode.Type() == fs.ModeSymlink {
			node.lasting = true
		}
	}
	return nil
}

func (m *memory) Rename(from, to string) error {
	return m.move(from, to, func(moved, replaced *inode) (*inode, error) {
		if replaced != nil && (moved.mode.IsDir() || replaced.mode.IsDir()) {
			return nil, fmt.Errorf("rename %s to %s: %w", from, to, fs.ErrExist)
		}
		return nil, nil
	})
}

func (m *memory) Exchange(a, b string) error {
	return m.move(a, b, func(_, other *inode) (*inode, error) {
		if other == nil {
			return nil, fmt.Errorf("%s: %w", b, fs.ErrNotExist)
		}
		return other, nil
	})
}

// move gives the inode of from the name to. remains returns the inode that the name from then has.
func (m *memory) move(from, to string, remains func(moved, replaced *inode) (*inode, error)) error {
	if err := m.power.use(); err != nil {
		return err
	}
	if path.Dir(from) != path.Dir(to) {
		return fmt.Errorf("%s and %s: in different directories the model knows no atomic rename", from, to)
	}
	moved, err := m.find(from)
	if err != nil {
		return err
	}
	dir, base, err := m.parent(to)
	if err != nil {
		return err
	}
	left, err := remains(moved, dir.names[base])
	if err != nil {
		return err
	}
	dir.apply(change{path.Base(from): left, base: moved})
	return nil
}

func (m *memory) Remove(name string) error {
	if err := m.power.use(); err != nil {
		return err
	}
	node, err := m.find(name)
	if err != nil {
		return err
	}
	if len(node.names) > 0 {
		return fmt.Errorf("%s: directory not empty", name)
	}
	dir, base, err := m.parent(name)
	if err != nil {
		return err
	}
	dir.apply(change{base: nil})
	return nil
}

func (m *memory) Chmod(name string, mode fs.FileMode) error {
	if err := m.power.use(); err != nil {
		return err
	}
	node, err := m.find(name)
	if err != nil {
		return err
	}
	node.mode = node.mode.Type() | mode
	return nil
}

func (m *memory) Open(name string) (fs.File, error) {
	node, err := m.find(name)
	if err != nil {
		return nil, err
	}
	return &opened{Reader: bytes.NewReader(node.data), info: info{path.Base(name), node}}, nil
}

// opened is a file open for reading.
type opened struct {
	*bytes.Reader
	info info
}

func (o *opened) Stat() (fs.FileInfo, error) { return o.info, nil }
func (o *opened) Close() error               { return nil }

func (m *memory) TryLock(string) (func() error, error) { return func() error { return nil }, nil }

func (m *memory) ReadLink(name string) (string, error) {
	node, err := m.find(name)
	if err != nil {
		return "", err
	}
	return node.target, nil
}

func (m *memory) Lstat(name string) (fs.FileInfo, error) {
	node, err := m.find(name)
	if err != nil {
		return nil, err
	}
	return info{path.Base(name), node}, nil
}

func (m *memory) ReadDir(name string) ([]fs.DirEntry, error) {
	node, err := m.find(name)
	if err != nil {
		return nil, err
	}
	var out []fs.DirEntry
	for name, child := range node.names {
		out = append(out, fs.FileInfoToDirEntry(info{name, child}))
	}
	slices.SortFunc(out, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return out, nil
}

type info struct {
	name string
	node *inode
}

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return int64(len(i.node.data)) }
func (i info) Mode() fs.FileMode  { return i.node.mode }
func (i info) ModTime() time.Time { return time.Time{} }
func (i info) IsDir() bool        { return i.node.mode.IsDir() }
func (i info) Sys() any           { return nil }

// afterPowerLoss returns the file system after a loss of power. survives reports whether an unsynced change
// reached the disk, and torn returns what is left of an unsynced file.
func (m *memory) afterPowerLoss(power *supply, survives func() bool, torn func(data []byte) []byte) *memory {
	seen := map[*inode]*inode{}
	var found func(*inode) *inode
	found = func(node *inode) *inode {
		if known, ok := seen[node]; ok {
			return known
		}
		out := &inode{mode: node.mode, data: node.data, target: node.target, lasting: true}
		seen[node] = out
		switch {
		case node.names != nil:
			names := maps.Clone(node.onDisk)
			for _, c := range node.pending {
				if survives() {
					applyTo(names, c)
				}
			}
			out.names = map[string]*inode{}
			for _, name := range slices.Sorted(maps.Keys(names)) {
				out.names[name] = found(names[name])
			}
			out.onDisk = maps.Clone(out.names)
		case !node.lasting && node.mode.Type() == 0:
			out.data = torn(node.data)
		case !node.lasting:
			out.target = string(torn([]byte(node.target)))
		}
		return out
	}
	return &memory{root: found(m.root), power: power}
}
