// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package certificaterotation

import (
	"certrotation.dev/apis/certrotation"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/projection"
)

// rotationPlan converts a plan of the model into the form of the API.
func rotationPlan(plan *trust.Plan) *certrotation.RotationPlan {
	out := &certrotation.RotationPlan{
		Target:     plan.Target,
		Hash:       plan.Hash,
		WouldBreak: plan.Breaks,
		Blockers:   projection.Blockers(plan.Blockers),
	}
	for i := range plan.Steps {
		step := &plan.Steps[i]
		out.Steps = append(out.Steps, certrotation.PlanStep{
			Stage:    certrotation.Stage(step.Stage),
			Action:   string(step.Action),
			Object:   step.Object,
			WaitsFor: step.WaitsFor,
			Message:  step.Message,
		})
	}
	return out
}
