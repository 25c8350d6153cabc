// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"strconv"
	"strings"

	"certrotation.dev/registry/display"
	"certrotation.dev/registry/trust"
)

// maxMessage bounds the message of a condition, in bytes.
const maxMessage = 1024

// moreReserve is kept free, in bytes, for the note on what was left out.
const moreReserve = 32

func secretRef(name string) string    { return string(trust.SecretKind) + "/" + name }
func configMapRef(name string) string { return string(trust.ConfigMapKind) + "/" + name }

func blockersText(blockers []trust.Blocker) string {
	texts := make([]string, 0, len(blockers))
	for i := range blockers {
		texts = append(texts, blockers[i].String())
	}
	return joined(texts)
}

func problemsText(problems []trust.Problem) string {
	texts := make([]string, 0, len(problems))
	for i := range problems {
		texts = append(texts, problems[i].String())
	}
	return joined(texts)
}

// joined joins as many texts as fit, and adds how many are left out. It always includes the first.
func joined(texts []string) string {
	var out strings.Builder
	for i, text := range texts {
		if i > 0 && out.Len()+len(text)+moreReserve > maxMessage {
			return out.String() + andMore(len(texts)-i)
		}
		if i > 0 {
			out.WriteString("; ")
		}
		out.WriteString(text)
	}
	return out.String()
}

func andMore(n int) string {
	if n <= 0 {
		return ""
	}
	return " and " + strconv.Itoa(n) + " more"
}

// bounded truncates a message between two characters.
func bounded(message string) string {
	return display.Shorten(message, maxMessage, "...")
}
