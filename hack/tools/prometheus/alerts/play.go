// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package alerts

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"
)

// outcome of an expectation.
type outcome struct {
	expectation

	// got are the alerts that fire, as text; pending says that another one is about to.
	got     []string
	pending bool
}

// play a story: load its series bit by bit, evaluate the rules at each interval from the beginning of 1970, and look at the times
// of the expectations.
func (s *story) play(file string, every time.Duration) (outcomes []outcome, err error) {
	loader, err := promqltest.NewLazyLoader(s.load(), promqltest.LazyLoaderOpts{EnableAtModifier: true, EnableNegativeOffset: true, Parser: language})
	if err != nil {
		return nil, fmt.Errorf("load the series of %q: %w", s.Name, err)
	}
	defer func() { err = errors.Join(err, loader.Close()) }()
	groups, err := load(file, rules.EngineQueryFunc(loader.QueryEngine(), loader.Storage()), loader.Storage())
	if err != nil {
		return nil, err
	}
	all := alerting(groups)
	for _, r := range all {
		r.SetRestored(true)
	}
	for at := time.Duration(0); at <= s.last(); at += every {
		now := time.Unix(0, 0).UTC().Add(at)
		var failed error
		loader.WithSamplesTill(now, func(err error) {
			failed = err
			for _, g := range groups {
				g.Eval(loader.Context(), now)
			}
		})
		for _, r := range all {
			failed = errors.Join(failed, r.LastError())
		}
		if failed != nil {
			return nil, fmt.Errorf("evaluate the rules in %q after %s: %w", s.Name, at, failed)
		}
		for _, e := range s.Expectations {
			if expected := time.Duration(e.At); at <= expected && expected < at+every {
				outcomes = append(outcomes, look(all, e))
			}
		}
	}
	return outcomes, nil
}

// look at an alert.
func look(all []*rules.AlertingRule, e expectation) outcome {
	o := outcome{expectation: e}
	for _, r := range all {
		if r.Name() != e.Alert {
			continue
		}
		for _, a := range r.ActiveAlerts() {
			switch a.State {
			case rules.StateFiring:
				o.got = append(o.got, text(a.Labels, a.Annotations))
			case rules.StatePending:
				o.pending = true
			case rules.StateInactive, rules.StateUnknown:
			}
		}
	}
	slices.Sort(o.got)
	return o
}

// want are the alerts that are expected to fire, as text.
func (e *expectation) want() []string {
	var all []string
	for _, f := range e.Firing {
		l := labels.NewBuilder(labels.FromMap(f.Labels)).Set(labels.AlertName, e.Alert).Labels()
		all = append(all, text(l, labels.FromMap(f.Annotations)))
	}
	slices.Sort(all)
	return all
}

func text(l, annotations labels.Labels) string {
	return strings.Join([]string{"labels " + l.String(), "annotations " + annotations.String()}, "\n")
}
