// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"certrotation.dev/controller/durable"
	"certrotation.dev/registry/nodepod"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/view/inventory"
	"certrotation.dev/test/disktest"
)

// expired is a node whose certificates ended an hour ago, with the signer in etcd's data.
type expired struct {
	*disktest.Node
	t   *testing.T
	now time.Time
	ca  *pki.Pair
	o   Options
}

func newExpired(t *testing.T) *expired {
	t.Helper()
	now := time.Now()
	end := now.Add(-time.Hour)
	e := &expired{Node: disktest.NewNode(t, "node-0"), t: t, now: now, ca: disktest.Authority(t, "signer@1", end)}
	e.Install(7, 7, e.Files(e.ca, end))
	e.o = optionsFor(e.Node, now)
	e.o.Peers = []nodepod.Member{}
	return e
}

func (e *expired) signer() disktest.Revision {
	return e.stored(disktest.Secret(e.t, "etcd-signer", e.ca))
}

func (e *expired) stored(secret *corev1.Secret) disktest.Revision {
	return disktest.Revision{Key: disktest.Key(secret.Name), Value: disktest.Encode(e.t, secret)}
}

func (e *expired) refuses(want string) {
	e.t.Helper()
	plan, err := New(e.t.Context(), e.o)
	if err == nil || !strings.Contains(err.Error(), want) {
		e.t.Errorf("error %v, plan %+v, want an error that says %q", err, plan, want)
	}
	if err != nil && strings.Contains(err.Error(), "PRIVATE KEY") {
		e.t.Error("the error holds a key")
	}
}

func TestReissueRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		do   func(e *expired)
		want string
	}{
		"no data":                   {do: func(*expired) {}, want: "there is no etcd data in"},
		"data of another namespace": {do: func(e *expired) { e.WriteData(e.signer()); e.o.Namespace = "other" }, want: "check --namespace"},
		"data under another prefix": {do: func(e *expired) { e.WriteData(e.signer()); e.o.EtcdPrefix = "/kubernetes.io" }, want: "--etcd-prefix"},
		"a signer that was deleted": {do: func(e *expired) {
			s := e.signer()
			e.WriteData(s, e.other(), disktest.Revision{Key: s.Key, Deleted: true})
		}, want: "none of the signers (other-signer) has the key"},
		"a signer of another key": {do: func(e *expired) { e.WriteData(e.other()) }, want: "none of the signers (other-signer) has the key"},
		"an encrypted signer": {do: func(e *expired) {
			e.WriteData(disktest.Revision{Key: disktest.Key("etcd-signer"), Value: []byte("k8s:enc:aescbc:v1:key1:\x00secret")})
		}, want: "(aescbc): the Secrets are encrypted at rest"},
		"a value that is no object": {do: func(e *expired) {
			e.WriteData(disktest.Revision{Key: disktest.Key("etcd-signer"), Value: []byte("k8s\x00nonsense")})
		}, want: "no Kubernetes object"},
		"a signer without its key": {do: func(e *expired) {
			s := disktest.Secret(e.t, "etcd-signer", e.ca)
			s.Data["tls.key"] = []byte("x")
			e.WriteData(e.stored(s))
		}, want: "read signer openshift-etcd/etcd-signer"},
		"data that is no database": {do: func(e *expired) {
			e.Write(filepath.Join(e.Data, "member", "snap", "db"), bytes.Repeat([]byte("x"), 9000))
		}, want: "open etcd data"},
		"data that is damaged":    {do: func(e *expired) { e.damage(e.WriteData(e.signer())) }, want: "etcd data"},
		"data that etcd has open": {do: func(e *expired) { e.lock(e.WriteData(e.signer())) }, want: ErrRunning.Error()},
		"no generation that is whole": {do: func(e *expired) {
			e.WriteData(e.signer())
			e.must(os.Remove(filepath.Join(e.Generation(7, 7), nodepod.RecordName)))
		}, want: "no generation on this disk is whole"},
		"a clock that is wrong":         {do: func(e *expired) { e.o.Clock = optionsFor(e.Node, e.now.Add(-2*disktest.Life)).Clock }, want: "set the clock"},
		"a secret file that is missing": {do: func(e *expired) { e.o.SecretFiles = []string{"/nowhere"} }, want: "/nowhere"},
		"a secret file that is no YAML": {do: func(e *expired) {
			f := filepath.Join(e.Data, "f.yaml")
			e.Write(f, []byte("{"))
			e.o.SecretFiles = []string{f}
		}, want: "document 1"},
	} {
		t.Run(name, func(t *testing.T) {
			e := newExpired(t)
			tc.do(e)
			e.refuses(tc.want)
		})
	}
}

func (e *expired) must(err error) {
	e.t.Helper()
	if err != nil {
		e.t.Fatal(err)
	}
}

func (e *expired) other() disktest.Revision {
	return e.stored(disktest.Secret(e.t, "other-signer", disktest.Authority(e.t, "other@1", e.now)))
}

// damage overwrites all pages after the two meta pages of a database.
func (e *expired) damage(file string) {
	data, err := os.ReadFile(file)
	e.must(err)
	page := os.Getpagesize()
	for i := 2 * page; i < len(data); i++ {
		data[i] ^= 0x5a
	}
	e.must(os.WriteFile(file, data, 0o600))
}

func (e *expired) lock(file string) {
	db, err := bolt.Open(file, 0o600, nil)
	e.must(err)
	e.t.Cleanup(func() { _ = db.Close() })
}

// TestReissueFromFiles takes the signer from a manifest of a backup, in several forms.
func TestReissueFromFiles(t *testing.T) {
	for name, write := range map[string]func(e *expired, secret []byte) []string{
		"a file": func(e *expired, secret []byte) []string { return []string{e.put("s.yaml", secret)} },
		"several documents": func(e *expired, secret []byte) []string {
			return []string{e.put("s.yaml", append([]byte("apiVersion: example.com/v1\nkind: Other\n---\n"), secret...))}
		},
		"a directory": func(e *expired, secret []byte) []string {
			e.put("d/s.yml", secret)
			return []string{filepath.Join(e.Data, "d")}
		},
		"a list": func(e *expired, secret []byte) []string {
			object := map[string]any{}
			e.must(yaml.Unmarshal(secret, &object))
			list, err := yaml.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": []any{object}})
			e.must(err)
			return []string{e.put("l.yaml", list)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newExpired(t)
			secret, err := yaml.Marshal(disktest.Secret(t, "etcd-signer", e.ca))
			e.must(err)
			e.o.SecretFiles = write(e, secret)
			mustRecover(t, e.o)
			checkInUse(t, e.o, "7/7")
		})
	}
}

func (e *expired) put(name string, data []byte) string {
	file := filepath.Join(e.Data, name)
	e.Write(file, data)
	return file
}

// TestReissueFromValidSigner keeps the bundle.
func TestReissueFromValidSigner(t *testing.T) {
	now := time.Now()
	node := disktest.NewNode(t, "node-0")
	ca := disktest.Authority(t, "signer@1", now.Add(5*time.Hour))
	node.Install(7, 7, node.Files(ca, now.Add(-time.Hour)))
	node.WriteData(disktest.Revision{Key: disktest.Key("etcd-signer"), Value: disktest.Encode(t, disktest.Secret(t, "etcd-signer", ca))})
	o := optionsFor(node, now)
	o.Peers = []nodepod.Member{}
	mustRecover(t, o)
	checkInUse(t, o, "7/7")
	bundle, err := os.ReadFile(filepath.Join(node.Generation(7, 7), disktest.ServerBundle))
	if err != nil || !bytes.Equal(bundle, ca.Certificate.PEM()) {
		t.Errorf("the trust has changed: %v", err)
	}
	if matches, _ := filepath.Glob(filepath.Join(o.OutputDirectory, "manifests", "1-signer-*")); len(matches) > 0 {
		t.Errorf("a signer that is valid is to be applied: %v", matches)
	}
}

// TestReissueOutput checks modes, the client leaf, and that earlier output is kept.
func TestReissueOutput(t *testing.T) {
	e := newExpired(t)
	e.WriteData(e.signer(), e.stored(disktest.Secret(t, "etcd-client", disktest.Leaf(t, e.ca, "etcd-client", e.now.Add(-time.Hour)))))
	e.Write(filepath.Join(e.o.OutputDirectory, "mine"), []byte("kept"))
	mustRecover(t, e.o)
	for _, name := range []string{"etcd-ca-bundle.crt", "etcd-client.crt", "etcd-client.key", "manifests/1-signer-etcd-signer.yaml",
		"manifests/3-leaf-etcd-client.yaml", "manifests/3-leaf-etcd-peer-node-0.yaml", "manifests/3-leaf-etcd-serving-node-0.yaml"} {
		info, err := os.Stat(filepath.Join(e.o.OutputDirectory, name))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	kept, err := filepath.Glob(e.o.OutputDirectory + "-set-aside-*/mine")
	if err != nil || len(kept) != 1 {
		t.Errorf("the earlier output: %v, %v", kept, err)
	}
	secret := &corev1.Secret{}
	text, err := os.ReadFile(filepath.Join(e.o.OutputDirectory, "manifests", "3-leaf-etcd-peer-node-0.yaml"))
	e.must(err)
	e.must(yaml.UnmarshalStrict(text, secret))
	certFile, _ := disktest.PairFiles("etcd-peer-node-0")
	onDisk, err := os.ReadFile(filepath.Join(e.Generation(7, 7), certFile))
	if err != nil || !bytes.Equal(onDisk, secret.Data[inventory.ActiveCertKey]) {
		t.Errorf("the leaf in the manifest is not the one on the disk: %v", err)
	}
}

// TestReissueIsResumable stops after each step, with half-written files, and recovers again.
func TestReissueIsResumable(t *testing.T) {
	for stop := range 4 {
		e := newExpired(t)
		e.WriteData(e.signer())
		plan, err := New(t.Context(), e.o)
		e.must(err)
		if len(plan.do) != 3 {
			t.Fatalf("%d steps; the test knows 3", len(plan.do))
		}
		for _, step := range plan.do[:stop] {
			e.must(step())
		}
		// A crash during a write leaves these.
		e.Write(filepath.Join(e.Resources, ".etcd-pod-7.staging", "half"), nil)
		e.Write(filepath.Join(e.Manifests, ".etcd-pod.yaml.staging"), []byte("half"))
		again, err := New(t.Context(), e.o)
		e.must(err)
		e.must(again.Execute())
		checkInUse(t, e.o, "7/7")
	}
}

// TestReissueResumesWithoutPeers crashes between directory and manifest, on a node whose peers are all down.
func TestReissueResumesWithoutPeers(t *testing.T) {
	e := newExpired(t)
	status := disktest.Revision{Key: "/registry/configmaps/openshift-etcd/revision-status-9", Value: []byte("any")}
	e.WriteData(e.signer(), status)
	plan, err := New(t.Context(), e.o)
	e.must(err)
	e.must(plan.do[0]())
	e.must(plan.do[1]())
	e.o.Peers = []nodepod.Member{nobody("b"), nobody("c")}
	mustRecover(t, e.o)
	checkInUse(t, e.o, "9/9")
}

func TestExecuteKeepsOthersOut(t *testing.T) {
	e := newExpired(t)
	e.WriteData(e.signer())
	plan, err := New(t.Context(), e.o)
	e.must(err)
	release, err := durable.Disk(e.Resources).TryLock(e.o.LockName())
	e.must(err)
	if err := plan.Execute(); !errors.Is(err, durable.ErrBusy) {
		t.Errorf("beside an installer: %v, want durable.ErrBusy", err)
	}
	e.must(release())
	e.must(plan.Execute())
}

// TestReissueKeepsEverything compares the content of the disk before and after.
func TestReissueKeepsEverything(t *testing.T) {
	e := newExpired(t)
	e.WriteData(e.signer())
	before := contents(t, e.Resources, e.Manifests)
	mustRecover(t, e.o)
	after := contents(t, e.Resources, e.Manifests)
	for content, name := range before {
		if _, ok := after[content]; !ok {
			t.Errorf("%s is gone", name)
		}
	}
	if err := filepath.WalkDir(e.Resources, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Type() == fs.ModeSymlink {
			return err
		}
		info, err := entry.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	}); err != nil {
		t.Error(err)
	}
}

func contents(t *testing.T, dirs ...string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, dir := range dirs {
		if err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() {
				return err
			}
			data, err := os.ReadFile(path)
			out[string(data)] = path
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	return out
}
