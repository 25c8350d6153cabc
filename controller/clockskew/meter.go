// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package clockskew

import (
	"net/http"
	"sync/atomic"
	"time"

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
