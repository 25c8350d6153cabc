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

// TestDefects damages the installed content in one way each. ReadDisk and Installed must name the defect.
func TestDefects(t *testing.T) {
	a, b := authorities[0](), authorities[1]()
	const g = "etcd-pod-1/generation-1"
	const crt, key = g + "/secrets/etcd-all-certs/etcd-serving-master-0.crt", g + "/secrets/etcd-all-certs/etcd-serving-master-0.key"
	const bundle = g + "/configmaps/etcd-all-bundles/server-ca-bundle.crt"
	tests := []struct {
		name   string
		damage func(m *memory, w *durable.Writer)
		want   []string // reason and path
		// runs is true if the installed content is whole nevertheless.
		runs bool
	}{
		{"nothing", func(*memory, *durable.Writer) {}, nil, true},
		{"missing file", func(_ *memory, w *durable.Writer) { w.Remove(bundle) }, []string{"FileMissing " + bundle}, false},
		{"missing key", func(_ *memory, w *durable.Writer) { w.Remove(key) }, []string{"FileMissing " + key}, false},
		{"unexpected file", func(_ *memory, w *durable.Writer) { w.Write(g+"/secrets/etcd-all-certs/x", nil) },
			[]string{"FileUnexpected " + g + "/secrets/etcd-all-certs/x"}, false},
		{"file where a directory belongs", func(_ *memory, w *durable.Writer) { w.Write(g+"/x", nil) }, []string{"FileUnexpected " + g + "/x"}, false},
		{"link", func(_ *memory, w *durable.Writer) { w.Remove(key); w.Link("/etc/passwd", key) }, []string{"FileUnexpected " + key}, false},
		{"mode of a file", func(m *memory, _ *durable.Writer) { node(m, key).mode = 0o640 }, []string{"FileMode " + key}, false},
		{"mode of a directory", func(m *memory, _ *durable.Writer) { node(m, "etcd-pod-1").mode |= 0o055 }, []string{"FileMode etcd-pod-1"}, true},
		{"changed bundle", func(m *memory, _ *durable.Writer) { node(m, bundle).data = append(a.Certificate.PEM(), '\n') }, []string{"HashMismatch " + bundle}, false},
		{"trust of another generation", func(m *memory, _ *durable.Writer) { node(m, bundle).data = b.Certificate.PEM() },
			[]string{"HashMismatch " + bundle, "Untrusted " + crt}, false},
		{"key of another pair", func(m *memory, _ *durable.Writer) { node(m, key).data = must(newLeaf(a).KeyPEM()) },
			[]string{"HashMismatch " + key, "KeyMismatch " + key}, false},
		{"torn certificate", func(m *memory, _ *durable.Writer) { node(m, crt).data = node(m, crt).data[:100] },
			[]string{"HashMismatch " + crt, "Unparsable " + crt}, false},
		{"no record", func(_ *memory, w *durable.Writer) { w.Remove(g + "/generation.json") }, []string{"GenerationIncomplete " + g + "/generation.json"}, false},
		{"torn record", func(m *memory, _ *durable.Writer) { node(m, g+"/generation.json").data = []byte("{") }, []string{"GenerationIncomplete " + g + "/generation.json"}, false},
		{"no pointer", func(_ *memory, w *durable.Writer) { w.Remove("etcd-pod-1/current") }, []string{"PointerMissing etcd-pod-1/current"}, false},
		{"pointer out of the directory", func(_ *memory, w *durable.Writer) { w.Link("../x", "etcd-pod-1/current") }, []string{"PointerBroken etcd-pod-1/current"}, false},
		{"dangling pointer", func(_ *memory, w *durable.Writer) { w.Link("generation-7", "etcd-pod-1/current") }, []string{"PointerBroken etcd-pod-1/current"}, false},
		{"pointer is a file", func(_ *memory, w *durable.Writer) { w.Remove("etcd-pod-1/current"); w.Write("etcd-pod-1/current", nil) },
			[]string{"PointerBroken etcd-pod-1/current"}, false},
		{"no directory", func(_ *memory, w *durable.Writer) { w.Remove("etcd-pod-1") }, []string{"DirectoryMissing etcd-pod-1"}, false},
		{"no copy of the manifest", func(_ *memory, w *durable.Writer) { w.Remove("etcd-pod-1/etcd-pod.yaml") }, []string{"ManifestMissing etcd-pod-1/etcd-pod.yaml"}, true},
		{"leftovers", func(_ *memory, w *durable.Writer) {
			w.Mkdir(".etcd-pod-3.removing")
			w.Mkdir("etcd-pod-1/.generation-2.staging")
		},
			[]string{"Leftover .etcd-pod-3.removing", "Leftover etcd-pod-1/.generation-2.staging"}, true},
		{"other names", func(_ *memory, w *durable.Writer) {
			w.Mkdir("etcd-pod-x")
			w.Mkdir("etcd-pod-01")
			w.Mkdir(".other-pod-1.staging")
		},
			nil, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := newMachine()
			m.mustInstall(t, request(1, content(a, a)))
			w := &durable.Writer{FS: m.resources}
			test.damage(m.resources.(*memory), w)
			if w.Err != nil {
				t.Fatal(w.Err)
			}
			var got []string
			for _, d := range m.defects(t) {
				got = append(got, string(d.Reason)+" "+strings.TrimPrefix(d.Path, resources+"/"))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
			_, err := m.Installed()
			if (err == nil) != test.runs {
				t.Errorf("Installed: %v", err)
			}
			if _, ok := errors.AsType[nodepod.Defect](err); err != nil && !ok {
				t.Errorf("Installed holds no finding: %v", err)
			}
		})
	}
}

func TestDefectsOfTheManifest(t *testing.T) {
	a := authorities[0]()
	tests := map[string]struct {
		damage func(m *memory, w *durable.Writer)
		want   nodepod.Reason
	}{
		"none":        {func(_ *memory, w *durable.Writer) { w.Remove("etcd-pod.yaml") }, nodepod.ManifestMissing},
		"torn":        {func(m *memory, _ *durable.Writer) { node(m, "etcd-pod.yaml").data = []byte("{") }, nodepod.ManifestUnreadable},
		"a directory": {func(_ *memory, w *durable.Writer) { w.Remove("etcd-pod.yaml"); w.Mkdir("etcd-pod.yaml") }, nodepod.ManifestUnreadable},
		"mode":        {func(m *memory, _ *durable.Writer) { node(m, "etcd-pod.yaml").mode = 0o644 }, nodepod.FileMode},
		"leftover":    {func(_ *memory, w *durable.Writer) { w.Write(".etcd-pod.yaml.staging", nil) }, "Leftover"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := newMachine()
			m.mustInstall(t, request(1, content(a, a)))
			test.damage(m.manifests.(*memory), &durable.Writer{FS: m.manifests})
			if got := m.defects(t); len(got) != 1 || got[0].Reason != test.want {
				t.Errorf("defects %v, want %s", got, test.want)
			}
		})
	}
}
