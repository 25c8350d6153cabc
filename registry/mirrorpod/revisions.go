// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package mirrorpod

import (
	"cmp"
	"slices"

	"certrotation.dev/registry/revision"
)

// revisions are the complete ones of the rollout, ordered by number.
func (f Facts) revisions() []Revision {
	var out []Revision
	for i := range f.Statuses {
		status, ok := revision.ReadStatus(&f.Statuses[i])
		if !ok || !status.Ready || status.Rollout != f.Rollout {
			continue
		}
		out = append(out, Revision{
			Number: status.Number, ContentHash: status.ContentHash, RestartHash: status.RestartHash,
			installed: status.Installed(f.Node) == string(f.NodeUID),
		})
	}
	slices.SortFunc(out, func(x, y Revision) int { return cmp.Compare(x.Number, y.Number) })
	return out
}

// newest returns the newest revision that is under the manifest with the given number and restart hash, nil if none is
// known. The revision of the manifest itself needs no record: the pod is the record. Those that were installed after it
// are under the same manifest until one has another restart hash, which then has a manifest of its own.
func newest(revisions []Revision, hash string, number int) *Revision {
	var found *Revision
	for i := range revisions {
		r := &revisions[i]
		switch {
		case number == 0 || r.Number < number:
		case r.Number == number:
			if r.RestartHash == hash {
				found = r
			}
		case !r.installed:
		case r.RestartHash != hash:
			return found
		default:
			found = r
		}
	}
	return found
}
