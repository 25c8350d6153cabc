// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package display

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Bounds of texts in bytes. Those of events are the API's (k8s.io/kubernetes/pkg/apis/core/validation). That for
// messages is ours (apis/config/v1alpha1).
const (
	MaxNote    = 1024
	MaxAction  = 128
	MaxMessage = 4096
)

// Note shortens the note of an event.
func Note(text string) string { return Shorten(text, MaxNote, more) }

// Action shortens the action of an event. Events of one object and reason are told apart by it.
func Action(text string) string { return Shorten(text, MaxAction, more) }

// Message shortens the message of a condition or of a status.
func Message(text string) string { return Shorten(text, MaxMessage, more) }

// more ends a shortened text.
const more = " ..."

// Shorten cuts a text of more than longest bytes between characters, and ends it with more.
func Shorten(text string, longest int, more string) string {
	if len(text) <= longest {
		return text
	}
	end := longest - len(more)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + more
}

// maxNames is how many names are listed before the rest is counted.
const maxNames = 5

// Names joins names for a message; there may be thousands of them.
func Names(names []string) string {
	if len(names) <= maxNames {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNames], ", "), len(names)-maxNames)
}
