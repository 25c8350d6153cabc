// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"context"
	"sync"
	"time"

	"certrotation.dev/registry/trust"
)

// Bounds of the probes that confirm a first one.
const (
	confirmations     = 16
	confirmingAtOnce  = 4
	leastConfirmation = 5 * time.Second
)

// confirm repeats a probe whose result is better than the recorded one, each time on a new connection. Several
// processes may share one address, and the first probe met only one. The result trusts only what all probes accept
// and lists what any presents. If probes differ, its failure says so.
//
// It stops at the first probe that fails or differs, because later ones could not improve the result.
func (c *Collector) confirm(ctx context.Context, at *place, id *identity, p *trust.Party, first *probeResult) *probeResult {
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

type comparison struct {
	mu    sync.Mutex
	begun int
	// decided is set when probes differ or one fails.
	decided bool
	sum     *probeResult
}

func (l *comparison) next() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.decided || l.begun == confirmations {
		return false
	}
	l.begun++
	return true
}

func (l *comparison) add(found *probeResult, address string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	differ := found.met && (!found.alike(l.sum) || (found.failure == "" && !sameSet(found.trusts, l.sum.trusts)))
	l.decided = l.decided || differ || found.failure != l.sum.failure || !found.met
	l.sum = l.sum.and(found)
	if differ {
		l.sum.failure = differing(address)
	}
}
