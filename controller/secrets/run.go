// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"certrotation.dev/registry/edition"
)

// run is what is known of how complete a reconciliation was.
type run struct {
	running int
	// failed are the names that could not be generated, with the error of the last attempt.
	failed map[string]error
}

// begin to generate a name; what it returns is told how that ended.
func (i *Instance) begin(name string) func(error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.run.running++
	return func(err error) {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.run.running--
		if err != nil {
			i.run.failed[name] = err
		} else {
			delete(i.run.failed, name)
		}
	}
}

// incomplete says why what was asked for may not be everything, "" if it may. Whoever holds the lock asks.
func (i *Instance) incomplete() string {
	switch {
	case i.run.running > 0:
		return fmt.Sprintf("%d secrets are being generated", i.run.running)
	case len(i.run.failed) > 0:
		return "could not generate " + strings.Join(slices.Sorted(maps.Keys(i.run.failed)), ", ")
	case !slices.ContainsFunc(slices.Collect(maps.Values(i.entries)), func(of *entry) bool { return !of.loaded }):
		return "nothing was generated"
	}
	return ""
}

// note what was done, once for an object: what was made and is asked for again was made.
func (i *Instance) note(step *edition.Step) {
	i.mu.Lock()
	again := slices.ContainsFunc(i.plan, func(s edition.Step) bool { return s.Object == step.Object })
	if !again || step.Action != edition.Keep {
		i.plan = append(i.plan, *step)
	}
	i.mu.Unlock()
	if !again || step.Action != edition.Keep {
		i.announce(step)
	}
}
