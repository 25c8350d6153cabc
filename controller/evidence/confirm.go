// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"context"
	"sync"
	"time"

	"certrotation.dev/registry/trust"
)

// Bounds of the looks by which a look is confirmed.
const (
	confirmations     = 16
	confirmingAtOnce  = 4
	leastConfirmation = 5 * time.Second
)

// confirm looks at a process again and again, on connections of their own, because what first has shown is better than what
// was known. Behind one address there may be several processes, of which the first look has met one. What all looks have
// shown is believed: what is accepted by all, and what is presented to any. Where they differ it is said so.
//
// It ends with the first look that fails or differs: what it would bring further is not believed in any case.
func (c *Collector) confirm(ctx context.Context, at *place, id *identity, p *trust.Party, first *sighting) *sighting {
	looks := &comparison{sum: first}
	var workers sync.WaitGroup
	for range confirmingAtOnce {
		workers.Go(func() {
			at := *at
			at.patience = &patience{left: max(timeoutOf(at.probe), leastConfirmation)}
			for looks.next() {
				looks.add(c.look(ctx, &at, id, p, true), at.probe.Address)
			}
		})
	}
	workers.Wait()
	return looks.sum
}

// comparison puts looks at one address together.
type comparison struct {
	mu    sync.Mutex
	begun int
	// decided says that the looks differ, or that one has failed.
	decided bool
	sum     *sighting
}

// next says whether one more look is to begin.
func (l *comparison) next() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.decided || l.begun == confirmations {
		return false
	}
	l.begun++
	return true
}

func (l *comparison) add(found *sighting, address string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	differ := found.met && (!found.alike(l.sum) || (found.failure == "" && !sameSet(found.trusts, l.sum.trusts)))
	l.decided = l.decided || differ || found.failure != l.sum.failure || !found.met
	l.sum = l.sum.and(found)
	if differ {
		l.sum.failure = differing(address)
	}
}
