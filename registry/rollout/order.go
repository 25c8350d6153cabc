// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"cmp"
	"slices"
	"time"
)

// byNeed orders the nodes that do not have the latest revision: a begun installation first, then a failed one. Then
// come nodes whose static pod is missing, not ready (the longest first) or not what was installed. Then nodes without
// the latest restart hash, and the oldest revision first.
func (a *assessor) byNeed() []*member {
	var out []*member
	for _, m := range a.members {
		if !m.has(a.latest) && !m.Deleted {
			out = append(out, m)
		}
	}
	slices.SortStableFunc(out, func(x, y *member) int {
		return cmp.Or(
			first(a.begun(x), a.begun(y)),
			first(x.failed != nil, y.failed != nil),
			first(x.Pod == nil, y.Pod == nil),
			cmp.Compare(unready(x), unready(y)),
			first(a.astray(x), a.astray(y)),
			first(!x.runs(a.latest), !y.runs(a.latest)),
			cmp.Compare(a.current(x), a.current(y)),
		)
	})
	return out
}

func first(x, y bool) int {
	switch {
	case x == y:
		return 0
	case x:
		return -1
	}
	return 1
}

func (a *assessor) begun(m *member) bool {
	return m.active != nil || m.written != nil || m.restarting()
}

// unready is since when the static pod is not ready, in Unix seconds. Ready ones sort last.
func unready(m *member) int64 {
	if m.Pod == nil || m.Pod.Ready {
		return time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	}
	return m.Pod.Changed.Unix()
}

// astray reports whether the static pod does not run what was installed.
func (a *assessor) astray(m *member) bool {
	return m.Pod != nil && m.installed != nil && !m.runs(m.installed)
}
