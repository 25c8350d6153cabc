// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"

	"certrotation.dev/test/apifake"
)

// leaseServer returns an API server that has already made the given number of writes.
func leaseServer(t *testing.T, before int) (*apifake.Server, *LeaseEpochs) {
	t.Helper()
	clk := testingclock.NewFakePassiveClock(time.Unix(1_700_000_000, 0))
	api := apifake.New(t, clk)
	api.Begin(before)
	return api, NewLeaseEpochs(api.Client.CoordinationV1().Leases("system"), "view", "replica-0", clk,
		metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: "replica-0", UID: "u"})
}

func TestLeaseEpochsGrowWithTheRevision(t *testing.T) {
	api, source := leaseServer(t, 41)
	for _, want := range []uint64{42, 43, 44} {
		got, err := source.NextEpoch(t.Context())
		if err != nil || got != want {
			t.Fatalf("NextEpoch = %d, %v; want %d", got, err, want)
		}
	}
	stored, ok := apifake.Get(api, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "view"}})
	if !ok {
		t.Fatal("there is no Lease")
	}
	if holder := *stored.Spec.HolderIdentity; holder != "replica-0" || len(stored.OwnerReferences) != 1 {
		t.Errorf("lease is held by %q with %d owners", holder, len(stored.OwnerReferences))
	}
}

func TestLeaseEpochsErrors(t *testing.T) {
	tests := []struct {
		name       string
		revision   int
		failures   []apifake.Fault
		wantWrites int
		wantErr    bool
	}{
		{"conflict is retried", 10, []apifake.Fault{apifake.Conflict}, 2, false},
		{"lost race to create is retried", 10, []apifake.Fault{apifake.AlreadyExists}, 2, false},
		{"forbidden is not", 10, []apifake.Fault{apifake.Forbidden}, 1, true},
		{"revision of more than 39 bits", epochLimit - 1, nil, 1, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			api, source := leaseServer(t, tt.revision)
			api.Fault = func(r *apifake.Request) apifake.Fault {
				if r.Number > len(tt.failures) {
					return apifake.NoFault
				}
				return tt.failures[r.Number-1]
			}
			_, err := source.NextEpoch(t.Context())
			if (err != nil) != tt.wantErr || api.Writes() != tt.wantWrites {
				t.Errorf("error %v after %d writes; want error: %v, writes: %d", err, api.Writes(), tt.wantErr, tt.wantWrites)
			}
		})
	}
}
