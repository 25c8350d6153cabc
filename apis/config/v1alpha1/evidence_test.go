// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

const aKind = `(?:TLSProbe|Acknowledgement|GracePeriod|Renewed|StaticPodRevision|WorkloadRollout|Mounted|CABundle|None)\b`

var (
	comment = regexp.MustCompile(`(?m)//.*$`)
	// namesKind finds a kind in the configuration, or in another package than the model, or compared within the model.
	namesKind = regexp.MustCompile(`\bEvidence` + aKind + `|\btrust\.` + aKind + `|Kind (?:==|!=) ` + aKind)
)

// mayNameKinds reports whether a file is of one kind, or only writes configurations.
func mayNameKinds(file, code string) bool {
	base := path.Base(file)
	switch path.Dir(file) {
	case "apis/config/v1alpha1":
		return strings.HasPrefix(base, "evidence") || strings.Contains(base, "preset") || base == "types_party.go"
	case "controller/evidence":
		return strings.Contains(code, "observer{kind: trust.") && len(namesKind.FindAllString(code, -1)) == 1
	case "registry/certificaterotation":
		return base == "acknowledge.go"
	}
	return false
}

// TestKindsAreNamedOnce: a kind of evidence is named by its traits in registry/trust/kinds.go, by its type here, and by
// its observer; reports are observed by the API. No other product code names one.
func TestKindsAreNamedOnce(t *testing.T) {
	root, files := os.DirFS("../../.."), 0
	for _, dir := range []string{"admission", "apis", "cmd", "controller", "registry"} {
		err := fs.WalkDir(root, dir, func(file string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
				return err
			}
			files++
			text, err := fs.ReadFile(root, file)
			if err != nil {
				return err
			}
			code := comment.ReplaceAllString(string(text), "")
			if found := namesKind.FindAllString(code, -1); len(found) > 0 && !mayNameKinds(file, code) {
				t.Errorf("%s names kinds of evidence: %v", file, found)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if files < 300 {
		t.Errorf("%d files were read", files)
	}
}
