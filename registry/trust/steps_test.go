// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"slices"
	"strings"
	"testing"
)

// steps lists the files of each step of an assessment in order, then the entry points that use the last step.
var steps = []struct {
	name  string
	files []string
}{
	{"input and result", []string{
		"doc.go", "domain.go", "keystores.go", "kinds.go", "party.go", "pods.go", "assessment.go", "problem.go", "metadata.go", "consent.go",
	}},
	{"facts", []string{"facts.go", "chains.go", "names.go", "authorities.go", "clock.go", "requests.go", "renewal.go", "issued.go"}},
	{"roster", []string{"roster.go", "record.go"}},
	{"proofs", []string{"proofs.go", "observation.go", "delivery.go", "anchors.go"}},
	{"decision", []string{"decision.go", "blockers.go", "signing.go", "taking.go", "actions.go", "writes.go", "install.go", "plan.go"}},
	{"entry points", []string{
		"workload.go", "reports.go", "copies.go", "aggregate.go", "judge.go", "judge_leaf.go", "judge_signer.go", "judge_issuers.go", "plan_install.go", "judge_unread.go", "judge_keys.go",
		"judge_bundle.go", "judge_configuration.go", "judge_members.go",
	}},
}

// unknown imports every package as empty: this test needs no declarations of other packages.
type unknown struct{}

func (unknown) Import(path string) (*types.Package, error) {
	p := types.NewPackage(path, path[strings.LastIndex(path, "/")+1:])
	p.MarkComplete()
	return p, nil
}

// TestStepsReferToNoLaterStep: no file refers to a declaration of a later step.
func TestStepsReferToNoLaterStep(t *testing.T) {
	stepOf := map[string]int{}
	for i, step := range steps {
		for _, file := range step.files {
			stepOf[file] = i
		}
	}
	fset := token.NewFileSet()
	var files []*ast.File
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		if _, ok := stepOf[e.Name()]; !ok {
			t.Errorf("%s is of no step", e.Name())
		}
		f, err := parser.ParseFile(fset, e.Name(), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	// References to other packages are type errors. Ignore them.
	config := types.Config{Importer: unknown{}, Error: func(error) {}}
	pkg, _ := config.Check("certrotation.dev/registry/trust", fset, files, info)
	arrows := 0
	for id, object := range info.Uses {
		if object.Pkg() != pkg {
			continue
		}
		from, to := fset.Position(id.Pos()), fset.Position(object.Pos())
		if from.Filename != to.Filename {
			arrows++
		}
		if stepOf[to.Filename] > stepOf[from.Filename] {
			t.Errorf("%s refers to %s, of the later step %q (%s)", from, id.Name, steps[stepOf[to.Filename]].name, to.Filename)
		}
	}
	if !slices.ContainsFunc(files, func(f *ast.File) bool { return fset.Position(f.Pos()).Filename == "decision.go" }) || arrows < 500 {
		t.Errorf("the files were not resolved: %d references between files", arrows)
	}
}
