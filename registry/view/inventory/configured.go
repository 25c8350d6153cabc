// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"fmt"

	"certrotation.dev/registry/trust"
)

// Configured is what trust.JudgeConfiguration compares. A namespace without a configuration has nothing.
func (n *Namespace) Configured() *trust.Configured {
	if n == nil {
		return &trust.Configured{}
	}
	out := &trust.Configured{Domains: n.Domains, Aggregates: n.Aggregates}
	for i := range n.Copies {
		c := &n.Copies[i]
		out.Carriers = append(out.Carriers, trust.Carrier{
			Name:    fmt.Sprintf("the copy of %s/%s to %s/%s", c.Kind, c.Name, c.ToNamespace, c.ToName),
			Objects: []string{objectName(trust.ObjectKind(c.Kind), c.Name)},
		})
	}
	for _, r := range n.Rollouts {
		carrier := trust.Carrier{Name: "the rollout " + r.Config.Name}
		for _, name := range r.Domains {
			if d := n.Domain(name); d != nil {
				carrier.Objects = append(carrier.Objects, objectName(trust.ConfigMapKind, d.Bundle.Name))
			}
		}
		out.Carriers = append(out.Carriers, carrier)
	}
	return out
}
