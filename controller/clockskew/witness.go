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

// NewMeter measures a clock. Until the first answer the skew is zero.
func NewMeter(c clock.PassiveClock) *Meter { return &Meter{clock: c} }

// Wrap measures the skew at each answer that passes through a transport.
func (m *Meter) Wrap(next http.RoundTripper) http.RoundTripper {
	return transport{meter: m, next: next}
}

// Skew is how far the clock is ahead (behind if negative), accurate to a few seconds. It ignores small variations:
// the text that people read must not change with each answer.
func (m *Meter) Skew() time.Duration { return time.Duration(m.skew.Load()) }

// unsteadiness is the tolerance between two measurements of the same skew: the date has a resolution of a second, and
// an answer takes time.
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
	// MaxLeaseSkew is the tolerated difference to the nearest Lease. A kubelet renews its Lease every ten seconds.
	MaxLeaseSkew = 10 * time.Minute
	// agreedFor and differedFor are how long a list of Leases stays valid if it agrees with the clock, or differs.
	agreedFor   = time.Minute
	differedFor = 10 * time.Second
	// drift is the tolerance between two measurements of the same skew: a kubelet renews its Lease only periodically.
	drift = time.Minute
)

// Witness knows how far a clock is off, by the API server's date and by the Leases of the kubelets.
type Witness struct {
	client kubernetes.Interface
	clock  clock.PassiveClock
	meter  *Meter

	// asking lets one caller read the Leases while the others wait for the result.
	asking sync.Mutex
	// mu is held only briefly, never during a request.
	mu sync.Mutex
	// asked is when the Leases were last read, by the clock under test. leases is the skew that they showed, zero if
	// they agreed.
	asked  time.Time
	leases time.Duration
}

// NewWitness uses a client whose answers the meter measures.
func NewWitness(client kubernetes.Interface, c clock.PassiveClock, meter *Meter) *Witness {
	return &Witness{client: client, clock: c, meter: meter}
}

// Latest is the skew that is known without a request: from the API server's latest answer, and for a minute from the
// Leases.
func (w *Witness) Latest() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.since(agreedFor) {
		return w.meter.Skew()
	}
	return larger(w.meter.Skew(), w.leases)
}

// Ask returns the larger, by absolute value, of the skews that the API server and the Leases show.
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

// fresh reports whether the last list of Leases still holds. A jump of the clock in either direction leaves that
// period.
func (w *Witness) fresh() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.leases != 0 {
		return w.since(differedFor)
	}
	return w.since(agreedFor)
}

// since reports whether the Leases were read within the last age.
func (w *Witness) since(age time.Duration) bool {
	ago := w.now().Sub(w.asked)
	return ago >= 0 && ago < age
}

// now has no monotonic reading, because that does not jump with the clock.
func (w *Witness) now() time.Time { return w.clock.Now().Round(0) }

// askLeases measures the skew to the nearest Lease. If it is small enough, or there are no Leases, the Leases agree.
func (w *Witness) askLeases(ctx context.Context) error {
	// The cache of the API server is good enough.
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

// nearest is how far now is ahead of the nearest renewal of a Lease, zero if none was renewed.
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
