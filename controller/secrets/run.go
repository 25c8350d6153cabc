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

// run tracks how complete a reconciliation is.
type run struct {
	running int
	// failed are the names that could not be generated, with the last error.
	failed map[string]error
}

// begin registers that a name is being generated. The returned function takes the result.
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

// incomplete returns why this run may not have asked for everything yet, "" if it may have. The caller must hold mu.
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

// note adds a step to the plan, once per object: a Secret that was made and is asked for again counts as made.
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
