// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"time"

	"k8s.io/utils/clock"

	"certrotation.dev/registry/diagnosis"
)

// Options of a recovery.
type Options struct {
	Layout
	// Peers of this member; nil to take them from the manifest or from etcd's data.
	Peers []diagnosis.Member
	// PeerTimeout bounds one probe.
	PeerTimeout time.Duration
	// Revision names the generation to bring back, as REVISION/NUMBER or NUMBER; "" for the newest that a quorum accepts.
	Revision string
	// Reissue makes everything that has expired anew, also if an older generation would work.
	Reissue bool
	// DataDirectory of etcd; "" to take it from the manifest.
	DataDirectory string
	// SecretFiles are files or directories with the Secrets of the signers. They are used instead of etcd's data.
	SecretFiles []string
	// EtcdPrefix is the kube-apiserver's flag of that name, Namespace where the Secrets are.
	EtcdPrefix, Namespace string
	// ClientSecrets are leaves of clients of etcd that are reissued for OutputDirectory.
	ClientSecrets []string
	// OutputDirectory gets what the rest of the cluster needs after a reissue.
	OutputDirectory string
	Clock           clock.PassiveClock
}
