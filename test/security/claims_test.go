// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// claim is a claim of docs/security.md.
type claim struct {
	name string
	// attack returns what it achieved, "" if nothing.
	attack func(t *testing.T, w *world) string
}

// fails runs the attack, which must achieve nothing.
func (c claim) fails(t *testing.T, w *world) {
	t.Helper()
	t.Run(c.name, func(t *testing.T) {
		if achieved := c.attack(t, w); achieved != "" {
			t.Errorf("the attack succeeded: %s", achieved)
		}
	})
}

// succeeds runs the attack without the border of the claim. It must achieve something.
func (c claim) succeeds(t *testing.T, w *world) {
	t.Helper()
	t.Run(c.name, func(t *testing.T) {
		achieved := c.attack(t, w)
		if achieved == "" {
			t.Fatal("the attack achieved nothing although its border was taken away: it shows nothing")
		}
		t.Logf("without the border: %s", achieved)
	})
}

// border is what claims depend on.
type border struct {
	// without are the edits that remove it.
	without []edit
	claims  []claim
}

// modelBorder is a rule of the model, or of what one process does. Its attack is a test of a package. In that
// package the test shows that the border holds.
type modelBorder struct {
	name         string
	without      []edit
	test, inside string
}

// breaks runs the test of a border without the border. It must fail.
func (b *modelBorder) breaks(t *testing.T) {
	t.Helper()
	t.Run(b.name, func(t *testing.T) {
		out, err := command(t, "go", "test", "-count=1", "-vet=off", "-overlay="+overlay(t, b.without), "-run", "^"+b.test+"$", "./"+b.inside)
		if err == nil {
			t.Errorf("%s of %s passes although its border was taken away: it shows nothing\n%s", b.test, b.inside, out)
		} else if !strings.Contains(out, "--- FAIL: "+b.test) {
			t.Errorf("%s of %s did not fail but could not run: %v\n%s", b.test, b.inside, err, out)
		}
	})
}

// exists checks that the test of a border exists.
func (b *modelBorder) exists(t *testing.T) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(repository(t), filepath.FromSlash(b.inside), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "\nfunc "+b.test+"(t *testing.T) {") {
			return
		}
	}
	t.Errorf("%s has no test %s, which shows that the border %q holds", b.inside, b.test, b.name)
}
