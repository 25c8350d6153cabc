// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package staticpod

import (
	"bytes"
	"unicode/utf8"
)

// isText says whether a value may stand in the data of a ConfigMap.
func isText(value []byte) bool { return utf8.Valid(value) }

func sameData(x, y map[string][]byte) bool {
	if len(x) != len(y) {
		return false
	}
	for key, value := range x {
		other, ok := y[key]
		if !ok || !bytes.Equal(value, other) {
			return false
		}
	}
	return true
}

// maxNote is the limit of the API on the text of an event, in bytes.
const maxNote = 1024

// cut shortens a text to what an event can hold, between characters.
func cut(note string) string {
	const more = " ..."
	if len(note) <= maxNote {
		return note
	}
	end := maxNote - len(more)
	for !utf8.RuneStart(note[end]) {
		end--
	}
	return note[:end] + more
}
