// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"fmt"
	"slices"
	"time"

	"certrotation.dev/registry/pki"
)

// Disk is what was read of one node.
type Disk struct {
	// Name of the rollout, "etcd": its static pod is NAME-pod.yaml, its directories are NAME-pod-REVISION.
	Name string
	// ResourceDirectory holds the directories.
	ResourceDirectory string
	// Manifest is what kubelet runs.
	Manifest Manifest
	// Directories ordered by revision.
	Directories []Directory
	// Leftovers are files and directories that an interrupted installation has left.
	Leftovers []string
	// SetAside are directories that a recovery has put out of the way.
	SetAside []string
	// NewestFile is the latest modification time of anything above, and where.
	NewestFile FileTime
}

// FileTime is when a file was modified.
type FileTime struct {
	Path string
	Time time.Time
}

// Manifest is the manifest of a static pod as a file.
type Manifest struct {
	Path    string
	Present bool
	// Problem says why it cannot be used, "" if it can.
	Problem string
	// TooOpen is the mode of the file if others than its owner may read it, "" if not.
	TooOpen string
	// Mounts are the revisions of the directories that it mounts.
	Mounts []int64
	// Uses are the files of a generation that its containers are told to use, relative to the generation.
	Uses []string
	// Peer are the files of the listener for peers, relative to the generation; empty if the manifest does not say.
	Peer Files
	// InitialCluster are the members as the manifest names them.
	InitialCluster []Member
	// Self is the member's own name, "" if the manifest does not say.
	Self string
	// DataDirectory of etcd on the host, "" if the manifest does not say.
	DataDirectory string
	// Listens are the host:port that the member listens on.
	Listens []string
}

// Files are the three that a TLS listener needs.
type Files struct {
	Cert, Key, Trust string
}

// Member is a member of the cluster by its name and the host:port where its peers reach it.
type Member struct {
	Name, Address string
}

// Directory is one NAME-pod-REVISION.
type Directory struct {
	Revision int64
	Path     string
	// TooOpen is its mode if others than its owner may enter it, "" if not.
	TooOpen string
	Pointer Pointer
	// Manifest is the copy of the manifest of this revision.
	Manifest Manifest
	// Generations ordered by number.
	Generations []Generation
}

// Pointer is the link `current`.
type Pointer struct {
	Present bool
	// Target as it is written.
	Target string
	// Generation that it points at; meaningless with a Problem.
	Generation int64
	// Problem says what is wrong with it, "" if nothing is.
	Problem string
}

// Generation is one generation-NUMBER of a directory.
type Generation struct {
	// Revision of the directory that it is in.
	Revision int64
	Number   int64
	Path     string
	// RecoveredFrom is the ID of the generation that a recovery made this one from, "" if an installer brought it.
	RecoveredFrom string
	// Defects are the ways in which its files are not those that were installed.
	Defects []Defect
	Bundles []Bundle
	Pairs   []Pair
}

// Defect is something wrong with a file.
type Defect struct {
	Reason  Reason
	Path    string
	Message string
}

// Bundle is a file with trust anchors.
type Bundle struct {
	// Path relative to the generation.
	Path    string
	Anchors []*pki.Certificate
}

// Pair is a certificate and its key.
type Pair struct {
	// Name of the leaf, such as etcd-peer-node-1, and the paths of its two files relative to the generation.
	Name, Cert, Key string
	// Certificate and what follows it in its file; set also when only the key is wrong.
	Certificate *pki.Certificate
	Chain       []*pki.Certificate
}

// ID names a generation on the command line: REVISION/NUMBER.
func (g *Generation) ID() string { return fmt.Sprintf("%d/%d", g.Revision, g.Number) }

// Directory finds a directory by its revision, nil if there is none.
func (d *Disk) Directory(revision int64) *Directory {
	for i := range d.Directories {
		if d.Directories[i].Revision == revision {
			return &d.Directories[i]
		}
	}
	return nil
}

// Generation finds a generation by its number, nil if there is none.
func (d *Directory) Generation(number int64) *Generation {
	for i := range d.Generations {
		if d.Generations[i].Number == number {
			return &d.Generations[i]
		}
	}
	return nil
}

// Current is the generation that the pointer points at, nil if there is none.
func (d *Directory) Current() *Generation {
	if !d.Pointer.Present || d.Pointer.Problem != "" {
		return nil
	}
	return d.Generation(d.Pointer.Generation)
}

// Running is what kubelet runs: the directory that the manifest mounts and the generation in use there; nil where the
// disk does not say.
func (d *Disk) Running() (*Directory, *Generation) {
	if !d.Manifest.Present || d.Manifest.Problem != "" || len(d.Manifest.Mounts) != 1 {
		return nil, nil
	}
	directory := d.Directory(d.Manifest.Mounts[0])
	if directory == nil {
		return nil, nil
	}
	return directory, directory.Current()
}

// Generations of all directories, the newest first: by number, then by the revision of their directory.
func (d *Disk) Generations() []*Generation {
	var all []*Generation
	for i := range d.Directories {
		for j := range d.Directories[i].Generations {
			all = append(all, &d.Directories[i].Generations[j])
		}
	}
	slices.SortFunc(all, func(a, b *Generation) int {
		if a.Number != b.Number {
			return int(b.Number - a.Number)
		}
		return int(b.Revision - a.Revision)
	})
	return all
}

// Bundle finds a bundle by its path relative to the generation, nil if there is none.
func (g *Generation) Bundle(path string) *Bundle {
	for i := range g.Bundles {
		if g.Bundles[i].Path == path {
			return &g.Bundles[i]
		}
	}
	return nil
}

// PairOf finds the pair whose certificate is at a path relative to the generation, nil if there is none.
func (g *Generation) PairOf(cert string) *Pair {
	for i := range g.Pairs {
		if g.Pairs[i].Cert == cert {
			return &g.Pairs[i]
		}
	}
	return nil
}
