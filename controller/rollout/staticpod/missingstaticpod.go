// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package staticpod

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// The MissingStaticPodController of library-go: how long kubelet may take to run what an installer has written. That is
// the time in which the process before may end, and some more; on a single node the API is away for a while too.
const (
	defaultGrace     = 30 * time.Second
	missingPatience  = 150 * time.Second
	missingSingleAdd = 30 * time.Second
)

func missingAfter(template *corev1.Pod, nodes int) time.Duration {
	grace := defaultGrace
	if template != nil && template.Spec.TerminationGracePeriodSeconds != nil {
		grace = time.Duration(*template.Spec.TerminationGracePeriodSeconds) * time.Second
	}
	if nodes == 1 {
		return grace + missingPatience + missingSingleAdd
	}
	return grace + missingPatience
}
