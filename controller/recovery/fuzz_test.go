// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"certrotation.dev/registry/nodepod"
	"certrotation.dev/registry/view/inventory"
	"certrotation.dev/test/disktest"
)

func FuzzParseManifest(f *testing.F) {
	node := &disktest.Node{Name: "node-0", Cluster: "node-0=https://10.0.0.1:2380,node-1=https://[fd00::1]:2380"}
	f.Add(node.ManifestText(7))
	f.Add([]byte("kind: Pod\nspec: {containers: [{command: [sh, -c, 'etcd --data-dir /x --name']}]}"))
	f.Add([]byte("{"))
	f.Fuzz(func(t *testing.T, data []byte) {
		layout := nodepod.Layout{Name: "etcd"}
		m := &nodepod.Manifest{Present: true}
		if layout.ParseManifest(m, data); strings.Contains(m.Problem(), "\n") {
			t.Errorf("the problem has several lines: %q", m.Problem())
		}
		if len(m.Mounts) != 1 {
			return
		}
		moved, err := moveManifest(data, "etcd", m.Mounts[0], m.Mounts[0]+1, "hash")
		if err != nil {
			return
		}
		after := &nodepod.Manifest{Present: true}
		if layout.ParseManifest(after, moved); after.Usable() && (len(after.Mounts) != 1 || after.Mounts[0] != m.Mounts[0]+1) {
			t.Errorf("moved to revision %d, it mounts %v", m.Mounts[0]+1, after.Mounts)
		}
	})
}

func FuzzStoredValue(f *testing.F) {
	d, err := newDecoder()
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte("k8s:enc:kms:v2:name:x"))
	f.Add([]byte(`{"apiVersion":"v1","kind":"Secret","data":{"tls.key":"eA=="}}`))
	f.Add([]byte("k8s\x00\x0a\x0c\x0a\x02v1\x12\x06Secret"))
	f.Fuzz(func(t *testing.T, data []byte) {
		secret, err := d.fromStore("/registry/secrets/ns/name", data)
		if (err == nil) == (secret == nil) {
			t.Errorf("secret %v, error %v", secret != nil, err)
		}
		if err == nil {
			if _, err := newVault("ns", pointers(nil)); err != nil {
				t.Error(err)
			}
			_ = inventory.HoldsAuthority(secret.Data)
			_, _ = inventory.SignerPairs(secret.Data)
		}
	})
}

func FuzzSecretFile(f *testing.F) {
	d, err := newDecoder()
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte("apiVersion: v1\nkind: Secret\nstringData: {a: b}\n---\nkind: List\napiVersion: v1\nitems: [{}]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file := filepath.Join(t.TempDir(), "s.yaml")
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		secrets, _ := d.secretFile(file)
		for _, secret := range secrets {
			if secret == nil || secret.Data == nil {
				t.Error("a Secret without data")
			}
		}
	})
}

func FuzzDatabase(f *testing.F) {
	node := disktest.NewNode(f, "node-0")
	file := node.WriteData(disktest.Revision{Key: "/registry/secrets/ns/a", Value: []byte("v")}, disktest.Revision{Key: "/registry/secrets/ns/a", Deleted: true})
	database, err := os.ReadFile(file)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(uint32(0), []byte{1})
	f.Add(uint32(4*4096+16), []byte{0xff, 0xff})
	f.Add(uint32(3*4096+24), []byte{0, 0, 0, 0x10})
	f.Fuzz(func(t *testing.T, at uint32, patch []byte) {
		dir := t.TempDir()
		damaged := append([]byte(nil), database...)
		copy(damaged[int(at)%len(damaged):], patch)
		if err := os.MkdirAll(filepath.Dir(databaseIn(dir)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(databaseIn(dir), damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		data, err := openEtcdData(dir)
		if err != nil {
			return
		}
		defer data.Close()
		_, _ = data.newest("/registry/")
		_, _ = data.members()
	})
}

func FuzzRecord(f *testing.F) {
	f.Add([]byte(`{"revision":1,"files":{"../../etc/shadow":"00"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, nodepod.RecordName), data, 0o600); err != nil {
			t.Fatal(err)
		}
		if nodepod.IsIntact(nodepod.Layout{}.ReadGeneration(os.DirFS(dir), ".", 1), nil) {
			t.Error("a generation without files counts as intact")
		}
	})
}
