// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"errors"
	"io/fs"
	"math"
	"testing"
	"time"

	"certrotation.dev/controller/durable"
	"certrotation.dev/registry/nodepod"
	"certrotation.dev/test/disktest"
)

var errKilled = errors.New("the process was killed")

// killed is the file system of a node. From write n on, counted from 1, every write fails, as if the process was
// killed.
type killed struct {
	durable.Disk
	before, writes int
}

func (k *killed) write(do func() error) error {
	if k.writes++; k.writes >= k.before {
		return errKilled
	}
	return do()
}

func (k *killed) Mkdir(name string) error {
	return k.write(func() error { return k.Disk.Mkdir(name) })
}

func (k *killed) WriteFile(name string, data []byte) error {
	return k.write(func() error { return k.Disk.WriteFile(name, data) })
}

// What a killed process wrote lasts without a sync.
func (k *killed) SyncFile(string) error      { return k.write(func() error { return nil }) }
func (k *killed) SyncDirectory(string) error { return k.write(func() error { return nil }) }

func (k *killed) Rename(from, to string) error {
	return k.write(func() error { return k.Disk.Rename(from, to) })
}

func (k *killed) Exchange(a, b string) error {
	return k.write(func() error { return k.Disk.Exchange(a, b) })
}

func (k *killed) Symlink(target, name string) error {
	return k.write(func() error { return k.Disk.Symlink(target, name) })
}

func (k *killed) Remove(name string) error {
	return k.write(func() error { return k.Disk.Remove(name) })
}

func (k *killed) Chmod(name string, mode fs.FileMode) error {
	return k.write(func() error { return k.Disk.Chmod(name, mode) })
}

// TestKilled kills a recovery before each of its writes. What kubelet runs stays whole. Another recovery, one
// second later, completes the first.
func TestKilled(t *testing.T) {
	now := time.Now()
	good, bad := now.Add(disktest.Life/2), now.Add(-time.Hour)
	ca, ended := disktest.Authority(t, "signer@1", good), disktest.Authority(t, "signer@1", bad)
	ofNode := disktest.NewNode(t, "node-0")
	files, expired := ofNode.Files(ca, good), ofNode.Files(ended, bad)
	for name, tc := range map[string]struct {
		install func(n *disktest.Node)
		want    string
	}{
		"to an earlier generation of another revision": {install: func(n *disktest.Node) {
			n.Install(5, 5, files)
			n.Install(5, 6, expired)
			n.Install(7, 7, expired)
		}, want: "5/5"},
		"by a reissue": {install: func(n *disktest.Node) { n.Install(7, 7, expired) }, want: "7/7"},
	} {
		t.Run(name, func(t *testing.T) {
			for before, done := 1, false; !done; before++ {
				node := disktest.NewNode(t, "node-0")
				tc.install(node)
				node.WriteData(disktest.Revision{Key: disktest.Key("etcd-signer"), Value: disktest.Encode(t, disktest.Secret(t, "etcd-signer", ended))})
				o := optionsFor(node, now)
				o.Peers = []nodepod.Member{}
				o.root = &killed{Disk: "/", before: before}
				plan, err := New(t.Context(), o)
				if err != nil {
					t.Fatal(err)
				}
				err = plan.Execute()
				if done = err == nil; err != nil && !errors.Is(err, errKilled) {
					t.Fatalf("killed before write %d: %v", before, err)
				}
				disk, err := ReadDisk(o.Layout)
				if err != nil {
					t.Fatal(err)
				}
				if _, current := disk.Running(); current == nil || len(current.Defects) > 0 {
					t.Fatalf("killed before write %d, kubelet runs %+v", before, current)
				}
				o = optionsFor(node, now.Add(time.Second))
				o.Peers, o.root = []nodepod.Member{}, &killed{Disk: "/", before: math.MaxInt}
				mustRecover(t, o)
				checkInUse(t, o, tc.want)
			}
		})
	}
}
