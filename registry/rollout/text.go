// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"regexp"
	"unicode/utf8"
)

// maxMessage bounds each text in bytes, so that a Status stays small whatever a program on a node says.
const maxMessage = 1024

// ephemeral is the local end of a connection in an error of package net. It is another one each time.
var ephemeral = regexp.MustCompile(`[0-9A-Fa-f.:\[\]]+:[0-9]+->`)

// stable removes what differs between two texts about the same, so that a wait does not make a write at each look.
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
