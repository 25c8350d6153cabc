// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

// WorkloadKind is the kind of a workload that can be restarted.
type WorkloadKind string

// Kinds of workloads.
const (
	Deployment  WorkloadKind = "Deployment"
	StatefulSet WorkloadKind = "StatefulSet"
	DaemonSet   WorkloadKind = "DaemonSet"
)

// Workload names a workload in the namespace of a domain.
type Workload struct {
	Kind WorkloadKind
	Name string
}

// Restart is a workload whose pods have to start anew, because evidence of them cannot come otherwise.
type Restart struct {
	Party    string
	Workload Workload
	// Content are the annotations that the template has to have: the hashes of the contents that the pods have to start with.
	Content map[string]string
	// Waits are the members for whose evidence this is, ordered.
	Waits []string
}
