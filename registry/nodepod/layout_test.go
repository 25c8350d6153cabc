// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodepod

import (
	"strings"
	"testing"
	"testing/fstest"
)

func TestLayoutNames(t *testing.T) {
	l := Layout{Name: "etcd", ResourceDirectory: "/r", ManifestDirectory: "/m"}
	for name, want := range map[string]struct {
		revision           int
		ours, ok, leftover bool
	}{
		l.DirectoryName(7):                   {revision: 7, ours: true, ok: true},
		Staged(l.DirectoryName(7)):           {leftover: true},
		Removed(l.DirectoryName(7)):          {leftover: true},
		Staged("other-pod-7"):                {},
		"etcd-pod-07":                        {ours: true},
		"etcd-pod-0":                         {ours: true},
		"etcd-pod-99999999999":               {ours: true},
		l.SetAsideName("20261123T085900Z"):   {ours: true},
		Staged(l.SetAsideName("20261123T0")): {},
		"etcd-pods":                          {},
	} {
		n, ours, ok := l.ParseDirectoryName(name)
		if n != want.revision || ours != want.ours || ok != want.ok {
			t.Errorf("%s: revision %d, ours %t, ok %t, want %+v", name, n, ours, ok, want)
		}
		if got := l.IsLeftover(name); got != want.leftover {
			t.Errorf("%s: a leftover %t, want %t", name, got, want.leftover)
		}
	}
	for name, want := range map[string]int{GenerationName(3): 3, "generation-": 0, "generation-03": 0, "../generation-3": 0, "generation-3/..": 0} {
		if got, ok := ParseGenerationName(name); got != want || ok != (want > 0) {
			t.Errorf("%s: %d, %t, want %d", name, got, ok, want)
		}
	}
	for name, made := range map[string]string{"a/b": "a/.b.staging", "b": ".b.staging"} {
		if got := Staged(name); got != made || !IsLeftover(strings.TrimPrefix(got, "a/")) {
			t.Errorf("%s is staged as %s, want %s", name, got, made)
		}
	}
}

func TestReadFile(t *testing.T) {
	fsys := fstest.MapFS{"dir/file": {Data: []byte("1234")}}
	for name, limit := range map[string]int64{"dir/file": 3, "dir": 100, "gone": 100} {
		if data, err := ReadFile(fsys, name, limit); err == nil {
			t.Errorf("%s: %q", name, data)
		}
	}
	if data, err := ReadFile(fsys, "dir/file", 4); err != nil || string(data) != "1234" {
		t.Errorf("%q, %v", data, err)
	}
}

// TestMentioned finds every revision that a manifest mentions, even a torn one. Pruning must not remove these.
func TestMentioned(t *testing.T) {
	l := Layout{Name: "etcd"}
	got := l.Mentioned([]byte("{ torn etcd-pod-3 /x/etcd-pod-12/current etcd-pod-x etcd-pod-007"))
	if len(got) != 2 || !got[3] || !got[12] {
		t.Errorf("mentioned are %v", got)
	}
}

func TestCheckManifests(t *testing.T) {
	for name, tc := range map[string]struct {
		file       string
		companions []Companion
		want       string
	}{
		"defaults":               {companions: []Companion{{Name: "kube-apiserver"}}},
		"those of kubeadm":       {file: "etcd.yaml", companions: []Companion{{Name: "kube-apiserver", ManifestFile: "kube-apiserver.yaml"}}},
		"a path":                 {file: "../etcd.yaml", want: "../etcd.yaml"},
		"a hidden file":          {companions: []Companion{{Name: "x", ManifestFile: ".x.yaml"}}, want: ".x.yaml"},
		"what kubelet passes by": {file: "etcd.yml", want: "ends in .yaml"},
		"one for two":            {file: "x.yaml", companions: []Companion{{Name: "x", ManifestFile: "x.yaml"}}, want: "two static pods"},
	} {
		l := Layout{Name: "etcd", ResourceDirectory: "/r", ManifestDirectory: "/m", ManifestFile: tc.file, Companions: tc.companions}
		err := l.Check()
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}

// TestPods: companions mount the directories of the rollout, and each has its own manifest.
func TestPods(t *testing.T) {
	l := Layout{Name: "etcd", ManifestDirectory: "/m", Companions: []Companion{{Name: "a"}, {Name: "b", ManifestFile: "b.yaml"}}}
	var got []string
	for _, pod := range l.Pods() {
		got = append(got, pod.Manifest()+" "+pod.DirectoryName(3))
	}
	if want := "/m/a-pod.yaml etcd-pod-3,/m/b.yaml etcd-pod-3,/m/etcd-pod.yaml etcd-pod-3"; strings.Join(got, ",") != want {
		t.Errorf("got %v, want %s", got, want)
	}
}
