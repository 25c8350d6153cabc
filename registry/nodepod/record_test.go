// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodepod

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

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
		encoded, err := record.Encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseRecord(encoded)
		if err != nil {
			t.Fatalf("what it accepts, encoded, it refuses: %v", err)
		}
		if diff := cmp.Diff(record.Revision, again.Revision); diff != "" {
			t.Error(diff)
		}
	})
}
