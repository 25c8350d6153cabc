// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package generation

import (
	"errors"
	"io/fs"
	"testing"

	"github.com/google/go-cmp/cmp"

	"k8s.io/apimachinery/pkg/util/sets"

	"certrotation.dev/controller/durable"
	"certrotation.dev/registry/nodepod"
)

// TestPrune starts from etcd-pod-1 {1,2}, etcd-pod-3 {3,4} and etcd-pod-5 {5,6,7}, of which 5 runs and points at
// 7.
func TestPrune(t *testing.T) {
	a, b, c := authorities[0](), authorities[1](), authorities[2]()
	base := newMachine()
	for _, r := range []Request{
		request(1, content(a, a)), request(2, content(a, a)), request(3, content(a, a, b)), request(4, content(a, a, b)),
		request(5, content(a, a, b, c)), request(6, content(a, a, b, c)), request(7, content(a, a, b, c)),
	} {
		base.mustInstall(t, r)
	}
	const d1, d3, d5 = "etcd-pod-1", "etcd-pod-3", "etcd-pod-5"
	tests := []struct {
		name      string
		protected sets.Set[int]
		max       int
		before    func(m *machine, w *durable.Writer)
		want      []string
		kept      []nodepod.Reason
	}{
		{"all that nothing needs", nil, 99, nil, []string{d1, d3, d5 + "/generation-5", d5 + "/generation-6"}, []nodepod.Reason{InUse}},
		{"up to a revision", nil, 2, nil, []string{d1}, nil},
		{"up to a generation", nil, 5, nil, []string{d1, d3, d5 + "/generation-5"}, []nodepod.Reason{InUse}},
		{"protected revision", sets.New(3), 99, nil, []string{d1, d5 + "/generation-5", d5 + "/generation-6"}, []nodepod.Reason{InUse}},
		{"protected generation", sets.New(4, 6), 99, nil, []string{d1, d3 + "/generation-3", d5 + "/generation-5"}, []nodepod.Reason{InUse, InUse}},
		{"everything protected", sets.New(1, 2, 3, 4, 5, 6, 7), 99, nil, nil, nil},
		{"manifest put back", nil, 99, func(m *machine, _ *durable.Writer) {
			text := must(nodepod.ReadFile(m.resources, d1+"/etcd-pod.yaml", nodepod.MaxManifestBytes))
			(&durable.Writer{FS: m.manifests}).File("etcd-pod.yaml", text)
		}, []string{d1 + "/generation-1", d3, d5}, []nodepod.Reason{InUse}},
		{"manifest that nobody can parse", nil, 99, func(m *machine, _ *durable.Writer) {
			(&durable.Writer{FS: m.manifests}).File("etcd-pod.yaml", []byte("{ path: /x/etcd-pod-3"))
		}, []string{d1, d3 + "/generation-3", d5}, []nodepod.Reason{InUse}},
		{"manifest moved away", nil, 99, func(m *machine, _ *durable.Writer) { (&durable.Writer{FS: m.manifests}).Remove("etcd-pod.yaml") }, nil, []nodepod.Reason{nodepod.ManifestMissing}},
		{"pointer gone", nil, 99, func(_ *machine, w *durable.Writer) { w.Remove(d5 + "/current") }, []string{d1, d3}, []nodepod.Reason{InUse, nodepod.PointerMissing}},
		{"other names", nil, 2, func(_ *machine, w *durable.Writer) {
			w.Mkdir("etcd-pod-last")
			w.Mkdir("etcd-pod-set-aside-1")
			w.Mkdir("etcd-certs")
			w.Link(d3, "etcd-pod-2")
		}, []string{d1}, []nodepod.Reason{NotARevision, NotARevision, NotARevision}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := base.clone()
			if test.before != nil {
				test.before(m, &durable.Writer{FS: m.resources})
			}
			got, err := m.Prune(t.Context(), test.protected, test.max)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got.Removed); diff != "" {
				t.Errorf("removed (-want +got):\n%s", diff)
			}
			var kept []nodepod.Reason
			for _, f := range got.Kept {
				kept = append(kept, f.Reason)
			}
			if diff := cmp.Diff(test.kept, kept); diff != "" {
				t.Errorf("kept (-want +got):\n%s", diff)
			}
			for _, name := range test.want {
				if _, err := m.resources.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%s is still there", name)
				}
			}
			again, err := m.Prune(t.Context(), test.protected, test.max)
			if err != nil || len(again.Removed) > 0 {
				t.Errorf("the second time: %v, %v", again.Removed, err)
			}
		})
	}
}

func TestPruneReportsUnreadable(t *testing.T) {
	m := newMachine()
	m.mustInstall(t, request(1, content(authorities[0](), authorities[0]())))
	w := &durable.Writer{FS: m.manifests}
	w.Remove("etcd-pod.yaml")
	w.Mkdir("etcd-pod.yaml")
	if _, err := m.Prune(t.Context(), nil, 9); err == nil || errors.Is(err, durable.ErrBusy) {
		t.Errorf("got error %v", err)
	}
}
