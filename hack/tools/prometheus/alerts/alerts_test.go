// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package alerts

import (
	"maps"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/prometheus/prometheus/rules"
)

// TestStories runs the tests beside the rules, and says which alert they leave out.
func TestStories(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(filepath.Dir(rulesFile), "tests", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no tests of alerts: %v", err)
	}
	played := map[string][]outcome{}
	for _, path := range files {
		f, err := read(path)
		if err != nil {
			t.Fatal(err)
		}
		if len(f.RuleFiles) != 1 || filepath.Clean(f.RuleFiles[0]) != filepath.Clean(rulesFile) {
			t.Fatalf("%s is about %v, want %s", path, f.RuleFiles, rulesFile)
		}
		for i := range f.Tests {
			s := &f.Tests[i]
			t.Run(s.Name, func(t *testing.T) {
				outcomes, err := s.play(f.RuleFiles[0], time.Duration(f.EvaluationInterval))
				if err != nil {
					t.Fatal(err)
				}
				if len(outcomes) != len(s.Expectations) {
					t.Errorf("%d of %d expectations were looked at", len(outcomes), len(s.Expectations))
				}
				for _, o := range outcomes {
					played[o.Alert] = append(played[o.Alert], o)
					if diff := cmp.Diff(o.want(), o.got); diff != "" {
						t.Errorf("%s after %s: (-want +got)\n%s", o.Alert, o.At, diff)
					}
				}
			})
		}
	}
	groups, err := load(rulesFile, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, missing := range uncovered(alerting(groups), played) {
		t.Error(missing)
	}
}

// uncovered says which rules are not tested both ways. An alert that waits has to be seen waiting: that it is quiet where nothing is
// wrong shows nothing of where it begins.
func uncovered(all []*rules.AlertingRule, played map[string][]outcome) []string {
	var missing []string
	names := map[string]bool{}
	for _, r := range all {
		names[r.Name()] = true
		of := played[r.Name()]
		if !slices.ContainsFunc(of, func(o outcome) bool { return len(o.Firing) > 0 }) {
			missing = append(missing, r.Name()+" has no test in which it fires")
		}
		if !slices.ContainsFunc(of, func(o outcome) bool { return len(o.Firing) == 0 && (o.pending || r.HoldDuration() == 0) }) {
			missing = append(missing, r.Name()+" has no test in which it is about to fire and does not")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(played)) {
		if !names[name] {
			missing = append(missing, name+" is tested and is no alert of the rules")
		}
	}
	return missing
}
