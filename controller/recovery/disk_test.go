// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"certrotation.dev/registry/nodepod"
	"certrotation.dev/test/disktest"
)

// damage is a node whose disk a test changes.
type damage struct {
	*disktest.Node
	t *testing.T
}

func (d damage) must(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

func (d damage) file(name string) string { return filepath.Join(d.Generation(7, 7), name) }

func (d damage) edit(file string, change func(text string) string) {
	d.t.Helper()
	text, err := os.ReadFile(file)
	d.must(err)
	d.must(os.WriteFile(file, []byte(change(string(text))), 0o600))
}

// TestDiagnoseRealDirectories damages the disk of a healthy node, with revision 5 as a way back. It lists what
// doctor then reports, as severity and reason, apart from the way back.
func TestDiagnoseRealDirectories(t *testing.T) {
	now := time.Now()
	end := now.Add(disktest.Life / 2)
	cert, key := disktest.PairFiles("etcd-peer-node-0")
	for name, tc := range map[string]struct {
		do   func(d damage)
		want []string
		// back is the finding about revision 5.
		back string
	}{
		"nothing":          {do: func(damage) {}},
		"manifest missing": {do: func(d damage) { d.must(os.Remove(d.Manifest())) }, want: []string{"error ManifestMissing", "info GenerationWorks"}},
		"manifest is no YAML": {do: func(d damage) { d.must(os.WriteFile(d.Manifest(), []byte("{"), 0o600)) },
			want: []string{"error ManifestUnreadable", "info GenerationWorks"}},
		"manifest of another kind": {do: func(d damage) {
			d.edit(d.Manifest(), func(s string) string { return strings.Replace(s, "kind: Pod", "kind: Secret", 1) })
		}, want: []string{"error ManifestUnreadable", "info GenerationWorks"}},
		"manifest names a missing directory": {do: func(d damage) {
			d.edit(d.Manifest(), func(s string) string { return strings.ReplaceAll(s, "etcd-pod-7", "etcd-pod-9") })
		}, want: []string{"error DirectoryMissing", "info GenerationWorks"}},
		"manifest mounts none": {do: func(d damage) {
			d.edit(d.Manifest(), func(s string) string { return strings.ReplaceAll(s, "etcd-pod-7", "elsewhere") })
		}, want: []string{"error ManifestMounts", "info GenerationWorks"}},
		"manifest for everybody": {do: func(d damage) { d.must(os.Chmod(d.Manifest(), 0o644)) }, want: []string{"warning FileMode"}},
		"manifest wants a file that is not there": {do: func(d damage) {
			d.edit(d.Manifest(), func(s string) string { return strings.ReplaceAll(s, "server-ca-bundle.crt", "another.crt") })
		}, want: []string{"error FileMissing"}},
		"pointer missing":  {do: func(d damage) { d.must(os.Remove(filepath.Join(d.Directory(7), "current"))) }, want: []string{"error PointerMissing", "info GenerationWorks"}},
		"pointer dangling": {do: func(d damage) { d.Point(7, "generation-8") }, want: []string{"error PointerBroken", "info GenerationWorks"}},
		"pointer to another directory": {do: func(d damage) { d.Point(7, "../etcd-pod-5/generation-5") },
			want: []string{"error PointerBroken", "info GenerationWorks"}},
		"pointer to an absolute path": {do: func(d damage) { d.Point(7, d.Generation(7, 7)) }, want: []string{"error PointerBroken", "info GenerationWorks"}},
		"pointer is a directory": {do: func(d damage) {
			d.must(os.Remove(filepath.Join(d.Directory(7), "current")))
			d.must(os.Mkdir(filepath.Join(d.Directory(7), "current"), 0o700))
		}, want: []string{"error PointerBroken", "info GenerationWorks"}},
		"generation without its record": {do: func(d damage) { d.must(os.Remove(d.file(nodepod.RecordName))) }, want: []string{"error GenerationIncomplete"}},
		"record that is cut":            {do: func(d damage) { d.edit(d.file(nodepod.RecordName), func(s string) string { return s[:len(s)/2] }) }, want: []string{"error GenerationIncomplete"}},
		"bundle changed by hand": {do: func(d damage) {
			d.edit(d.file(disktest.ServerBundle), func(s string) string { return s + "\n# mine\n" })
		}, want: []string{"error HashMismatch"}},
		"key that is everybody's":           {do: func(d damage) { d.must(os.Chmod(d.file(key), 0o644)) }, want: []string{"warning FileMode"}},
		"directory that is everybody's":     {do: func(d damage) { d.must(os.Chmod(d.Directory(7), 0o755)) }, want: []string{"warning FileMode"}},
		"file that nobody installed":        {do: func(d damage) { d.Write(d.file("secrets/etcd-all-certs/note"), nil) }, want: []string{"warning FileUnexpected"}},
		"symbolic link in a generation":     {do: func(d damage) { d.must(os.Symlink("/etc/passwd", d.file("secrets/link"))) }, want: []string{"warning FileUnexpected"}},
		"key missing":                       {do: func(d damage) { d.must(os.Remove(d.file(key))) }, want: []string{"error FileMissing"}},
		"key of another certificate":        {do: func(d damage) { d.swapKey(key) }, want: []string{"error KeyMismatch"}},
		"certificate that is none":          {do: func(d damage) { d.reinstall(func(f map[string][]byte) { f[cert] = []byte("x") }) }, want: []string{"error Unparsable"}},
		"leaf of another authority":         {do: func(d damage) { d.foreignLeaf(end) }, want: []string{"error Untrusted"}},
		"leaf that ends soon":               {do: func(d damage) { d.leafUntil(now.Add(time.Hour / 2)) }, want: []string{"warning ExpiresSoon"}},
		"leaf that has expired":             {do: func(d damage) { d.leafUntil(now.Add(-time.Hour)) }, want: []string{"error Expired"}},
		"everything has expired":            {do: func(d damage) { d.allUntil(now.Add(-time.Hour)) }, want: []string{"error AuthorityExpired", "error Expired", "error Expired"}},
		"authority that ends soon":          {do: func(d damage) { d.allUntil(now.Add(time.Hour / 2)) }, want: []string{"warning AuthorityExpiresSoon", "warning ExpiresSoon", "warning ExpiresSoon"}},
		"a clock that is before everything": {do: func(d damage) { d.allUntil(now.Add(3 * disktest.Life)) }, want: []string{"error ClockSuspicious", "error NotYetValid", "error NotYetValid", "error NotYetValid"}},
		"a file from the future": {do: func(d damage) {
			d.must(os.Chtimes(d.file(key), now.Add(time.Hour), now.Add(time.Hour)))
		}, want: []string{"warning ClockSuspicious"}},
		"leftovers": {do: func(d damage) {
			d.Write(filepath.Join(d.Manifests, ".etcd-pod.yaml.staging"), nil)
			d.Write(filepath.Join(d.Resources, ".etcd-pod-8.staging", "x"), nil)
			d.Write(filepath.Join(d.Directory(7), ".generation-8.staging", "x"), nil)
		}, want: []string{"info Leftover", "info Leftover", "info Leftover"}},
		"set aside":   {do: func(d damage) { d.Write(filepath.Join(d.Resources, "etcd-pod-set-aside-x", "y"), nil) }, want: []string{"info SetAside"}},
		"no way back": {do: func(d damage) { d.must(os.Remove(filepath.Join(d.Directory(5), "etcd-pod.yaml"))) }, back: "info GenerationBroken"},
	} {
		t.Run(name, func(t *testing.T) {
			node := disktest.NewNode(t, "node-0")
			ca := disktest.Authority(t, "signer@1", end)
			node.Install(5, 5, node.Files(ca, end))
			node.Install(7, 7, node.Files(ca, end))
			tc.do(damage{node, t})
			disk, err := ReadDisk(nodepod.Layout{Name: "etcd", ManifestDirectory: node.Manifests, ResourceDirectory: node.Resources})
			if err != nil {
				t.Fatal(err)
			}
			back := tc.back
			if back == "" {
				back = "info GenerationWorks"
			}
			got, want := map[string]int{}, map[string]int{back: 1}
			for _, f := range nodepod.Diagnose(disk, now) {
				if f.Reason != nodepod.ReasonGenerationInUse {
					got[string(f.Severity)+" "+string(f.Reason)]++
				}
				if f.Severity != nodepod.Info && f.NextStep == "" {
					t.Errorf("no next step for %+v", f)
				}
			}
			for _, w := range tc.want {
				want[w]++
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("findings differ (-want +got):\n%s", diff)
			}
		})
	}
}

// reinstall installs revision 7 again with other files.
func (d damage) reinstall(change func(files map[string][]byte)) {
	d.t.Helper()
	end := time.Now().Add(disktest.Life / 2)
	files := d.Files(disktest.Authority(d.t, "signer@2", end), end)
	change(files)
	d.must(os.RemoveAll(d.Directory(7)))
	d.Install(7, 7, files)
}

func (d damage) swapKey(key string) {
	d.reinstall(func(files map[string][]byte) {
		_, other := disktest.PairFiles("etcd-serving-node-0")
		files[key] = files[other]
	})
}

func (d damage) foreignLeaf(end time.Time) {
	other := disktest.Authority(d.t, "other@1", end)
	d.reinstall(func(files map[string][]byte) {
		d.Put(files, "etcd-peer-node-0", disktest.Leaf(d.t, other, "etcd-peer-node-0", end))
	})
}

// leafUntil makes one leaf end earlier than its signer.
func (d damage) leafUntil(end time.Time) {
	authorityEnd := time.Now().Add(disktest.Life / 2)
	ca := disktest.Authority(d.t, "signer@2", authorityEnd)
	d.reinstall(func(files map[string][]byte) {
		maps.Copy(files, d.Files(ca, authorityEnd))
		d.Put(files, "etcd-peer-node-0", disktest.Leaf(d.t, ca, "etcd-peer-node-0", end))
	})
}

func (d damage) allUntil(end time.Time) {
	ca := disktest.Authority(d.t, "signer@2", end)
	d.reinstall(func(files map[string][]byte) { maps.Copy(files, d.Files(ca, end)) })
}

func TestReadDiskRefuses(t *testing.T) {
	node := disktest.NewNode(t, "node-0")
	l := nodepod.Layout{Name: "etcd", ManifestDirectory: node.Manifests, ResourceDirectory: node.Resources}
	for name, change := range map[string]func(*nodepod.Layout){
		"no manifests": func(l *nodepod.Layout) { l.ManifestDirectory += "-none" },
		"no resources": func(l *nodepod.Layout) { l.ResourceDirectory += "-none" },
	} {
		other := l
		change(&other)
		if _, err := ReadDisk(other); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
