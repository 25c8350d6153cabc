// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"context"
	"fmt"
	"strconv"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
)

// LeaseEpochs takes epochs from the revisions of the cluster's etcd: each epoch is the resource version of a write to
// a Lease. Such revisions are unique in a cluster and grow with every write, as EpochSource requires. An etcd
// restored from a backup without a revision bump breaks this, as it breaks every informer.
//
// Each replica uses its own Lease; nothing else should write to it often.
type LeaseEpochs struct {
	leases   coordinationv1client.LeaseInterface
	name     string
	identity string
	owners   []metav1.OwnerReference
	clock    clock.PassiveClock
}

var _ EpochSource = (*LeaseEpochs)(nil)

// NewLeaseEpochs returns a source that writes to the named Lease, and creates it if it does not exist. The identity
// becomes its holder. Owners, such as the replica's own Pod, let the garbage collector delete the Lease with the
// replica. Without owners the Lease stays.
func NewLeaseEpochs(leases coordinationv1client.LeaseInterface, name, identity string, clk clock.PassiveClock, owners ...metav1.OwnerReference) *LeaseEpochs {
	return &LeaseEpochs{leases: leases, name: name, identity: identity, owners: owners, clock: clk}
}

// NextEpoch writes to the Lease and returns the revision of that write.
func (l *LeaseEpochs) NextEpoch(ctx context.Context) (uint64, error) {
	var written *coordinationv1.Lease
	err := retry.OnError(retry.DefaultRetry, isRace, func() (err error) {
		written, err = l.write(ctx)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("write lease %q: %w", l.name, err)
	}
	epoch, err := strconv.ParseUint(written.ResourceVersion, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("resource version of lease %q: %w", l.name, err)
	}
	if err := checkEpoch(epoch, 0); err != nil {
		return 0, fmt.Errorf("resource version of lease %q: %w", l.name, err)
	}
	return epoch, nil
}

// isRace reports whether another write came between reading and writing the Lease.
func isRace(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err)
}

func (l *LeaseEpochs) write(ctx context.Context) (*coordinationv1.Lease, error) {
	lease, err := l.leases.Get(ctx, l.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		lease = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: l.name}}
		l.stamp(lease)
		return l.leases.Create(ctx, lease, metav1.CreateOptions{})
	}
	if err != nil {
		return nil, err
	}
	lease = lease.DeepCopy()
	l.stamp(lease)
	return l.leases.Update(ctx, lease, metav1.UpdateOptions{})
}

// stamp changes the Lease. The counter makes every update a change, even within one tick of the clock: the API server
// does not write an unchanged update and would return an old revision.
func (l *LeaseEpochs) stamp(lease *coordinationv1.Lease) {
	lease.OwnerReferences = l.owners
	lease.Spec.HolderIdentity = new(l.identity)
	lease.Spec.RenewTime = new(metav1.NewMicroTime(l.clock.Now()))
	lease.Spec.LeaseTransitions = new(ptr.Deref(lease.Spec.LeaseTransitions, 0) + 1)
}
