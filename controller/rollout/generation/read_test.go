// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package generation

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFindings damages what is installed in one way each, and wants it named, by List and by Installed.
func TestFindings(t *testing.T) {
	a, b := authorities[0](), authorities[1]()
	const g = "etcd-pod-1/generation-1"
	const crt, key = g + "/secrets/etcd-all-certs/etcd-serving-master-0.crt", g + "/secrets/etcd-all-certs/etcd-serving-master-0.key"
	const bundle = g + "/configmaps/etcd-all-bundles/server-ca-bundle.crt"
	tests := []struct {
		name   string
		damage func(m *memory, w *writer)
		want   []string // reason and path
		// runs is true if what is installed is whole nevertheless.
		runs bool
	}{
		{"nothing", func(*memory, *writer) {}, nil, true},
		{"missing file", func(_ *memory, w *writer) { w.remove(bundle) }, []string{"MissingFile " + bundle}, false},
		{"missing key", func(_ *memory, w *writer) { w.remove(key) }, []string{"MissingFile " + key}, false},
		{"unexpected file", func(_ *memory, w *writer) { w.write(g+"/secrets/etcd-all-certs/x", nil) },
			[]string{"UnexpectedFile " + g + "/secrets/etcd-all-certs/x"}, false},
		{"file where a directory belongs", func(_ *memory, w *writer) { w.write(g+"/x", nil) }, []string{"UnexpectedFile " + g + "/x"}, false},
		{"link", func(_ *memory, w *writer) { w.remove(key); w.link("/etc/passwd", key) }, []string{"UnexpectedFile " + key}, false},
		{"mode of a file", func(m *memory, _ *writer) { node(m, key).mode = 0o640 }, []string{"WrongMode " + key}, false},
		{"mode of a directory", func(m *memory, _ *writer) { node(m, "etcd-pod-1").mode |= 0o055 }, []string{"WrongMode etcd-pod-1/."}, true},
		{"changed bundle", func(m *memory, _ *writer) { node(m, bundle).data = append(a.Certificate.PEM(), '\n') }, []string{"HashMismatch " + bundle}, false},
		{"trust of another generation", func(m *memory, _ *writer) { node(m, bundle).data = b.Certificate.PEM() },
			[]string{"HashMismatch " + bundle, "UnknownAuthority " + crt}, false},
		{"key of another pair", func(m *memory, _ *writer) { node(m, key).data = must(newLeaf(a).KeyPEM()) },
			[]string{"HashMismatch " + key, "KeyMismatch " + key}, false},
		{"torn certificate", func(m *memory, _ *writer) { node(m, crt).data = node(m, crt).data[:100] },
			[]string{"HashMismatch " + crt, "BadCertificate " + crt}, false},
		{"no record", func(_ *memory, w *writer) { w.remove(g + "/generation.json") }, []string{"NotComplete " + g + "/generation.json"}, false},
		{"torn record", func(m *memory, _ *writer) { node(m, g+"/generation.json").data = []byte("{") }, []string{"NotComplete " + g + "/generation.json"}, false},
		{"no pointer", func(_ *memory, w *writer) { w.remove("etcd-pod-1/current") }, []string{"NoPointer etcd-pod-1/current"}, false},
		{"pointer out of the directory", func(_ *memory, w *writer) { w.link("../x", "etcd-pod-1/current") }, []string{"BadPointer etcd-pod-1/current"}, false},
		{"dangling pointer", func(_ *memory, w *writer) { w.link("generation-7", "etcd-pod-1/current") }, []string{"PointerDangling etcd-pod-1/current"}, false},
		{"pointer is a file", func(_ *memory, w *writer) { w.remove("etcd-pod-1/current"); w.write("etcd-pod-1/current", nil) },
			[]string{"BadPointer etcd-pod-1/current"}, false},
		{"no directory", func(_ *memory, w *writer) { w.remove("etcd-pod-1") }, []string{"MissingDirectory etcd-pod-1"}, false},
		{"no copy of the manifest", func(_ *memory, w *writer) { w.remove("etcd-pod-1/etcd-pod.yaml") }, []string{"NoManifest etcd-pod-1/etcd-pod.yaml"}, true},
		{"leftovers", func(_ *memory, w *writer) {
			w.mkdir(".etcd-pod-3.removing")
			w.mkdir("etcd-pod-1/.generation-2.staging")
		},
			[]string{"Leftover .etcd-pod-3.removing", "Leftover etcd-pod-1/.generation-2.staging"}, true},
		{"other names", func(_ *memory, w *writer) {
			w.mkdir("etcd-pod-x")
			w.mkdir("etcd-pod-01")
			w.mkdir(".other-pod-1.staging")
		},
			[]string{"NotARevision etcd-pod-01", "NotARevision etcd-pod-x"}, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := newMachine()
			m.mustInstall(t, request(1, content(a, a)))
			w := &writer{fs: m.resources}
			test.damage(m.resources.(*memory), w)
			if w.err != nil {
				t.Fatal(w.err)
			}
			state, err := m.List()
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range state.faults() {
				got = append(got, string(f.Reason)+" "+f.Path)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
			_, err = m.Installed()
			if (err == nil) != test.runs {
				t.Errorf("Installed: %v", err)
			}
			if _, ok := errors.AsType[Finding](err); err != nil && !ok {
				t.Errorf("Installed holds no finding: %v", err)
			}
		})
	}
}

func TestFindingsOfTheManifest(t *testing.T) {
	a := authorities[0]()
	tests := map[string]struct {
		damage func(m *memory, w *writer)
		want   Reason
	}{
		"none":        {func(_ *memory, w *writer) { w.remove("etcd-pod.yaml") }, NoManifest},
		"torn":        {func(m *memory, _ *writer) { node(m, "etcd-pod.yaml").data = []byte("{") }, BadManifest},
		"a directory": {func(_ *memory, w *writer) { w.remove("etcd-pod.yaml"); w.mkdir("etcd-pod.yaml") }, BadManifest},
		"mode":        {func(m *memory, _ *writer) { node(m, "etcd-pod.yaml").mode = 0o644 }, WrongMode},
		"leftover":    {func(_ *memory, w *writer) { w.write(".etcd-pod.yaml.staging", nil) }, Leftover},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := newMachine()
			m.mustInstall(t, request(1, content(a, a)))
			test.damage(m.manifests.(*memory), &writer{fs: m.manifests})
			state, err := m.List()
			if err != nil {
				t.Fatal(err)
			}
			if len(state.Findings) != 1 || state.Findings[0].Reason != test.want {
				t.Errorf("findings %v, want %s", state.Findings, test.want)
			}
		})
	}
}

func FuzzParseRecord(f *testing.F) {
	f.Add([]byte(`{"revision":1,"contentHash":"x","restartHash":"y","node":"n","files":{"secrets/a/b.crt":"00"}}`))
	f.Add([]byte(`{"revision":1,"files":{"secrets/../b.crt":"00"}}`))
	f.Add([]byte(`{"revision":-1}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		record, err := ParseRecord(text)
		if err != nil {
			return
		}
		for name := range record.Files {
			if err := checkFile(name); err != nil {
				t.Errorf("it accepts the file %q", name)
			}
		}
		again, err := ParseRecord(must(record.Encode()))
		if err != nil {
			t.Fatalf("what it accepts, encoded, it refuses: %v", err)
		}
		if diff := cmp.Diff(record.Revision, again.Revision); diff != "" {
			t.Error(diff)
		}
	})
}
