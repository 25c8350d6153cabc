// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/component-base/metrics"

	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// TestManyMembersAreShownAtAPace: with few members, each report makes a version of the signer. With thousands,
// versions are paced, but the last report is always shown.
func TestManyMembersAreShownAtAPace(t *testing.T) {
	for _, tt := range []struct {
		name              string
		members, reports  int
		fewest, mostShown int
	}{
		{name: "few", members: 10, reports: 100, fewest: 100, mostShown: 100},
		{name: "thousands", members: 5000, reports: 100, fewest: 10, mostShown: 12},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			synctest.Test(t, func(t *testing.T) {
				known := &inventory.Namespace{Name: "ns", Domains: []*trust.Domain{w.domain}}
				source := &fakeInventory{known: known}
				certificates := &fakeStore{}
				reported := 0
				p, err := New(Config{
					Inventory: source, Certificates: certificates, Bundles: &fakeStore{}, Register: metrics.NewKubeRegistry().Register,
					Assess: func(*trust.Domain, time.Time) *trust.Assessment {
						out := *w.assessment
						out.Members = make([]trust.MemberAssessment, tt.members)
						for i := range out.Members {
							out.Members[i] = trust.MemberAssessment{Party: "pods", Member: fmt.Sprint("pod-", i)}
						}
						out.Members[0].Message = fmt.Sprint(reported, " have reported")
						return &out
					},
				})
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error, 1)
				go func() { done <- p.Run(ctx) }()
				synctest.Wait()
				certificates.take()
				for range tt.reports {
					<-time.After(100 * time.Millisecond)
					synctest.Wait()
					reported++
					source.set(known)
					synctest.Wait()
				}
				<-time.After(time.Minute)
				synctest.Wait()
				shown := strings.Count(certificates.take(), "ns/signer")
				if shown < tt.fewest || shown > tt.mostShown {
					t.Errorf("%d versions of the signer in 10 s, want %d to %d", shown, tt.fewest, tt.mostShown)
				}
				if last := p.served["ns"].Certificates["signer"].Status.Members[0].Message; last != fmt.Sprint(tt.reports, " have reported") {
					t.Errorf("the last version says %q", last)
				}
				cancel()
				if err := <-done; err != nil {
					t.Error(err)
				}
			})
		})
	}
}
