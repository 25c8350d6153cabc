// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"certrotation.dev/registry/nodepod"
	"certrotation.dev/registry/pki"
	"certrotation.dev/test/disktest"
)

// TestRestore restores a node whose last revisions are bad, with various peers. CA a signs revision 3. The leaves
// of 5/5 are of a, with the trust of a and b. Generation 5/6 has leaves of b, and revision 7 knows only b.
func TestRestore(t *testing.T) {
	now := time.Now()
	end := now.Add(disktest.Life / 2)
	a, b := disktest.Authority(t, "signer@1", end), disktest.Authority(t, "signer@2", end)
	ofA := peer{leaf: disktest.Leaf(t, a, "peer", end), trusts: []*pki.Pair{a}}
	both := peer{leaf: ofA.leaf, trusts: []*pki.Pair{a, b}}
	ofB := peer{leaf: disktest.Leaf(t, b, "peer", end), trusts: []*pki.Pair{b}}
	var down *peer
	for name, tc := range map[string]struct {
		peers    []*peer
		revision string
		// want is the generation in use afterwards. If it is "", the error contains refused.
		want, refused string
		manifestGone  bool
	}{
		"everybody is at b":                           {peers: []*peer{&ofB, &ofB}, want: "7/7"},
		"everybody stayed at a":                       {peers: []*peer{&ofA, &ofA}, want: "5/5"},
		"everybody trusts both and presents a":        {peers: []*peer{&both, &both}, want: "5/6"},
		"a quorum is enough":                          {peers: []*peer{&ofA, down}, want: "5/5"},
		"one of four is no quorum":                    {peers: []*peer{&ofA, down, down, down}, refused: "accepted by enough peers"},
		"the newest wins among those accepted":        {peers: []*peer{&ofB, &ofA}, want: "7/7"},
		"nobody answers and nothing is named":         {peers: []*peer{down, down}, want: "7/7"},
		"nobody answers and a person names one":       {peers: []*peer{down, down}, revision: "5/5", want: "5/5"},
		"nobody answers and there is no manifest":     {peers: []*peer{down, down}, manifestGone: true, refused: "name one of 7/7, 5/6, 5/5, 3/3"},
		"named by its number alone":                   {peers: []*peer{down, down}, revision: "3", want: "3/3"},
		"named one that does not exist":               {peers: []*peer{down, down}, revision: "4", refused: "there is no generation 4"},
		"named one that the peers refuse":             {peers: []*peer{&ofA, &ofA}, revision: "7/7", refused: "7/7 by 0 of 1"},
		"a single member":                             {want: "7/7"},
		"a single member without a manifest":          {manifestGone: true, want: "7/7"},
		"a single member that wants an earlier one":   {revision: "3/3", want: "3/3"},
		"the manifest is gone and the peers are at a": {peers: []*peer{&ofA, &ofA}, manifestGone: true, want: "5/5"},
	} {
		t.Run(name, func(t *testing.T) {
			node := disktest.NewNode(t, "node-0")
			node.Install(3, 3, node.Files(a, end))
			node.Install(5, 5, node.Files(a, end, b))
			node.Install(5, 6, node.Files(b, end, a))
			node.Install(7, 7, node.Files(b, end))
			o := optionsFor(node, now)
			o.Peers, o.Revision = []nodepod.Member{}, tc.revision
			for i, p := range tc.peers {
				name := fmt.Sprintf("peer-%d", i)
				if p == nil {
					o.Peers = append(o.Peers, nobody(name))
				} else {
					o.Peers = append(o.Peers, p.serve(t, name))
				}
			}
			manifest, err := os.ReadFile(node.Manifest())
			if err != nil {
				t.Fatal(err)
			}
			if tc.manifestGone {
				if err := os.Remove(node.Manifest()); err != nil {
					t.Fatal(err)
				}
			}
			plan, err := New(t.Context(), o)
			if tc.refused != "" {
				if err == nil || !strings.Contains(err.Error(), tc.refused) {
					t.Fatalf("error %v, want one that says %q", err, tc.refused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := plan.Execute(); err != nil {
				t.Fatal(err)
			}
			checkInUse(t, o, tc.want)
			if tc.want[0] != '7' {
				kept, err := filepath.Glob(filepath.Join(node.Resources, "etcd-pod-set-aside-*", "manifests", "etcd-pod.yaml"))
				if err != nil || (len(kept) == 1) == tc.manifestGone {
					t.Errorf("set aside: %v (%v)", kept, err)
				}
				if len(kept) == 1 {
					if was, err := os.ReadFile(kept[0]); err != nil || string(was) != string(manifest) {
						t.Errorf("what was set aside is not the manifest that was replaced: %v", err)
					}
				}
			}
			again, err := New(t.Context(), o)
			if err != nil || !again.NothingToDo() {
				t.Errorf("a second recovery: %v, %v", err, again)
			}
		})
	}
}

func checkInUse(t *testing.T, o Options, want string) {
	t.Helper()
	disk, err := ReadDisk(o.Layout)
	if err != nil {
		t.Fatal(err)
	}
	_, current := disk.Running()
	if current == nil || current.ID() != want {
		t.Fatalf("in use is %v, want %s", current, want)
	}
	if findings := nodepod.Diagnose(disk, o.Clock.Now()); nodepod.Worst(findings) == nodepod.Error {
		t.Errorf("doctor after the recovery: %+v", findings)
	}
}

// TestRestoreSwapsPointerUnderRunningEtcd restores another generation of the running directory. This restarts
// nothing, so etcd may run. For another directory it must not.
func TestRestoreSwapsPointerUnderRunningEtcd(t *testing.T) {
	now := time.Now()
	end := now.Add(disktest.Life / 2)
	a := disktest.Authority(t, "signer@1", end)
	node := disktest.NewNode(t, "node-0")
	// A server at the address of the manifest counts as the running etcd.
	node.PeerURL = "https://" + peer{leaf: disktest.Leaf(t, a, "peer", end)}.serve(t, "self").Address
	node.Install(3, 3, node.Files(a, end))
	node.Install(5, 5, node.Files(a, end))
	node.Install(5, 6, node.Files(a, end))
	o := optionsFor(node, now)
	o.Peers, o.Revision = []nodepod.Member{}, "5/5"
	mustRecover(t, o)
	checkInUse(t, o, "5/5")
	o.Revision = "3/3"
	if _, err := New(t.Context(), o); err == nil || !strings.Contains(err.Error(), ErrRunning.Error()) {
		t.Errorf("another manifest under a running etcd: %v, want ErrRunning", err)
	}
}

func TestPeersOf(t *testing.T) {
	given := []nodepod.Member{{Name: "x", Address: "h:1"}}
	manifest := nodepod.Manifest{Present: true, Self: "a", Listens: []string{"10.0.0.1:2380"}, InitialCluster: []nodepod.Member{
		{Name: "a", Address: "10.0.0.1:2380"}, {Name: "b", Address: "10.0.0.2:2380"},
	}}
	for name, tc := range map[string]struct {
		given []nodepod.Member
		disk  nodepod.Disk
		want  int
		wrong bool
	}{
		"given":                       {given: given, disk: nodepod.Disk{Manifest: manifest}, want: 1},
		"given as a single member":    {given: []nodepod.Member{}, want: 0},
		"from the manifest":           {disk: nodepod.Disk{Manifest: manifest}, want: 1},
		"from the copy of a manifest": {disk: nodepod.Disk{Directories: []nodepod.Directory{{Manifest: manifest}}}, want: 1},
		"unknown":                     {wrong: true},
	} {
		got, err := PeersOf(&tc.disk, tc.given, "")
		if (err != nil) != tc.wrong || len(got) != tc.want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func TestParsePeers(t *testing.T) {
	for text, want := range map[string]nodepod.Member{
		"b=https://10.0.0.2:2380": {Name: "b", Address: "10.0.0.2:2380"},
		"https://[fd00::2]:2380":  {Name: "[fd00::2]:2380", Address: "[fd00::2]:2380"},
		"10.0.0.2":                {Name: "10.0.0.2:2380", Address: "10.0.0.2:2380"},
		"[fd00::2]":               {Name: "[fd00::2]:2380", Address: "[fd00::2]:2380"},
		"host:12380":              {Name: "host:12380", Address: "host:12380"},
	} {
		got, err := ParsePeers([]string{text})
		if err != nil || got[0] != want {
			t.Errorf("%s: %+v, %v, want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "b=", "https://host", "b=https://a:1,https://b:2"} {
		if got, err := ParsePeers([]string{text}); err == nil {
			t.Errorf("%q: %+v, want an error", text, got)
		}
	}
}
