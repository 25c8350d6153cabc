// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package mirrorpod

import (
	"cmp"
	"slices"

	"certrotation.dev/registry/revision"
)

// revisions returns the complete revisions of the rollout, ordered by number.
func (f Facts) revisions() []Revision {
	var out []Revision
	for i := range f.Statuses {
		status := &f.Statuses[i]
		number, ok := revision.ParseStatusName(status.Name)
		if !ok || status.Annotations[revision.AnnotationReady] != "true" || status.Labels[revision.LabelRollout] != f.Rollout {
			continue
		}
		out = append(out, Revision{
			Number:      number,
			ContentHash: status.Data[revision.StatusKeyContentHash],
			RestartHash: status.Data[revision.StatusKeyRestartHash],
			installed:   status.Annotations[revision.InstalledAnnotation(f.Node)] == string(f.NodeUID),
		})
	}
	slices.SortFunc(out, func(x, y Revision) int { return cmp.Compare(x.Number, y.Number) })
	return out
}

// newest returns the newest revision that was installed under the manifest with the given number and restart hash, nil
// if none is known. The revision of the manifest itself needs no record, because the pod shows it. Later revisions
// belong to the same manifest until one has another restart hash, which has a manifest of its own.
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
