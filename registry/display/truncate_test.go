// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package display

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTo(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		longest    int
		want       string
	}{
		{"short enough", "abcdefgh", 8, "abcdefgh"},
		{"too long", "abcdefghi", 8, "abcd ..."},
		{"between characters", "abcäefghi", 8, "abc ..."},
		{"no room for a character", "ääää", 5, " ..."},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := Shorten(tc.text, tc.longest, more); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestBoundsHold(t *testing.T) {
	long := strings.Repeat("ä", MaxMessage)
	for name, tc := range map[string]struct {
		got     string
		longest int
	}{
		"note": {Note(long), MaxNote}, "action": {Action(long), MaxAction}, "message": {Message(long), MaxMessage},
	} {
		if len(tc.got) > tc.longest || !utf8.ValidString(tc.got) {
			t.Errorf("a %s of %d bytes, want at most %d and whole characters", name, len(tc.got), tc.longest)
		}
	}
}

func TestNames(t *testing.T) {
	if got := Names([]string{"a", "b", "c", "d", "e", "f", "g"}); got != "a, b, c, d, e and 2 more" {
		t.Errorf("Names() = %q", got)
	}
}
