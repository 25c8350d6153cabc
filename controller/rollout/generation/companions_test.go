// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package generation

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"certrotation.dev/controller/durable"
	"certrotation.dev/registry/nodepod"
)

// pair is a node with two static pods of one revision.
func pair(t *testing.T) *machine {
	t.Helper()
	m := newMachine()
	m.layout = accompanied()
	a := authorities[0]()
	m.mustInstall(t, request(3, together(content(a, a))))
	return m
}

// writeManifest writes a manifest as another program does.
func (m *machine) writeManifest(name, text string) {
	(&durable.Writer{FS: m.manifests}).File(name, []byte(text))
}

// foreignManifest is a manifest that mounts no directory of a revision, as kubeadm writes them.
const foreignManifest = `apiVersion: v1
kind: Pod
metadata: {name: x}
spec:
  containers: [{name: x, image: etcd}]
`

func TestInstallTwoStaticPods(t *testing.T) {
	a, b := authorities[0](), authorities[1]()
	tests := []struct {
		name    string
		before  func(m *machine)
		request Request
		want    Result
	}{
		{"leaves", nil, request(5, together(content(a, a))), Result{Changed: true, Directory: 3, Generation: 5}},
		{"trust", nil, request(5, together(content(a, a, b))), Result{Changed: true, Restart: true, Directory: 5, Generation: 5}},
		{"the template of the companion", nil, func() Request {
			r := request(5, together(content(a, a)))
			r.Content.Companions[companion] = []byte(strings.Replace(string(r.Content.Companions[companion]), "image: etcd", "image: etcd2", 1))
			return r
		}(), Result{Changed: true, Restart: true, Directory: 5, Generation: 5}},
		{"leaves, over a companion of somebody else", func(m *machine) { m.writeManifest("kube-apiserver.yaml", foreignManifest) },
			request(5, together(content(a, a))), Result{Changed: true, Restart: true, Directory: 5, Generation: 5}},
		{"leaves, over a static pod of somebody else", func(m *machine) { m.writeManifest("etcd.yaml", foreignManifest) },
			request(5, together(content(a, a))), Result{Changed: true, Restart: true, Directory: 5, Generation: 5}},
		{"the companion is gone", func(m *machine) { (&durable.Writer{FS: m.manifests}).Remove("kube-apiserver.yaml") },
			request(5, together(content(a, a))), Result{Changed: true, Restart: true, Directory: 5, Generation: 5}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := pair(t)
			if test.before != nil {
				test.before(m)
			}
			if diff := cmp.Diff(test.want, m.mustInstall(t, test.request)); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
			for _, pod := range m.layout.Pods() {
				if r, g := m.numbersOf(t, pod); r != test.want.Directory || g != test.want.Generation {
					t.Errorf("%s is of %d, generation %d", pod.ManifestName(), r, g)
				}
			}
		})
	}
}

func TestInstallRefusesForACompanion(t *testing.T) {
	a, b := authorities[0](), authorities[1]()
	tests := []struct {
		name   string
		change func(m *machine, r *Request)
		is     error
		want   string
	}{
		{"no template", func(_ *machine, r *Request) { r.Content.Companions = nil }, ErrContent, "templates of 0 companions, want 1"},
		{"a template of another one", func(_ *machine, r *Request) {
			r.Content.Companions = map[string][]byte{"other": r.Content.Companions[companion]}
		}, ErrContent, "static pod kube-apiserver"},
		{"nothing permitted", func(_ *machine, r *Request) { r.Companions = nil }, ErrContent, "static pod kube-apiserver: pod template: no StaticPodClass"},
		{"an image that is permitted to the other one only", func(_ *machine, r *Request) {
			r.Companions[companion].Images = []string{"etcd2"}
		}, ErrContent, "spec.containers[0].image"},
		{"a later companion", func(m *machine, _ *Request) {
			m.mustInstall(t, request(9, together(content(a, a, b))))
			text, err := nodepod.ReadFile(m.resources, "etcd-pod-3/etcd.yaml", nodepod.MaxManifestBytes)
			if err != nil {
				t.Fatal(err)
			}
			m.writeManifest("etcd.yaml", string(text))
		}, ErrNewer, "of revision 9, asked for was 5"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m, r := pair(t), request(5, together(content(a, a)))
			test.change(m, &r)
			if _, err := m.Install(t.Context(), r); !errors.Is(err, test.is) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %v with %q", err, test.is, test.want)
			}
		})
	}
}

// TestPruneKeepsWhatAnyManifestNames starts with etcd-pod-3, 4 and 5, of which 5 runs.
func TestPruneKeepsWhatAnyManifestNames(t *testing.T) {
	a, b, c := authorities[0](), authorities[1](), authorities[2]()
	tests := []struct {
		name   string
		change func(m *machine)
		want   []string
		kept   []nodepod.Reason
	}{
		{"nothing besides", func(*machine) {}, []string{"etcd-pod-3", "etcd-pod-4"}, []nodepod.Reason{InUse}},
		{"a companion that was put back", func(m *machine) {
			m.writeManifest("kube-apiserver.yaml", "{ path: /x/etcd-pod-3 }")
		}, []string{"etcd-pod-4"}, []nodepod.Reason{InUse, InUse}},
		{"a former companion", func(m *machine) { m.writeManifest("scheduler.yaml", "{ path: /x/etcd-pod-4 }") }, []string{"etcd-pod-3"}, []nodepod.Reason{InUse, InUse}},
		{"a companion that was moved away", func(m *machine) {
			(&durable.Writer{FS: m.manifests}).Remove("kube-apiserver.yaml")
		}, nil, []nodepod.Reason{nodepod.ManifestMissing}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := pair(t)
			m.mustInstall(t, request(4, together(content(a, a, b))))
			m.mustInstall(t, request(5, together(content(a, a, b, c))))
			test.change(m)
			done, err := m.Prune(t.Context(), nil, 9)
			if err != nil {
				t.Fatal(err)
			}
			var kept []nodepod.Reason
			for _, defect := range done.Kept {
				kept = append(kept, defect.Reason)
			}
			if diff := cmp.Diff(test.want, done.Removed); diff != "" {
				t.Errorf("removed (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.kept, kept); diff != "" {
				t.Errorf("kept (-want +got):\n%s", diff)
			}
		})
	}
}
