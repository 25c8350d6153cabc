// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// absence is one attempt to connect that reached no process.
type absence struct {
	at  time.Time
	err error
}

// isAway reports whether the error only means that no process answered.
func isAway(err error) bool {
	return isDown(err) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || isTimeout(err)
}

// isDown reports whether the error means that nothing listens.
func isDown(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.EHOSTUNREACH) || errors.Is(err, syscall.ENETUNREACH)
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) || (errors.As(err, &timeout) && timeout.Timeout())
}

// logAway prints for each member the periods without an answer. A second without a failed attempt ends a period.
func logAway(t *testing.T, outcomes map[string]*outcome, targets []target) {
	t.Helper()
	away := map[string][]time.Time{}
	for _, tt := range targets {
		for _, absent := range outcomes[tt.name].away {
			if !isTimeout(absent.err) {
				away[tt.member] = append(away[tt.member], absent.at)
			}
		}
	}
	for _, member := range slices.Sorted(maps.Keys(away)) {
		times := away[member]
		slices.SortFunc(times, time.Time.Compare)
		var spans []string
		for begin := 0; begin < len(times); {
			end := begin
			for end+1 < len(times) && times[end+1].Sub(times[end]) < time.Second {
				end++
			}
			spans = append(spans, fmt.Sprintf("%s for %.1f s", times[begin].Format(time.TimeOnly), times[end].Sub(times[begin]).Seconds()))
			begin = end + 1
		}
		t.Logf("away: %s at %s", cmp.Or(member, "API server"), strings.Join(spans, ", "))
	}
}

// checkOneAway fails the test if two members had no listener within the same half second.
func checkOneAway(t *testing.T, outcomes map[string]*outcome, targets []target, disturbed []string) {
	t.Helper()
	bins := map[int64]map[string]error{}
	for _, tt := range targets {
		if tt.member == "" || slices.Contains(disturbed, tt.member) || slices.Contains(disturbed, tt.from) {
			continue
		}
		if o := outcomes[tt.name]; len(o.away) > o.attempts/2 {
			t.Errorf("%s was away in %d of %d attempts, last %v", tt.name, len(o.away), o.attempts, o.away[len(o.away)-1])
		}
		for _, absent := range outcomes[tt.name].away {
			if !isDown(absent.err) {
				continue // It accepted the connection, so it runs. A busy machine may still time out the handshake.
			}
			bin := absent.at.UnixMilli() / 500
			if bins[bin] == nil {
				bins[bin] = map[string]error{}
			}
			bins[bin][tt.member] = fmt.Errorf("%s: %w", tt.name, absent.err)
		}
	}
	for bin, members := range bins {
		if len(members) > 1 {
			t.Errorf("at %s several members were away at once: %v", time.UnixMilli(bin*500).Format(time.TimeOnly), members)
			return
		}
	}
}
