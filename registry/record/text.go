// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// text cuts a text for people to a number of characters, and drops bytes that JSON cannot hold.
func text(s string, most int) string {
	s = strings.ToValidUTF8(s, "")
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most])
}

func textsOf[S ~string](list []S) []string { return canonical(plain(list)) }

// plain converts a list to strings; nil for an empty one.
func plain[S ~string](list []S) []string {
	var out []string
	for _, entry := range list {
		out = append(out, string(entry))
	}
	return out
}

// canonical returns a list as records hold it: sorted, without duplicates, nil if empty.
func canonical[S ~string](list []S) []S {
	if len(list) == 0 {
		return nil
	}
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}

func bounded(list []string) []string { return list[:min(len(list), MaxFingerprints)] }

func microTime(t time.Time) metav1.MicroTime { return metav1.NewMicroTime(microseconds(t)) }

// microseconds returns a time in the precision of the API.
func microseconds(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

func optionalTime(t time.Time) *metav1.MicroTime {
	if t.IsZero() {
		return nil
	}
	out := microTime(t)
	return &out
}
