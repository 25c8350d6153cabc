// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package clockskew

import (
	"context"
	"fmt"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"
)

const (
	// MaxLeaseSkew is how far the clock may be from the nearest Lease. A kubelet renews its Lease every ten seconds.
	MaxLeaseSkew = 10 * time.Minute
	// agreedFor and differedFor are for how long the Leases are not read again once they have agreed, or not.
	agreedFor   = time.Minute
	differedFor = 10 * time.Second
	// drift is how far two measurements of the same skew may be apart: a kubelet renews its Lease now and then.
	drift = time.Minute
)

// Witness knows how far a clock is off, by the API server's date and by the Leases of the kubelets.
type Witness struct {
	client kubernetes.Interface
	clock  clock.PassiveClock
	meter  *Meter

	mu sync.Mutex
	// asked is when the Leases were last read, by the clock that is doubted, and leases what they have shown: zero if they
	// agree.
	asked  time.Time
	leases time.Duration
}

// NewWitness asks by a client whose answers the meter measures.
func NewWitness(client kubernetes.Interface, c clock.PassiveClock, meter *Meter) *Witness {
	return &Witness{client: client, clock: c, meter: meter}
}

// Latest is the skew of the API server's latest answer. Nobody is asked for it.
func (w *Witness) Latest() time.Duration { return w.meter.Skew() }

// Ask is the larger one by amount of the skews that the API server and the Leases show.
func (w *Witness) Ask(ctx context.Context) (time.Duration, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.fresh() {
		if err := w.askLeases(ctx); err != nil {
			return 0, err
		}
	}
	return larger(w.meter.Skew(), w.leases), nil
}

// fresh says whether what the Leases have shown still holds: a clock that has jumped since, in whatever direction, has
// left the moments for which it does.
func (w *Witness) fresh() bool {
	age, holds := w.now().Sub(w.asked), agreedFor
	if w.leases != 0 {
		holds = differedFor
	}
	return age >= 0 && age < holds
}

// now is without the monotonic reading, which does not jump with the clock.
func (w *Witness) now() time.Time { return w.clock.Now().Round(0) }

// askLeases finds out how far the clock is from the nearest Lease. One that is close enough agrees, and so do none.
func (w *Witness) askLeases(ctx context.Context) error {
	// What the API server has in its cache will do.
	list, err := w.client.CoordinationV1().Leases(corev1.NamespaceNodeLease).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return fmt.Errorf("list the Leases of the kubelets in namespace %s: %w", corev1.NamespaceNodeLease, err)
	}
	w.asked = w.now()
	skew := nearest(list.Items, w.asked)
	switch {
	case skew.Abs() <= MaxLeaseSkew:
		w.leases = 0
	case w.leases == 0 || (skew-w.leases).Abs() > drift:
		w.leases = skew
	}
	return nil
}

// nearest is how far now is ahead of the nearest time at which a Lease was renewed, zero if none ever was.
func nearest(leases []coordinationv1.Lease, now time.Time) time.Duration {
	var skew time.Duration
	known := false
	for i := range leases {
		renewed := leases[i].Spec.RenewTime
		if renewed == nil {
			continue
		}
		if ahead := now.Sub(renewed.Time); !known || ahead.Abs() < skew.Abs() {
			skew, known = ahead, true
		}
	}
	return skew
}

func larger(a, b time.Duration) time.Duration {
	if b.Abs() > a.Abs() {
		return b
	}
	return a
}
