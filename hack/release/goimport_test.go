// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestGoImport(t *testing.T) {
	of := testRelease(t)
	of.repository = "https://example.com/certrotation.git"
	if err := of.goImport(t.Context()); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(of.dir, goImportFile))
	if err != nil {
		t.Fatal(err)
	}
	if want := `<meta name="go-import" content="certrotation.dev git https://example.com/certrotation.git">`; !strings.Contains(string(page), want) {
		t.Errorf("the page is\n%s", page)
	}
}

const user = `package main

import (
	"fmt"

	"certrotation.dev/controller/reload"
)

func main() {
	_, err := reload.Load(reload.Files{Certificate: "tls.crt", Key: "tls.key", Anchors: "ca-bundle.crt"})
	fmt.Println(err)
}
`

// TestUsedFromOutside does in another module what README.md says about Go packages, without `go mod tidy`, which downloads modules.
func TestUsedFromOutside(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(user), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(name string, args ...string) string {
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOWORK=off", "GOSUMDB=off")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %s: %v: %s", name, strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	run("go", "mod", "init", "example.com/user")
	run("go", "mod", "edit", "-require="+module+"@v0.0.0", "-replace="+module+"="+root)
	run("go", "build", "-mod=mod", "-o", "user", ".")
	if got, want := run("./user"), "load mounted files: read tls.crt: no such file or directory\n"; got != want {
		t.Errorf("the program prints %q, want %q", got, want)
	}
}
