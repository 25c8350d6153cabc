// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"fmt"
	"testing"
	"time"
)

// replicas returns a domain whose server runs as n acknowledging pods, during a rotation. The first loaded of them
// have loaded what is published.
func replicas(b *testing.B, n, loaded int) *world {
	members := make([]Member, 0, n)
	for i := range n {
		members = append(members, running(fmt.Sprintf("pod-%05d", i), fmt.Sprintf("uid-%05d", i)))
	}
	w := podWorld(b, Acknowledgement, members...)
	if a := w.assess(); a.Stage != Stable {
		b.Fatalf("stage %s with %d blockers", a.Stage, len(a.Blockers))
	}
	w.request("bench")
	w.settle()
	var names []string
	for i := range loaded {
		names = append(names, members[i].Name)
	}
	if loaded > 0 {
		w.loadPods(names...)
	}
	return w
}

const manyPods = 5000

// BenchmarkAssessPods assesses a domain with thousands of pods, of which some have acknowledged.
func BenchmarkAssessPods(b *testing.B) {
	for _, loaded := range []int{0, manyPods / 2, manyPods - 1} {
		b.Run(fmt.Sprintf("pods=%d,loaded=%d", manyPods, loaded), func(b *testing.B) {
			w := replicas(b, manyPods, loaded)
			if a := w.assess(); a.Stage != Distributing || len(a.Blockers) < manyPods-loaded {
				b.Fatalf("stage %s with %d blockers", a.Stage, len(a.Blockers))
			}
			b.ReportAllocs()
			for b.Loop() {
				Assess(&w.d, w.now)
			}
		})
	}
}

// BenchmarkReportOfAPod measures the checks before the report of one of thousands of pods is recorded.
func BenchmarkReportOfAPod(b *testing.B) {
	b.Run(fmt.Sprintf("pods=%d", manyPods), func(b *testing.B) {
		w := replicas(b, manyPods, manyPods/2)
		m := &w.pods().Members[manyPods-1]
		by := &Account{Name: serviceAccountPrefix + w.d.Namespace + ":server", PodName: m.Name, PodUID: m.Instance}
		said := Observation{Instance: m.Instance, Kind: Acknowledgement, StartedAt: w.now.Add(-time.Hour), ObservedAt: w.now}
		b.ReportAllocs()
		for b.Loop() {
			if err := CheckReportingPod(&w.d, "server", m.Name, m.Instance, by); err != nil {
				b.Fatal(err)
			}
			if err := CheckAcknowledgement(&w.d, "server", m.Name, &said, w.now); err != nil {
				b.Fatal(err)
			}
		}
	})
}
