// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"os"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"certrotation.dev/registry/view"
)

// replica says who this process is among its peers.
type replica struct {
	namespace, identity string
	owners              []metav1.OwnerReference
}

func (o *Options) replica() replica {
	r := replica{namespace: o.SystemNamespace, identity: o.Identity}
	if name := os.Getenv(envPodName); name != "" && o.PodUID != "" {
		// The Lease is of no use after its Pod: the garbage collector takes it.
		r.owners = []metav1.OwnerReference{{
			APIVersion: corev1.SchemeGroupVersion.String(), Kind: "Pod", Name: name, UID: types.UID(o.PodUID),
		}}
	}
	return r
}

// leaseName of the replica with that identity.
func leaseName(identity string) string { return "certrotation-serve-" + identity }

// epochs come from writes of this replica's own Lease.
func (r replica) epochs(client kubernetes.Interface, clk clock.PassiveClock) *view.LeaseEpochs {
	leases := client.CoordinationV1().Leases(r.namespace)
	return view.NewLeaseEpochs(leases, leaseName(r.identity), r.identity, clk, r.owners...)
}
