// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// counted is what the sample counts.
type counted struct {
	Handshakes int64            `json:"handshakes"`
	Failures   int64            `json:"failures"`
	Writes     int64            `json:"writes"`
	Lost       int64            `json:"lost"`
	Reasons    map[string]int64 `json:"reasons"`
}

func (s *system) counted(ctx context.Context) (counted, error) { return countedAt(ctx, s.StatsURL()) }

func countedAt(ctx context.Context, url string) (counted, error) {
	var c counted
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return c, err
	}
	// The proxy of the default transport does not know the nodes.
	response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
	if err != nil {
		return c, err
	}
	defer response.Body.Close()
	return c, json.NewDecoder(response.Body).Decode(&c)
}

// traffic measures handshakes while a test acts on the system.
type traffic struct {
	s      *system
	begun  time.Time
	before counted
}

func (s *system) measure(t *testing.T) *traffic {
	t.Helper()
	before, err := s.counted(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return &traffic{s: s, begun: time.Now(), before: before}
}

// failedSince returns the failures by reason. Failures of the network are separate, because a busy machine causes
// some.
func (c counted) failedSince(before counted) (failed, network map[string]int64) {
	failed, network = map[string]int64{}, map[string]int64{}
	for reason, n := range c.Reasons {
		into := failed
		if reason == "timeout" || strings.HasPrefix(reason, "network: ") {
			into = network
		}
		if n -= before.Reasons[reason]; n > 0 {
			into[reason] = n
		}
	}
	return failed, network
}

// end fails the test if a handshake has failed, a write is lost, or no handshakes happen any more.
func (m *traffic) end(t *testing.T) {
	t.Helper()
	now, err := m.s.counted(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	until(t, "all programs have reported once more", func(ctx context.Context) error {
		later, err := m.s.counted(ctx)
		if err == nil && later.Handshakes < now.Handshakes+100 {
			err = fmt.Errorf("there were %d handshakes since", later.Handshakes-now.Handshakes)
		}
		if err == nil {
			now = later
		}
		return err
	})
	failed, network := now.failedSince(m.before)
	t.Logf("traffic: %d handshakes in %.0f s, failed: %d, of the network: %v",
		now.Handshakes-m.before.Handshakes, time.Since(m.begun).Seconds(), len(failed), network)
	if now.Writes != m.before.Writes {
		t.Logf("%d writes were acknowledged and looked for since, lost: %d", now.Writes-m.before.Writes, now.Lost-m.before.Lost)
	}
	if now.Lost != m.before.Lost {
		t.Errorf("%d writes are lost", now.Lost-m.before.Lost)
	}
	if len(failed) > 0 {
		t.Errorf("handshakes failed: %v", failed)
	}
}
