// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodepod

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"certrotation.dev/test/property"
)

func trial(number int, verdicts ...Verdict) Trial {
	return Trial{Candidate: Candidate{Generation: &Generation{Revision: number, Number: number}}, Verdicts: verdicts}
}

// TestChooseNeedsQuorum: for any verdicts, the newest generation with a majority is chosen. Without one, a
// generation is chosen only if a person named it and no peer answers.
func TestChooseNeedsQuorum(t *testing.T) {
	property.Check(t, func(t *rapid.T) {
		peers := rapid.IntRange(0, 4).Draw(t, "peers")
		var trials []Trial
		reached := false
		for n := rapid.IntRange(1, 4).Draw(t, "generations"); n > 0; n-- {
			var verdicts []Verdict
			for range peers {
				v := Verdict{Reached: rapid.Bool().Draw(t, "reached")}
				v.AcceptsUs, v.Accepted = v.Reached && rapid.Bool().Draw(t, "us"), v.Reached && rapid.Bool().Draw(t, "them")
				reached = reached || v.Reached
				verdicts = append(verdicts, v)
			}
			trials = append(trials, trial(n, verdicts...))
		}
		wanted := rapid.SampledFrom([]string{"", "1", "2/2", "9"}).Draw(t, "wanted")
		chosen, err := Choose(trials, wanted)
		if (chosen == nil) == (err == nil) {
			t.Fatalf("chosen %v, error %v", chosen, err)
		}
		for i := range trials {
			agreeing, _ := trials[i].agreeing()
			enough := 2*(agreeing+1) > peers+1
			if wanted != "" && !trials[i].named(wanted) {
				continue
			}
			switch {
			case enough && chosen != &trials[i]:
				t.Fatalf("%s has a quorum, chosen is %v (%v)", trials[i].ID(), chosen, err)
			case enough:
				return
			case chosen == &trials[i] && (reached || wanted == ""):
				t.Fatalf("%s was chosen without a quorum", trials[i].ID())
			}
		}
	})
}

func TestChoose(t *testing.T) {
	recovered := trial(9, Verdict{})
	recovered.Record = &Record{RecoveredFrom: "7/7"}
	if got, err := Choose([]Trial{recovered, trial(7, Verdict{})}, ""); err != nil || got.ID() != "9/9" {
		t.Errorf("an interrupted recovery: %v, %v", got, err)
	}
	if _, err := Choose(nil, ""); err == nil || !strings.Contains(err.Error(), "--reissue") {
		t.Errorf("nothing to choose from: %v", err)
	}
}
