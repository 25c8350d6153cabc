// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	testingclock "k8s.io/utils/clock/testing"
)

// leaseServer answers like kube-apiserver: each write gets the next revision, and one that
// changes nothing gets the old one.
type leaseServer struct {
	revision uint64
	stored   *coordinationv1.Lease
	// failures are returned, in order, instead of an answer to a write.
	failures []error
	writes   int
}

func (l *leaseServer) source(t *testing.T) *LeaseEpochs {
	t.Helper()
	client := fake.NewClientset()
	client.PrependReactor("get", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
		if l.stored == nil {
			return true, nil, apierrors.NewNotFound(schema.GroupResource{Resource: "leases"}, "view")
		}
		return true, l.stored.DeepCopy(), nil
	})
	write := func(object runtime.Object) (bool, runtime.Object, error) {
		l.writes++
		if len(l.failures) > 0 {
			failure := l.failures[0]
			l.failures = l.failures[1:]
			return true, nil, failure
		}
		lease := object.(*coordinationv1.Lease).DeepCopy()
		if l.stored == nil || fmt.Sprint(l.stored.Spec) != fmt.Sprint(lease.Spec) {
			l.revision++
		}
		lease.ResourceVersion = strconv.FormatUint(l.revision, 10)
		l.stored = lease
		return true, lease.DeepCopy(), nil
	}
	client.PrependReactor("create", "leases", func(a clienttesting.Action) (bool, runtime.Object, error) {
		return write(a.(clienttesting.CreateAction).GetObject())
	})
	client.PrependReactor("update", "leases", func(a clienttesting.Action) (bool, runtime.Object, error) {
		return write(a.(clienttesting.UpdateAction).GetObject())
	})
	clk := testingclock.NewFakePassiveClock(time.Unix(1_700_000_000, 0))
	return NewLeaseEpochs(client.CoordinationV1().Leases("system"), "view", "replica-0", clk,
		metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: "replica-0", UID: "u"})
}

func TestLeaseEpochsGrowWithTheRevision(t *testing.T) {
	server := &leaseServer{revision: 41}
	source := server.source(t)
	for _, want := range []uint64{42, 43, 44} {
		got, err := source.NextEpoch(t.Context())
		if err != nil || got != want {
			t.Fatalf("NextEpoch = %d, %v; want %d", got, err, want)
		}
	}
	if holder := *server.stored.Spec.HolderIdentity; holder != "replica-0" || len(server.stored.OwnerReferences) != 1 {
		t.Errorf("lease is held by %q with %d owners", holder, len(server.stored.OwnerReferences))
	}
}

func TestLeaseEpochsErrors(t *testing.T) {
	leases := schema.GroupResource{Resource: "leases"}
	tests := []struct {
		name       string
		revision   uint64
		failures   []error
		wantWrites int
		wantErr    bool
	}{
		{"conflict is retried", 10, []error{apierrors.NewConflict(leases, "view", errors.New("stale"))}, 2, false},
		{"lost race to create is retried", 10, []error{apierrors.NewAlreadyExists(leases, "view")}, 2, false},
		{"forbidden is not", 10, []error{apierrors.NewForbidden(leases, "view", errors.New("no"))}, 1, true},
		{"revision of more than 39 bits", epochLimit - 1, nil, 1, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server := &leaseServer{revision: tt.revision, failures: tt.failures}
			_, err := server.source(t).NextEpoch(t.Context())
			if (err != nil) != tt.wantErr || server.writes != tt.wantWrites {
				t.Errorf("error %v after %d writes; want error: %v, writes: %d", err, server.writes, tt.wantErr, tt.wantWrites)
			}
		})
	}
}
