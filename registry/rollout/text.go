// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"regexp"
	"unicode/utf8"
)

// maxMessage bounds each text in bytes, so that a Status stays small whatever a program on a node reports.
const maxMessage = 1024

// ephemeral matches the local end of a connection in an error of package net, which is different each time.
var ephemeral = regexp.MustCompile(`[0-9A-Fa-f.:\[\]]+:[0-9]+->`)

// stable removes what differs between two texts about the same error, so that waiting does not cause a write each time.
func stable(text string) string {
	return cut(ephemeral.ReplaceAllString(text, ""))
}

// cut shortens a text between characters and makes it valid.
func cut(text string) string {
	if !utf8.ValidString(text) {
		text = string([]rune(text))
	}
	if len(text) <= maxMessage {
		return text
	}
	const more = " ..."
	end := maxMessage - len(more)
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + more
}
