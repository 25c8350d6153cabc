// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"certrotation.dev/registry/truststore"
)

var (
	ofPKCS12 = Keystore{Key: "keystore.p12", Format: truststore.PKCS12, PasswordSecret: "password", PasswordKey: "p", PasswordVersion: "uid/1"}
	ofJKS    = Keystore{Key: "keystore.jks", Format: truststore.JKS, PasswordSecret: "password", PasswordKey: "p", PasswordVersion: "uid/1"}
)

// writeStores writes the keystores and trust stores of a leaf as the controller does.
func (w *world) writeStores(action *Action) {
	if !slices.Contains([]ActionKind{IssueLeaf, UpdateLeafAnchors, WriteKeystores}, action.Kind) {
		return
	}
	l := w.leaf(action.Object)
	if len(action.Stores)+len(l.StoreDigests) > 0 {
		l.StoreDigests = digestsOf(action.Stores, action.Anchors)
	}
	if action.Kind == UpdateLeafAnchors || len(action.Keystores)+len(l.Seals) == 0 {
		return
	}
	l.Seals = map[string]string{}
	delete(l.Annotations, AnnotationKeystores)
	for _, k := range action.Keystores {
		l.Seals[k.Key] = "seal-of-" + string(l.Certificate.Fingerprint)
	}
	if len(action.Keystores) > 0 {
		l.Annotations[AnnotationKeystores] = FormatKeystores(action.Keystores, l.Seals)
	}
}

// keystoreWorld is a domain at rest whose server has a keystore and a trust store.
func keystoreWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.beside = true
	l := w.leaf("server")
	l.Keystores, l.Stores = []Keystore{ofPKCS12}, stores[1:]
	w.settle()
	w.reloadAll()
	w.settle()
	w.done = nil
	return w
}

// TestKeystoresAreWrittenWithTheLeaf: during a rotation the pair and its keystore, and the anchors and their trust store,
// change in the same write, and no write is for the stores alone.
func TestKeystoresAreWrittenWithTheLeaf(t *testing.T) {
	w := keystoreWorld(t)
	w.request("test")
	for range 6 {
		w.settle()
		w.reloadAll()
		if reason := w.leaf("server").staleStores(); reason != "" {
			t.Errorf("after %v: %s", w.done, reason)
		}
	}
	if stage := w.settle().Stage; stage != Stable || !slices.Contains(w.done, "IssueLeaf server") {
		t.Fatalf("the rotation did not end: %s", stage)
	}
	if slices.ContainsFunc(w.done, func(done string) bool { return strings.HasPrefix(done, string(WriteKeystores)) }) {
		t.Errorf("a write for keystores alone: %v", w.done)
	}
}

func TestStaleKeystoresAreWritten(t *testing.T) {
	changed := ofPKCS12
	changed.PasswordVersion = "uid/2"
	for name, test := range map[string]struct {
		change func(*Leaf)
		reason string
	}{
		"nothing happened":        {func(*Leaf) {}, ""},
		"the keystore was edited": {func(l *Leaf) { l.Seals = map[string]string{"keystore.p12": "edited"} }, "does not have its pair"},
		"the keystore is gone":    {func(l *Leaf) { l.Seals = nil }, "does not have its pair"},
		"the annotation is gone":  {func(l *Leaf) { delete(l.Annotations, AnnotationKeystores) }, "not those of the configuration"},
		"the annotation lies": {func(l *Leaf) {
			l.Annotations[AnnotationKeystores] = FormatKeystores(l.Keystores, map[string]string{"keystore.p12": "forged"})
		}, "does not have its pair"},
		"another password":         {func(l *Leaf) { l.Keystores = []Keystore{changed} }, "password of keystore.p12 has changed"},
		"another format":           {func(l *Leaf) { l.Keystores[0].Format = truststore.JKS }, "has changed"},
		"one more is wanted":       {func(l *Leaf) { l.Keystores = []Keystore{ofJKS, ofPKCS12} }, "not those of the configuration"},
		"none is wanted":           {func(l *Leaf) { l.Keystores = nil }, "not those of the configuration"},
		"a trust store was edited": {func(l *Leaf) { l.StoreDigests["truststore.p12"] = "edited" }, "does not have the anchors"},
		"a leaf without anchors":   {func(l *Leaf) { l.Anchors = nil }, "not those of the configuration"},
		"no trust store is wanted": {func(l *Leaf) { l.Stores = nil }, "not those of the configuration"},
	} {
		t.Run(name, func(t *testing.T) {
			w := keystoreWorld(t)
			l := w.leaf("server")
			l.Keystores = slices.Clone(l.Keystores)
			test.change(l)
			actions := w.assess().Actions
			w.settle()
			switch {
			case test.reason == "":
				if len(w.done) > 0 {
					t.Errorf("actions %v", w.done)
				}
			case len(actions) != 1 || actions[0].Kind != WriteKeystores || !strings.Contains(actions[0].Reason, test.reason):
				t.Errorf("actions %+v, want one because of %q", actions, test.reason)
			case !slices.Equal(w.done, []string{"WriteKeystores server"}):
				t.Errorf("actions %v", w.done)
			}
		})
	}
}

// TestKeystoreWithoutPassword: the leaf is named and not issued, its anchors and everything else go on.
func TestKeystoreWithoutPassword(t *testing.T) {
	w := keystoreWorld(t)
	w.leaf("server").Keystores = []Keystore{{Key: "keystore.p12", Format: truststore.PKCS12, NoPassword: "Secret/password does not exist"}}
	problem := w.assess().ProblemOf("Secret/server")
	if problem == nil || problem.Reason != ReasonKeystorePassword || !strings.Contains(problem.Message, "Secret/password does not exist") {
		t.Fatalf("problems %+v", w.assess().Problems)
	}
	w.request("test")
	for range 6 {
		w.settle()
		w.reloadAll()
	}
	for _, done := range []string{"UpdateLeafAnchors server", "IssueLeaf client-a", "IssueLeaf client-b"} {
		if !slices.Contains(w.done, done) {
			t.Errorf("no %s in %v", done, w.done)
		}
	}
	a := w.assess()
	if slices.Contains(w.done, "IssueLeaf server") || a.Stage != Reissuing {
		t.Errorf("%s after %v", a.Stage, w.done)
	}
	if !slices.ContainsFunc(a.Blockers, func(b Blocker) bool { return b.Object == "Secret/server" && b.Reason == ReasonKeystorePassword }) {
		t.Errorf("blockers %+v", a.Blockers)
	}
	w.leaf("server").Keystores = []Keystore{ofPKCS12}
	for range 6 {
		w.settle()
		w.reloadAll()
	}
	if a := w.assess(); a.Stage != Stable || len(a.Problems) > 0 {
		t.Errorf("%s with the problems %+v", a.Stage, a.Problems)
	}
}

func TestParseKeystores(t *testing.T) {
	for text, want := range map[string]map[string]RecordedKeystore{
		"":                  {},
		"a=b":               {},
		"a=m/s":             {"a": {"m", "s"}},
		"x a=m/s b=/":       {"a": {"m", "s"}, "b": {}},
		"a=1/1 b=2/2 c=3/3": {"a": {"1", "1"}, "b": {"2", "2"}},
	} {
		if diff := cmp.Diff(want, ParseKeystores(text)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}
