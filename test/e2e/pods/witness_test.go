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

	"certrotation.dev/apis/certrotation/v1alpha1"
)

// witness records the members of each relying party over time.
type witness struct {
	domains []*system
	stop    context.CancelFunc
	done    sync.WaitGroup

	mu       sync.Mutex
	members  map[string]map[string]bool // By party.
	evidence map[string]map[string]bool
	restarts map[string]map[string]int // By party and pod.
}

// party returns a name of the relying party that is unique among all trust domains.
func (s *system) party(name string) string {
	if s.namespace == namespace {
		return name
	}
	return name + " of " + s.namespace + "/" + s.signer
}

func watch(t *testing.T, domains ...*system) *witness {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	w := &witness{
		domains: domains, stop: stop,
		members: map[string]map[string]bool{}, evidence: map[string]map[string]bool{}, restarts: map[string]map[string]int{},
	}
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

// look ignores failed requests, because the next look follows soon.
func (w *witness) look(ctx context.Context) {
	for _, s := range w.domains {
		row, err := s.row(ctx)
		if err != nil {
			return
		}
		pods, err := s.Client.CoreV1().Pods(s.namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return
		}
		restarts := map[string]int{}
		for i := range pods.Items {
			for _, c := range pods.Items[i].Status.ContainerStatuses {
				restarts[pods.Items[i].Name] = max(restarts[pods.Items[i].Name], int(c.RestartCount))
			}
		}
		w.see(s, row, restarts)
	}
}

// see records the members of the parties, and the container restarts of their pods.
func (w *witness) see(s *system, row *v1alpha1.CertificateRotation, restarts map[string]int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range row.Status.Members {
		party := s.party(m.Party)
		if w.members[party] == nil {
			w.members[party], w.evidence[party], w.restarts[party] = map[string]bool{}, map[string]bool{}, map[string]int{}
		}
		w.members[party][m.Member] = true
		w.evidence[party][m.Evidence] = true
		w.restarts[party][m.Member] = max(w.restarts[party][m.Member], restarts[m.Member])
	}
}

// end logs, by party, the members seen, the restarts of their containers and the evidence used. It returns the
// number of all members.
func (w *witness) end(t *testing.T) (members int) {
	t.Helper()
	w.stop()
	w.done.Wait()
	// Look once more, so that the present members are seen.
	w.look(t.Context())
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
