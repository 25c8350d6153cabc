// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// canaryKey is a key whose text appears in no output.
func canaryKey(t testing.TB) (text []byte, canary string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	text = makeOf(t, key, nil, "canary", ofCA).keyPEM
	return text, string(bytes.Split(text, []byte("\n"))[1][20:50])
}

func TestCheckBadInput(t *testing.T) {
	key, canary := canaryKey(t)
	inYAML := "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n"
	indented := strings.ReplaceAll(strings.TrimSpace(string(key)), "\n", "\n    ")
	for _, tt := range []struct {
		name  string
		files checkedFiles
		named string
		code  int
		want  string
	}{
		{name: "an alias", files: checkedFiles{"a.yaml": []byte(inYAML + "stringData:\n  a: &a |\n    " + indented + "\n  b: *a\n")}, code: 0, want: "0 errors"},
		{name: "aliases of much", files: checkedFiles{"a.yaml": []byte(inYAML + "stringData:\n  a: &a " + strings.Repeat(canary, 1<<15) + "\n  b: [" + strings.Repeat("*a, ", 20) + "]\n")}, code: 2, want: "a.yaml, document 1, has YAML aliases that stand for too much"},
		{name: "a template", files: checkedFiles{"a.yaml": []byte("metadata:\n  name: {{ .Values.name }}\n" + string(key))}, code: 2, want: "is a template: render it first"},
		{name: "the second document", files: checkedFiles{"a.yaml": []byte("a: 1\n---\n" + inYAML + "stringData:\n  a: |\n    " + indented + "\n  : : {\n")}, code: 2, want: "document 2, is neither YAML nor JSON"},
		{name: "a key twice", files: checkedFiles{"a.yaml": []byte(inYAML + "stringData:\n  " + canary + ": 1\n  " + canary + ": 2\n")}, code: 2, want: "has a field twice"},
		{name: "a Secret that is none", files: checkedFiles{"a.yaml": []byte(inYAML + "data:\n  tls.key: " + canary + "-\n")}, code: 2, want: "is no valid Secret of v1"},
		{name: "a key alone", files: checkedFiles{"a.key": key}, named: "a.key", code: 0, want: "0 certificates"},
		{name: "a binary by name", files: checkedFiles{"a.bin": append([]byte{0, 1}, key...)}, named: "a.bin", code: 2, want: "is no text"},
		{name: "binaries and keystores in a directory", files: checkedFiles{"a.jks": key, "b.p12": key, "c": {0}}, code: 0, want: "skipped 3 files"},
		{name: "a certificate that is none, by name", files: checkedFiles{"a.crt": []byte("nothing")}, named: "a.crt", code: 2, want: "holds no certificate"},
		{name: "nothing there", named: "a.yaml", code: 2, want: "no such file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := plainShell(t)
			code := s.run(t.Context(), "check", "-f", filepath.Join(tt.files.write(t), tt.named))
			said := s.out.String() + s.errOut.String()
			if code != tt.code || !strings.Contains(said, tt.want) {
				t.Errorf("exit code %d, want %d with %q: %s", code, tt.code, tt.want, said)
			}
			if strings.Contains(said, canary) {
				t.Errorf("quotes a key: %s", said)
			}
		})
	}
}

// TestCheckDirectories: links in a circle end, and 10,000 files are read.
func TestCheckDirectories(t *testing.T) {
	ca := makeCA(t, "ca")
	directory := checkedFiles{"a/ca.crt": ca.cert}.write(t)
	for link, to := range map[string]string{"a/again": directory, "self": filepath.Join(directory, "self"), "a/linked.crt": filepath.Join(directory, "a/ca.crt")} {
		if err := os.Symlink(to, filepath.Join(directory, link)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 10000 {
		if err := os.WriteFile(filepath.Join(directory, fmt.Sprintf("%d.yaml", i)), []byte("kind: Pod\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := plainShell(t)
	if got := s.ok(t, "check", "-f", directory); got != "0 errors, 0 warnings; 1 certificate, 10002 files\n" {
		t.Errorf("printed %s", got)
	}
}

func TestCheckStandardInput(t *testing.T) {
	ca := makeCA(t, "ca")
	s := plainShell(t)
	s.stdin = string(listOf(t, checkedSecret("demo", "web", ca.cert, ca.keyPEM)))
	if got := s.ok(t, "check", "-f", "-"); got != "0 errors, 0 warnings; 1 certificate, 1 file\n" {
		t.Errorf("printed %s", got)
	}
}

// FuzzCheck: no input makes check panic or print a key.
func FuzzCheck(f *testing.F) {
	ca := makeCA(f, "ca")
	f.Add(manifestOf(f, checkedSecret("demo", "web", ca.cert, ca.keyPEM, ca)))
	f.Add(append(slices.Clone(ca.cert), ca.keyPEM...))
	f.Add(kubeconfigOf(ca, ca))
	canary := string(bytes.Split(ca.keyPEM, []byte("\n"))[1][20:50])
	f.Fuzz(func(t *testing.T, data []byte) {
		s := plainShell(t)
		s.stdin = string(data)
		s.run(t.Context(), "check", "-f", "-")
		if said := s.out.String() + s.errOut.String(); strings.Contains(said, canary) {
			t.Errorf("quotes a key: %s", said)
		}
	})
}
