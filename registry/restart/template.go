// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"certrotation.dev/registry/trust"
)

// Patch returns the JSON merge patch that gives the template a content and changes nothing else. It applies only to
// the version of the workload that was assessed.
func Patch(w *Workload, content map[string]string) ([]byte, error) {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": w.UID, "resourceVersion": w.ResourceVersion},
		"spec":     map[string]any{"template": map[string]any{"metadata": map[string]any{"annotations": content}}},
	})
	if err != nil {
		return nil, fmt.Errorf("make the patch of %s/%s: %w", w.Kind, w.Name, err)
	}
	return patch, nil
}

// ProgressOf returns the progress of an assessed workload for trust.Restarts. w is nil if it does not exist or cannot
// be read.
func ProgressOf(w *Workload, v Verdict) trust.Progress {
	if w == nil {
		return trust.Progress{}
	}
	complete := v.State == Done
	return trust.Progress{Content: w.Annotations, Complete: complete, Rolling: !complete && (w.rolling() || v.Reason == ReasonRolling)}
}

// Repeats reports whether any process already recorded a verdict with the same reason.
func Repeats(recorded *trust.RefusedWrite, v Verdict) bool {
	return strings.HasSuffix(recorded.Answer, reasonText(v))
}

func reasonText(v Verdict) string { return fmt.Sprintf(" (%s)", v.Reason) }

// Refusal returns the record of a verdict that a rotation waits for since a moment.
func Refusal(o *Order, v Verdict, since time.Time) trust.RefusedWrite {
	return trust.RefusedWrite{Object: o.Object(), Verb: trust.VerbRestart, Answer: v.Message + reasonText(v), Since: since}
}
