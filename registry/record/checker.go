// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"encoding/hex"
	"fmt"
	"time"
	"unicode/utf8"

	"certrotation.dev/registry/trust"
)

// checker checks the fields of a record against their bounds and keeps the first fault.
type checker struct{ err error }

func (c *checker) fail(field, what string) {
	if c.err == nil {
		c.err = fmt.Errorf("%w: %s: %s", ErrMalformed, field, what)
	}
}

func (c *checker) name(field, name string) { c.required(field, name, maxName) }

func (c *checker) required(field, s string, most int) {
	if s == "" {
		c.fail(field, "it is missing")
	}
	c.text(field, s, most)
}

func (c *checker) text(field, s string, most int) {
	if n := utf8.RuneCountInString(s); n > most {
		c.fail(field, fmt.Sprintf("it has %d characters, the limit is %d", n, most))
	}
	if !utf8.ValidString(s) {
		c.fail(field, "it is not UTF-8")
	}
}

// time returns UTC in a precision that the API keeps, so that read and written times are equal.
func (c *checker) time(field string, t time.Time, precision time.Duration) time.Time {
	if t.IsZero() {
		c.fail(field, "it is missing")
		return time.Time{}
	}
	t = t.UTC().Truncate(precision)
	// An offset may move a time out of the years of RFC 3339.
	if t.Year() < 1 || t.Year() > 9999 || t.IsZero() {
		c.fail(field, "it is no time in RFC 3339")
	}
	return t
}

func (c *checker) kind(field string, kind trust.EvidenceKind) {
	if !kind.Known() {
		c.fail(field, "it is not known")
	}
}

// ordered checks a list that must be in order and without duplicates.
func (c *checker) ordered(field string, list []string, most int, entry func(field, s string)) {
	if !c.bounded(field, len(list), most) {
		return
	}
	for i, s := range list {
		entry(fmt.Sprintf("%s[%d]", field, i), s)
		if i > 0 && s <= list[i-1] {
			c.disordered(fmt.Sprintf("%s[%d]", field, i))
		}
	}
}

func (c *checker) bounded(field string, entries, most int) bool {
	if entries > most {
		c.fail(field, fmt.Sprintf("it has %d entries, the limit is %d", entries, most))
	}
	return entries <= most
}

func (c *checker) disordered(field string) { c.fail(field, "it is out of order") }

func (c *checker) sum(field, s string) {
	if sum, err := hex.DecodeString(s); err != nil || len(sum) != 32 || hex.EncodeToString(sum) != s {
		c.fail(field, "it is no SHA-256 in lower-case hexadecimal")
	}
}

func (c *checker) optionalSum(field, s string) {
	if s != "" {
		c.sum(field, s)
	}
}
