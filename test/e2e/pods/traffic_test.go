// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
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
	// Not the default transport: its proxy would not know the nodes.
	response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
	if err != nil {
		return c, err
	}
	defer response.Body.Close()
	return c, json.NewDecoder(response.Body).Decode(&c)
}

// traffic is measured while something is done to the system.
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

// end fails the test if a handshake has failed or a write is lost, or if there were no handshakes any more.
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
	t.Logf("traffic: %d handshakes in %.0f s, failed: %d", now.Handshakes-m.before.Handshakes, time.Since(m.begun).Seconds(), now.Failures-m.before.Failures)
	if now.Writes != m.before.Writes {
		t.Logf("%d writes were acknowledged and looked for since, lost: %d", now.Writes-m.before.Writes, now.Lost-m.before.Lost)
	}
	if now.Lost != m.before.Lost {
		t.Errorf("%d writes are lost", now.Lost-m.before.Lost)
	}
	if now.Failures != m.before.Failures {
		t.Errorf("%d handshakes failed (all failures until now: %v)", now.Failures-m.before.Failures, now.Reasons)
	}
}
