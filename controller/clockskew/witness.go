// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package clockskew

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"
)

// Meter knows how far a clock is ahead of the API server's, as of its latest answer.
type Meter struct {
	clock clock.PassiveClock
	skew  atomic.Int64
}

// NewMeter measures a clock. Until the first answer it is not known to be off.
func NewMeter(c clock.PassiveClock) *Meter { return &Meter{clock: c} }

// Wrap measures at each answer that passes through a transport.
func (m *Meter) Wrap(next http.RoundTripper) http.RoundTripper {
	return transport{meter: m, next: next}
}

// Skew is how far the clock is ahead (behind if negative), to a few seconds. It stays the same while it is about the same:
// what people are told of it must not change with each answer.
func (m *Meter) Skew() time.Duration { return time.Duration(m.skew.Load()) }

// unsteadiness is how far two measurements of the same skew may be apart: the date counts in seconds, and an answer takes
// a while.
const unsteadiness = 3 * time.Second

type transport struct {
	meter *Meter
	next  http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	if at, err := http.ParseTime(response.Header.Get("Date")); err == nil {
		if skew := t.meter.clock.Since(at); (skew - t.meter.Skew()).Abs() > unsteadiness {
			t.meter.skew.Store(int64(skew))
		}
	}
	return response, nil
}

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

	// asking lets one read the Leases while the others wait for what they show.
	asking sync.Mutex
	// mu is held for a moment only.
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

// Latest is what is known without asking anybody: by the API server's latest answer, and by the Leases for a minute after
// they were read.
func (w *Witness) Latest() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.since(agreedFor) {
		return w.meter.Skew()
	}
	return larger(w.meter.Skew(), w.leases)
}

// Ask is the larger one by amount of the skews that the API server and the Leases show.
func (w *Witness) Ask(ctx context.Context) (time.Duration, error) {
	w.asking.Lock()
	defer w.asking.Unlock()
	if !w.fresh() {
		if err := w.askLeases(ctx); err != nil {
			return 0, err
		}
	}
	return w.Latest(), nil
}

// fresh says whether what the Leases have shown still holds: a clock that has jumped since, in whatever direction, has
// left the moments for which it does.
func (w *Witness) fresh() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.leases != 0 {
		return w.since(differedFor)
	}
	return w.since(agreedFor)
}

// since says whether the Leases were read within the last age.
func (w *Witness) since(age time.Duration) bool {
	ago := w.now().Sub(w.asked)
	return ago >= 0 && ago < age
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
	w.mu.Lock()
	defer w.mu.Unlock()
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
