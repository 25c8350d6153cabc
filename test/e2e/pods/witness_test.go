// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// witness sees who is a member of each relying party, over time.
type witness struct {
	s    *system
	stop context.CancelFunc
	done sync.WaitGroup

	mu       sync.Mutex
	members  map[string]map[string]bool // by party
	evidence map[string]map[string]bool
	restarts map[string]map[string]int // by party and pod
}

func (s *system) witness(t *testing.T) *witness {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	w := &witness{s: s, stop: stop, members: map[string]map[string]bool{}, evidence: map[string]map[string]bool{}, restarts: map[string]map[string]int{}}
	w.done.Go(func() {
		tick := time.NewTicker(300 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			w.look(ctx)
			select {
			case <-ctx.Done():
			case <-tick.C:
			}
		}
	})
	return w
}

// look passes over an answer that fails: the next one is soon.
func (w *witness) look(ctx context.Context) {
	row, err := w.s.row(ctx)
	if err != nil {
		return
	}
	pods, err := w.s.Client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range row.Status.Members {
		if w.members[m.Party] == nil {
			w.members[m.Party], w.evidence[m.Party], w.restarts[m.Party] = map[string]bool{}, map[string]bool{}, map[string]int{}
		}
		w.members[m.Party][m.Member] = true
		w.evidence[m.Party][m.Evidence] = true
	}
	for i := range pods.Items {
		party := w.restarts[pods.Items[i].Labels["app"]]
		for _, c := range pods.Items[i].Status.ContainerStatuses {
			if party != nil {
				party[pods.Items[i].Name] = max(party[pods.Items[i].Name], int(c.RestartCount))
			}
		}
	}
}

// end prints, per party, the members seen, the restarts of their containers and the evidence used, and returns the number of
// all members.
func (w *witness) end(t *testing.T) (members int) {
	t.Helper()
	w.stop()
	w.done.Wait()
	for _, party := range slices.Sorted(maps.Keys(w.members)) {
		members += len(w.members[party])
		restarts := 0
		for _, n := range w.restarts[party] {
			restarts += n
		}
		t.Logf("party %s: %d members seen, %d restarts of containers, evidence %s", party, len(w.members[party]), restarts,
			strings.Join(slices.Sorted(maps.Keys(w.evidence[party])), ", "))
	}
	return members
}
