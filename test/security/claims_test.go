// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"slices"
	"strings"
	"testing"
)

// claim is one of docs/security.md.
type claim struct {
	name string
	// border are the edits that take the border away.
	border []edit
	// attack returns what it achieved, "" if nothing.
	attack func(t *testing.T, w *world) string
}

// hold runs the attacks of a claim on a build without its border, where each has to achieve something, and on ours.
func (w *world) hold(t *testing.T, c claim) {
	t.Helper()
	t.Run(c.name, func(t *testing.T) {
		t.Run("without its border", func(t *testing.T) {
			w.use(t, program(t, c.border))
			achieved := c.attack(t, w)
			if achieved == "" {
				t.Fatal("the attack achieved nothing although its border was taken away: it shows nothing")
			}
			t.Logf("without the border: %s", achieved)
		})
		t.Run("with it", func(t *testing.T) {
			w.use(t, w.ours)
			if achieved := c.attack(t, w); achieved != "" {
				t.Errorf("the attack succeeded: %s", achieved)
			}
		})
	})
}

// modelClaim is one whose border is a rule of the model: its attack is a test of a package.
type modelClaim struct {
	name         string
	border       []edit
	test, inside string
}

// holdInModel runs the test of a claim without its border, where it has to fail, and with it.
func holdInModel(t *testing.T, c modelClaim) {
	t.Helper()
	t.Run(c.name, func(t *testing.T) {
		args := []string{"test", "-count=1", "-run", "^" + c.test + "$", "./" + c.inside}
		out, err := command(t, "go", append(slices.Clip(args), "-overlay="+overlay(t, c.border))...)
		if err == nil {
			t.Errorf("%s of %s passes although its border was taken away: it shows nothing\n%s", c.test, c.inside, out)
		} else if !strings.Contains(out, "--- FAIL: "+c.test) {
			t.Errorf("%s of %s did not fail but could not run: %v\n%s", c.test, c.inside, err, out)
		}
		out, err = command(t, "go", append(slices.Clip(args), "-v")...)
		if err != nil || !strings.Contains(out, "--- PASS: "+c.test) {
			t.Errorf("%s of %s: %v\n%s", c.test, c.inside, err, out)
		}
	})
}
