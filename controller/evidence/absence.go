// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"context"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/quorum"
	"certrotation.dev/registry/view/inventory"
)

// Quorum is what the collector asks of controller/quorum.
type Quorum interface {
	Check(ctx context.Context, namespace string, q *configv1alpha1.Quorum, nodes []*inventory.Node) (quorum.Observation, error)
}
