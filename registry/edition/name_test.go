// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package edition

import (
	"maps"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"certrotation.dev/test/property"
)

func TestObjectName(t *testing.T) {
	t.Parallel()
	// The first two come from Gardener: manager_test.go of its pkg/utils/secrets/manager. kinds.TestPublishedNames
	// has all of them.
	for name, test := range map[string]struct {
		wanted Wanted
		want   string
	}{
		"published, rotated":            {Wanted{Name: "config-name", Config: 1645436262831067767, Rotation: "1646060228"}, "config-name-fd0a3f24-76711"},
		"published, signed and rotated": {Wanted{Name: "config-name", Config: 17861245496710117091, Signer: "checksum", Rotation: "1646060228"}, "config-name-a11a0b2d-76711"},
		"bare":                          {Wanted{Name: "ca", Config: 1, BareName: true}, "ca"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := test.wanted.ObjectName(); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

// TestNamesFollow: the name depends on the hash of the configuration, the signer and the rotation, and on nothing
// else.
func TestNamesFollow(t *testing.T) {
	t.Parallel()
	shape := regexp.MustCompile(`^n-[0-9a-f]{8}(-[0-9a-f]{5})?$`)
	property.Check(t, func(t *rapid.T) {
		w := Wanted{Name: "n", Config: rapid.Uint64().Draw(t, "config"), Signer: rapid.StringMatching(`([0-9a-f]{64})?`).Draw(t, "signer")}
		w.Rotation = rapid.StringMatching(`([1-9][0-9]{9})?`).Draw(t, "rotation")
		same := w
		same.Identity, same.Persist, same.RenewAfter, same.Labels = "other", true, 7, map[string]string{"a": "b"}
		if got := w.ObjectName(); !shape.MatchString(got) || got != same.ObjectName() {
			t.Fatalf("%s and %s", got, same.ObjectName())
		}
		other := w
		other.Config++
		if other.ObjectName() == w.ObjectName() {
			t.Fatal("another configuration has the same name")
		}
		other = w
		other.Rotation = "1"
		if other.ObjectName() == w.ObjectName() {
			t.Fatal("another rotation has the same name")
		}
	})
}

func TestObjectLabels(t *testing.T) {
	t.Parallel()
	w := &Wanted{
		Name: "server", Identity: "me", Config: 7, Signer: strings.Repeat("a", 64), Rotation: "1", Persist: true, RenewAfter: 50,
		Labels: map[string]string{"app": "web", LabelName: "x", LabelGeneration: "9", LabelPersist: "no"},
	}
	want := map[string]string{
		"app": "web", "name": "server", "managed-by": "secrets-manager", "manager-identity": "me", "checksum-of-config": "7",
		"checksum-of-signing-ca": strings.Repeat("a", 63), "last-rotation-initiation-time": "1", "persist": "true",
		"renew-after-validity-percentage": "50",
	}
	if diff := cmp.Diff(want, w.ObjectLabels()); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	bundle := &Wanted{Name: BundleName("ca"), Identity: "me", BundleFor: "ca"}
	want = map[string]string{
		"name": "ca-bundle", "managed-by": "secrets-manager", "manager-identity": "me", "checksum-of-config": "0", "bundle-for": "ca",
		"last-rotation-initiation-time": "",
	}
	if diff := cmp.Diff(want, bundle.ObjectLabels()); diff != "" {
		t.Errorf("labels of a bundle (-want +got):\n%s", diff)
	}
}

// TestRelabel: afterwards the library's own labels are as wanted, and all others are unchanged.
func TestRelabel(t *testing.T) {
	t.Parallel()
	keys := rapid.SampledFrom(append([]string{"app", "team", LabelGeneration, LabelKeyOutside}, owned...))
	labels := rapid.MapOf(keys, rapid.SampledFrom([]string{"", "a", "b"}))
	property.Check(t, func(t *rapid.T) {
		has, wanted := labels.Draw(t, "has"), labels.Draw(t, "wanted")
		after := maps.Clone(has)
		for key, value := range Relabel(has, wanted) {
			if text, ok := value.(string); ok {
				after[key] = text
			} else {
				delete(after, key)
			}
		}
		for key, value := range wanted {
			if after[key] != value {
				t.Fatalf("%s is %q, want %q", key, after[key], value)
			}
		}
		for _, key := range owned {
			if _, ok := after[key]; ok {
				if _, ok := wanted[key]; !ok {
					t.Fatalf("%s is still there", key)
				}
			}
		}
		for key, value := range has {
			if _, ok := wanted[key]; !ok && (!Owned(key) || key == LabelGeneration || key == LabelKeyOutside) && after[key] != value {
				t.Fatalf("%s was %q and is %q", key, value, after[key])
			}
		}
		if again := Relabel(after, wanted); len(again) > 0 {
			t.Fatalf("once more it changes %v", again)
		}
	})
}

func TestDataChecksum(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		data map[string][]byte
		want string
	}{
		"nothing":    {nil, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		"one value":  {map[string][]byte{"a": []byte("x")}, hexHash([]byte(hexHash([]byte("x"))))},
		"by the key": {map[string][]byte{"b": []byte("x"), "a": []byte("y")}, hexHash([]byte(hexHash([]byte("y")) + hexHash([]byte("x"))))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := DataChecksum(test.data); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}
