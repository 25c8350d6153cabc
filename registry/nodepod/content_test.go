// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodepod

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"k8s.io/apimachinery/pkg/util/sets"

	"certrotation.dev/test/property"
)

func sample() Content {
	return Content{
		PodTemplate: []byte("pod"),
		ConfigMaps:  objects{"bundles": {"server.crt": []byte("A"), "metrics.crt": []byte("B")}, "certs": {"x": []byte("y")}},
		Secrets:     objects{"certs": {"a.crt": []byte("1"), "a.key": []byte("2")}, "token": {"t": []byte("3")}},
		Reloaded:    sets.New("certs"),
	}
}

func TestHashesTellContentsApart(t *testing.T) {
	tests := []struct {
		name             string
		change           func(*Content)
		content, restart bool // whether the hash changes
	}{
		{"nothing", func(*Content) {}, false, false},
		{"template", func(c *Content) { c.PodTemplate = []byte("pod2") }, true, true},
		{"trust", func(c *Content) { c.ConfigMaps["bundles"]["server.crt"] = []byte("C") }, true, true},
		{"a ConfigMap of the name of a reloaded Secret", func(c *Content) { c.ConfigMaps["certs"]["x"] = nil }, true, true},
		{"leaf", func(c *Content) { c.Secrets["certs"]["a.crt"] = []byte("9") }, true, false},
		{"reloaded Secret gone", func(c *Content) { delete(c.Secrets, "certs") }, true, false},
		{"Secret read at start", func(c *Content) { c.Secrets["token"]["t"] = []byte("9") }, true, true},
		{"key with nothing", func(c *Content) { c.ConfigMaps["bundles"]["empty"] = nil }, true, true},
		{"a companion", func(c *Content) { c.Companions = map[string][]byte{"x": []byte("y")} }, true, true},
		{"object with nothing", func(c *Content) { c.ConfigMaps["empty"] = nil }, true, true},
		{"what is reloaded", func(c *Content) { c.Reloaded = nil }, false, true},
		{"border of key and value", func(c *Content) {
			delete(c.ConfigMaps["certs"], "x")
			c.ConfigMaps["certs"]["xy"] = nil
		}, true, true},
		{"object moved to the other kind", func(c *Content) {
			c.Secrets["bundles"] = c.ConfigMaps["bundles"]
			delete(c.ConfigMaps, "bundles")
		}, true, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			before, after := sample(), sample()
			test.change(&after)
			if got := before.ContentHash() != after.ContentHash(); got != test.content {
				t.Errorf("content hash changed: %t, want %t", got, test.content)
			}
			if got := before.RestartHash() != after.RestartHash(); got != test.restart {
				t.Errorf("restart hash changed: %t, want %t", got, test.restart)
			}
		})
	}
	if sample().ContentHash() == (Content{PodTemplate: []byte("pod")}).RestartHash() || len(sample().ContentHash()) != 64 {
		t.Error("hashes are not 64 digits with a purpose of their own")
	}
}

// TestHashWithoutCompanions pins hashes that nodes have recorded. Other hashes would restart every static pod.
func TestHashWithoutCompanions(t *testing.T) {
	c := sample()
	if got := c.ContentHash(); got != "076affa18cad621bd7228039f107ff4285a27224983881de6cde7583607fd234" {
		t.Errorf("content hash %s", got)
	}
	if got := c.RestartHash(); got != "310d97ac74fd3899011f2cbdbcb5f84a90e255a2bd8eb9d4ad0938130fc6f2de" {
		t.Errorf("restart hash %s", got)
	}
}

func TestTakeTemplates(t *testing.T) {
	values := map[string][]byte{"pod.yaml": []byte("P"), "kube-apiserver.yaml": []byte("A"), "other": []byte("O")}
	for _, test := range []struct {
		name       string
		drop       string
		companions []string
		missing    []string
		want       map[string][]byte
	}{
		{"no companions", "", nil, nil, map[string][]byte{"pod.yaml": []byte("P")}},
		{"a companion", "", []string{"kube-apiserver"}, nil, map[string][]byte{"pod.yaml": []byte("P"), "kube-apiserver.yaml": []byte("A")}},
		{"one without a template", "", []string{"scheduler"}, []string{"scheduler.yaml"}, map[string][]byte{"pod.yaml": []byte("P")}},
		{"no template", "pod.yaml", nil, []string{"pod.yaml"}, map[string][]byte{"pod.yaml": nil}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := sample()
			c.ConfigMaps["etcd-pod"] = maps.Clone(values)
			delete(c.ConfigMaps["etcd-pod"], test.drop)
			if missing := c.TakeTemplates("etcd-pod", "pod.yaml", test.companions); !slices.Equal(missing, test.missing) {
				t.Errorf("missing are %v, want %v", missing, test.missing)
			}
			if _, ok := c.ConfigMaps["etcd-pod"]; ok {
				t.Error("the ConfigMap is still part of the content")
			}
			if got := c.Templates("pod.yaml"); !maps.EqualFunc(got, test.want, slices.Equal[[]byte]) {
				t.Errorf("templates %s, want %s", got, test.want)
			}
		})
	}
}

// TestHashIsInjective draws contents from a tiny alphabet, so that texts which differ only in their boundaries are
// likely.
func TestHashIsInjective(t *testing.T) {
	text := rapid.StringOfN(rapid.RuneFrom([]rune("ab\x00")), 0, 3, -1)
	object := rapid.MapOfN(text, rapid.Map(text, func(s string) []byte { return []byte(s) }), 0, 2)
	content := rapid.Custom(func(t *rapid.T) Content {
		return Content{
			PodTemplate: []byte(text.Draw(t, "template")),
			ConfigMaps:  rapid.MapOfN(text, object, 0, 2).Draw(t, "configMaps"),
			Secrets:     rapid.MapOfN(text, object, 0, 2).Draw(t, "secrets"),
			Companions:  object.Draw(t, "companions"),
		}
	})
	property.Check(t, func(t *rapid.T) {
		a, b := content.Draw(t, "a"), content.Draw(t, "b")
		equal := string(a.PodTemplate) == string(b.PodTemplate) && equalObjects(a.ConfigMaps, b.ConfigMaps) && equalObjects(a.Secrets, b.Secrets) &&
			maps.EqualFunc(a.Companions, b.Companions, slices.Equal[[]byte])
		if got := a.ContentHash() == b.ContentHash(); got != equal {
			t.Errorf("content hashes equal: %t, contents equal: %t", got, equal)
		}
		if got := a.RestartHash() == b.RestartHash(); got != equal {
			t.Errorf("restart hashes equal: %t, contents equal: %t", got, equal)
		}
	})
}

func equalObjects(a, b objects) bool {
	return maps.EqualFunc(a, b, func(x, y map[string][]byte) bool { return maps.EqualFunc(x, y, slices.Equal[[]byte]) })
}

func TestNames(t *testing.T) {
	if got := CopyName("etcd-pod", 7); got != "etcd-pod-7" {
		t.Errorf("CopyName: %s", got)
	}
	if got := DirectoryName("etcd", 7); got != "etcd-pod-7" {
		t.Errorf("DirectoryName: %s", got)
	}
	if got := StatusName(12); got != "revision-status-12" {
		t.Errorf("StatusName: %s", got)
	}
	for name, want := range map[string]int{
		"revision-status-12": 12, "revision-status-0": 0, "revision-status-012": 0, "revision-status--1": 0, "revision-status-+1": 0,
		"revision-status-": 0, "revision-status-1x": 0, "other-1": 0, "revision-status-2147483648": 0,
	} {
		if got, ok := ParseStatusName(name); got != want || ok != (want > 0) {
			t.Errorf("ParseStatusName(%q) = %d, %t", name, got, ok)
		}
	}
}

func TestInstalledAnnotation(t *testing.T) {
	if got := InstalledAnnotation("master-0"); got != "installed.certrotation.dev/master-0" {
		t.Error(got)
	}
	long := strings.Repeat("x", 70)
	a, b := InstalledAnnotation(long+"a"), InstalledAnnotation(long+"b")
	if a == b || len(a) != len("installed.certrotation.dev/")+63 {
		t.Errorf("long names: %s and %s", a, b)
	}
}
