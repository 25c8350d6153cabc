// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sigs.k8s.io/yaml"
)

// FuzzLoad: what Decode and Spec accept is the same after it is written out and loaded again.
func FuzzLoad(f *testing.F) {
	seeds, err := filepath.Glob("testdata/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range seeds {
		data, err := os.ReadFile(seed)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		loaded, err := decodeAndLoad(data)
		if err != nil {
			return
		}
		out, err := yaml.Marshal(loaded)
		if err != nil {
			t.Fatal(err)
		}
		again, err := decodeAndLoad(out)
		if err != nil {
			if len(out) > maxSize {
				return
			}
			t.Fatalf("load again: %v\n%s", err, out)
		}
		if diff := cmp.Diff(loaded, again, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("the second Spec differs (-first +second):\n%s", diff)
		}
	})
}
