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
	// remembered is for how long the Leases are not read again once they have agreed.
	remembered = time.Minute
)

// Witness knows how far a clock is off, by the API server's date and by the Leases of the kubelets.
type Witness struct {
	client kubernetes.Interface
	clock  clock.PassiveClock
	meter  *Meter

	mu sync.Mutex
	// agreed is when the Leases last agreed with the clock, by that clock.
	agreed time.Time
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
	leases := time.Duration(0)
	if !w.fresh() {
		var err error
		if leases, err = w.askLeases(ctx); err != nil {
			return 0, err
		}
	}
	return larger(w.meter.Skew(), leases), nil
}

// fresh says whether the Leases have agreed within the last minute of the clock that is doubted: one that has jumped
// since, in whatever direction, has left that minute.
func (w *Witness) fresh() bool {
	age := w.now().Sub(w.agreed)
	return age >= 0 && age < remembered
}

// now is without the monotonic reading, which does not jump with the clock.
func (w *Witness) now() time.Time { return w.clock.Now().Round(0) }

// askLeases is how far the clock is from the nearest Lease, zero if that is close enough or there is none.
func (w *Witness) askLeases(ctx context.Context) (time.Duration, error) {
	// What the API server has in its cache will do.
	list, err := w.client.CoordinationV1().Leases(corev1.NamespaceNodeLease).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return 0, fmt.Errorf("list the Leases of the kubelets in namespace %s: %w", corev1.NamespaceNodeLease, err)
	}
	now := w.now()
	skew, ok := nearest(list.Items, now)
	if ok && skew.Abs() > MaxLeaseSkew {
		return skew, nil
	}
	w.agreed = now
	return 0, nil
}

// nearest is how far now is ahead of the nearest time at which a Lease was renewed; ok is false if none ever was.
func nearest(leases []coordinationv1.Lease, now time.Time) (skew time.Duration, ok bool) {
	for i := range leases {
		renewed := leases[i].Spec.RenewTime
		if renewed == nil {
			continue
		}
		if ahead := now.Sub(renewed.Time); !ok || ahead.Abs() < skew.Abs() {
			skew, ok = ahead, true
		}
	}
	return skew, ok
}

func larger(a, b time.Duration) time.Duration {
	if b.Abs() > a.Abs() {
		return b
	}
	return a
}
