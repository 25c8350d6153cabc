// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package alerts

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/storage"
)

// rulesFile is that of the rules, from the directory of a package of this module.
const rulesFile = "../../../../manifests/alerts/rules.yaml"

// language is PromQL as Prometheus has it without feature flags.
var language = parser.NewParser(parser.Options{})

// load the groups of a file of rules, which write the series of their alerts to a storage; nil if they are not evaluated as groups.
func load(file string, query rules.QueryFunc, to storage.AppendableV2) ([]*rules.Group, error) {
	m := rules.NewManager(&rules.ManagerOptions{
		QueryFunc: query, AppendableV2: to, Context: context.Background(), Parser: language, Logger: promslog.NewNopLogger(),
		NotifyFunc: func(context.Context, string, ...*rules.Alert) {},
	})
	named, errs := m.LoadGroups(time.Minute, labels.EmptyLabels(), "", nil, false, file)
	if len(errs) > 0 {
		return nil, fmt.Errorf("load the rules of %s: %w", file, errors.Join(errs...))
	}
	groups := make([]*rules.Group, 0, len(named))
	for _, g := range named {
		groups = append(groups, g)
	}
	return groups, nil
}

// alerting are the alerting rules of groups.
func alerting(groups []*rules.Group) []*rules.AlertingRule {
	var all []*rules.AlertingRule
	for _, g := range groups {
		for _, r := range g.Rules() {
			if a, ok := r.(*rules.AlertingRule); ok {
				all = append(all, a)
			}
		}
	}
	return all
}
