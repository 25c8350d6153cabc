// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package generation

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"k8s.io/apimachinery/pkg/util/sets"

	"certrotation.dev/registry/nodepod"
	"certrotation.dev/test/property"
)

// story is an operation on a node. The test may cut the power during act.
type story struct {
	name string
	// accompanied is true if the node has a second static pod.
	accompanied bool
	// before prepares the node, without a loss of power.
	before func(t *testing.T, m *machine)
	act    func(t *testing.T, m *machine) error
	// from and to are {revision of the manifest, generation of the pointer} before and after act.
	from, to [2]int
}

func stories() []story {
	a, b := authorities[0](), authorities[1]()
	first := content(a, a)
	leaf := content(a, a)
	trust := content(a, a, b)
	install := func(r Request) func(*testing.T, *machine) error {
		return func(t *testing.T, m *machine) error {
			_, err := m.Install(t.Context(), r)
			return err
		}
	}
	installed := func(requests ...Request) func(*testing.T, *machine) {
		return func(t *testing.T, m *machine) {
			for _, r := range requests {
				m.mustInstall(t, r)
			}
		}
	}
	all := []Request{request(1, first), request(2, leaf), request(3, trust), request(4, content(a, a, b)), request(5, content(b, a, b))}
	two := []Request{request(1, together(first)), request(2, together(leaf)), request(3, together(trust))}
	return []story{
		{"first install", false, installed(), install(all[0]), [2]int{0, 0}, [2]int{1, 1}},
		{"leaves only", false, installed(all[0]), install(all[1]), [2]int{1, 1}, [2]int{1, 2}},
		{"trust", false, installed(all[0], all[1]), install(all[2]), [2]int{1, 2}, [2]int{3, 3}},
		{"leaves after trust", false, installed(all[:3]...), install(all[3]), [2]int{3, 3}, [2]int{3, 4}},
		{"the same again", false, installed(all[:3]...), install(all[2]), [2]int{3, 3}, [2]int{3, 3}},
		{"first install of two", true, installed(), install(two[0]), [2]int{0, 0}, [2]int{1, 1}},
		{"leaves of two", true, installed(two[0]), install(two[1]), [2]int{1, 1}, [2]int{1, 2}},
		{"trust of two", true, installed(two[:2]...), install(two[2]), [2]int{1, 2}, [2]int{3, 3}},
		{"prune", false, installed(all...), func(t *testing.T, m *machine) error {
			_, err := m.Prune(t.Context(), sets.New(5), 9)
			return err
		}, [2]int{3, 5}, [2]int{3, 5}},
	}
}

// outcomes are the possible disks after a loss of power: some fixed ones, and one for each of a number of seeds.
func outcomes(first uint64, seeds int) map[string]func(m *machine) *machine {
	out := map[string]func(*machine) *machine{
		"nothing unsynced is left": func(m *machine) *machine {
			return m.restart(func() bool { return false }, func([]byte) []byte { return nil })
		},
		"all names and no data are left": func(m *machine) *machine {
			return m.restart(func() bool { return true }, func([]byte) []byte { return nil })
		},
		"the process was killed": (*machine).clone,
	}
	for n := range seeds {
		out[fmt.Sprintf("random %d of SEED=%d", n, first)] = func(m *machine) *machine {
			random := rand.New(rand.NewPCG(first+uint64(n), 1))
			return m.restart(func() bool { return random.IntN(2) == 0 }, func(data []byte) []byte {
				return data[:random.IntN(len(data)+1)]
			})
		}
	}
	return out
}

// cutAt cuts the power at operation n, counted from here.
func (m *machine) cutAt(n int) {
	m.power.operations = 0
	m.power.fails = func(i int) error {
		if i >= n {
			return errPowerLoss
		}
		return nil
	}
}

// TestPowerLoss cuts the power at each operation of each story. It repeats the story on each possible disk, with
// another cut.
func TestPowerLoss(t *testing.T) { losePower(t, 1) }

// TestExtendedPowerLoss does this with more possible disks.
func TestExtendedPowerLoss(t *testing.T) { losePower(t, 6) }

func losePower(t *testing.T, seeds int) {
	t.Helper()
	for _, s := range stories() {
		t.Run(s.name, func(t *testing.T) {
			base := newMachine()
			if s.accompanied {
				base.layout = accompanied()
			}
			s.before(t, base)
			base = base.clone()
			tried := 0
			for cut := 1; ; cut++ {
				m := base.clone()
				m.cutAt(cut)
				err := s.act(t, m)
				if err == nil {
					t.Logf("%d operations, %d losses of power", cut-1, tried)
					break
				}
				if !errors.Is(err, errPowerLoss) {
					t.Fatalf("cut at operation %d: %v", cut, err)
				}
				for name, after := range outcomes(property.Seed(t), seeds) {
					tried++
					s.check(t, after(m), fmt.Sprintf("cut at operation %d, %s", cut, name), cut)
				}
			}
		})
	}
}

// check wants the old or the new state, also after another cut, and the new state after an undisturbed run.
func (s story) check(t *testing.T, m *machine, when string, cut int) {
	t.Helper()
	s.isWhole(t, m, when)
	m.cutAt(1 + cut/2)
	if err := s.act(t, m); err != nil {
		m = m.restart(func() bool { return cut%2 == 0 }, func([]byte) []byte { return nil })
		s.isWhole(t, m, when+", and again")
	}
	m.power.fails = nil
	if err := s.act(t, m); err != nil {
		t.Fatalf("%s: run again: %v", when, err)
	}
	// What a completed run wrote must last.
	m = m.restart(func() bool { return false }, func([]byte) []byte { return nil })
	for _, pod := range m.layout.Pods() {
		if r, g := m.numbersOf(t, pod); [2]int{r, g} != s.to {
			t.Fatalf("%s: run again: %s is of %d, generation %d, want %v", when, pod.ManifestName(), r, g, s.to)
		}
	}
	if defects := m.defects(t); len(defects) > 0 {
		t.Fatalf("%s: run again: %v", when, defects)
	}
}

func (s story) isWhole(t *testing.T, m *machine, when string) {
	t.Helper()
	for _, pod := range m.layout.Pods() {
		installed, err := pod.ReadInstalled(m.resources, m.manifests)
		if errors.Is(err, nodepod.ErrNotInstalled) && s.from == [2]int{} {
			continue
		}
		if err != nil {
			t.Fatalf("%s: %s: neither old nor new: %v", when, pod.ManifestName(), err)
		}
		got := [2]int{installed.Manifest.Revision, installed.Generation.Number}
		if got != s.from && got != s.to {
			t.Fatalf("%s: %s is of %d, generation %d, want %v or %v", when, pod.ManifestName(), got[0], got[1], s.from, s.to)
		}
		if record := installed.Generation.Record; record.RestartHash != installed.Manifest.RestartHash {
			t.Fatalf("%s: %s: trust of the generation is not that of the manifest", when, pod.ManifestName())
		}
	}
}

// TestFullDisk makes each operation fail once, as on a full disk or a bad sector.
func TestFullDisk(t *testing.T) {
	errFull := errors.New("no space left on device")
	for _, s := range stories() {
		t.Run(s.name, func(t *testing.T) {
			base := newMachine()
			if s.accompanied {
				base.layout = accompanied()
			}
			s.before(t, base)
			for fail := 1; ; fail++ {
				m := base.clone()
				m.power.fails = func(n int) error {
					if n == fail {
						return errFull
					}
					return nil
				}
				err := s.act(t, m)
				if err == nil {
					break
				}
				if !errors.Is(err, errFull) {
					t.Fatalf("operation %d fails: %v", fail, err)
				}
				s.check(t, m, fmt.Sprintf("operation %d fails", fail), fail)
			}
		})
	}
}
