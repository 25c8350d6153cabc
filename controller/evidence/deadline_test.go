// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"

	"certrotation.dev/registry/trust"
	"certrotation.dev/test/apifake"
)

// TestSilentServersCostALimitedTime: with any number of silent servers, a Refresh and a visit end and name the
// reason.
func TestSilentServersCostALimitedTime(t *testing.T) {
	ca := newAuthority(t, "ca@1")
	leaf := newLeaf(t, ca, serverDNS, "ServerAuth")
	silence := func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	for _, tc := range []struct {
		name             string
		members, perEach int
		do               func(ctx context.Context, c *Collector, d *trust.Domain) error
		want             string
	}{
		{
			name: "a few members are all observed", members: 16, perEach: 1,
			do: func(ctx context.Context, c *Collector, d *trust.Domain) error { return c.Refresh(ctx, d) },
		},
		{
			name: "a refresh of a thousand", members: 1000, perEach: 1,
			do:   func(ctx context.Context, c *Collector, d *trust.Domain) error { return c.Refresh(ctx, d) },
			want: "refresh the evidence of " + testNamespace + "/web: not over after 2m0s",
		},
		{
			name: "a visit to a member of 500 addresses", members: 1, perEach: 500,
			do: func(ctx context.Context, c *Collector, d *trust.Domain) error {
				_, err := c.safely(ctx, observed(d)[0].target)
				return err
			},
			want: "look at member m-0 of servers: not over after 2m0s",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := domain("192.0.2.1:1", leaf.Certificate, ca)
				party := &d.Parties[0]
				probe := party.Members[0].Probes[0]
				probe.Timeout, party.Members = 5*time.Second, nil
				for i := range tc.members {
					m := trust.Member{Name: fmt.Sprintf("m-%d", i)}
					for j := range tc.perEach {
						probe.Address = fmt.Sprintf("192.0.2.1:%d", 1+i+j)
						m.Probes = append(m.Probes, probe)
					}
					party.Members = append(party.Members, m)
				}
				inv := &fixed{}
				inv.set(d)
				c := collectorWith(t, apifake.New(t, clock.RealClock{}), &Config{Inventory: inv, Dial: silence})
				c.rounds.begin(d, observed(d))
				began := time.Now()
				err := tc.do(t.Context(), c, d)
				if took := time.Since(began); took > refreshDeadline {
					t.Errorf("took %s", took)
				}
				switch {
				case tc.want == "" && err != nil:
					t.Error(err)
				case tc.want != "" && (!errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), tc.want)):
					t.Errorf("error %v, want %q", err, tc.want)
				}
				if err != nil && len(err.Error()) > 2000 {
					t.Errorf("the error has %d characters", len(err.Error()))
				}
			})
		})
	}
}
