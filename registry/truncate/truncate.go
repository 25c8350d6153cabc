// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package truncate shortens texts to what the API takes. It consists of pure functions.
package truncate

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Bounds of texts in bytes. Those of events are the API's (k8s.io/kubernetes/pkg/apis/core/validation), that of a message is
// ours (apis/config/v1alpha1).
const (
	MaxNote    = 1024
	MaxAction  = 128
	MaxMessage = 4096
)

// Note is the text of an event.
func Note(text string) string { return To(text, MaxNote, more) }

// Action is the action of an event, by which events of one object and reason are told apart.
func Action(text string) string { return To(text, MaxAction, more) }

// Message is that of a condition or of a status.
func Message(text string) string { return To(text, MaxMessage, more) }

// more stands at the end of what was shortened.
const more = " ..."

// To shortens a text to that many bytes, between characters; more is at its end then.
func To(text string, longest int, more string) string {
	if len(text) <= longest {
		return text
	}
	end := longest - len(more)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + more
}

// maxNames is how many names are listed before the others are counted.
const maxNames = 5

// Names joins names for a message; there may be thousands of them.
func Names(names []string) string {
	if len(names) <= maxNames {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNames], ", "), len(names)-maxNames)
}
