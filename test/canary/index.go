// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package canary

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// index finds the traces of many keys by their first bytes. It reads a text once, no matter how many keys there are.
type index struct {
	likely  [1 << 16]bool
	byStart map[uint64][]known
}

// known is a trace with the name of its key.
type known struct {
	key string
	Trace
}

type hit struct{ key, form string }

// start is how many bytes of a trace the index compares first. Every trace is longer.
const start = 8

func newIndex() *index { return &index{byStart: map[uint64][]known{}} }

func indexOf(keys map[string][]byte) (*index, error) {
	ix := newIndex()
	for name, key := range keys {
		traces, err := Of(key)
		if err != nil {
			return nil, fmt.Errorf("key %s: %w", name, err)
		}
		ix.add(name, traces)
	}
	return ix, nil
}

func (ix *index) add(key string, traces []Trace) {
	for _, trace := range traces {
		first := binary.LittleEndian.Uint64(trace.bytes)
		ix.likely[slot(first)] = true
		ix.byStart[first] = append(ix.byStart[first], known{key, trace})
	}
}

// slot maps the first bytes of a trace to a table entry, by the golden ratio.
func slot(first uint64) uint64 { return first * 0x9e3779b97f4a7c15 >> 48 }

// leastRun is the shortest run of base64 characters to decode. It may be the data of a Secret in JSON: base64 of PEM,
// which is base64 itself.
const leastRun = 64

// base64Runs calls found for each run of at least leastRun base64 characters.
func base64Runs(data []byte, found func(text []byte)) {
	begin := 0
	for i, c := range data {
		if 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '+' || c == '/' {
			continue
		}
		if i-begin >= leastRun {
			found(data[begin:i])
		}
		begin = i + 1
	}
	if len(data)-begin >= leastRun {
		found(data[begin:])
	}
}

// in returns the traces in data, and in decoded base64 of data.
func (ix *index) in(data []byte) []hit {
	found := map[hit]bool{}
	ix.plain(data, func(h hit) { found[h] = true })
	base64Runs(data, func(text []byte) {
		for shift := range 4 {
			whole := text[shift:]
			decoded, err := base64.StdEncoding.DecodeString(string(whole[:len(whole)/4*4]))
			if err != nil {
				continue
			}
			ix.plain(decoded, func(h hit) { found[hit{h.key, h.form + ", in base64"}] = true })
		}
	})
	return slices.SortedFunc(maps.Keys(found), func(a, b hit) int { return strings.Compare(a.key+" "+a.form, b.key+" "+b.form) })
}

// plain also searches the data without white space, because PEM may be folded.
func (ix *index) plain(data []byte, found func(hit)) {
	ix.each(data, func(k known) { found(hit{k.key, k.Form}) })
	ix.each(unfold(data), func(k known) {
		if strings.Contains(k.Form, "base64") {
			found(hit{k.key, k.Form})
		}
	})
}

// each calls found for each occurrence of a trace.
func (ix *index) each(data []byte, found func(known)) {
	for i := 0; i+start <= len(data); i++ {
		first := binary.LittleEndian.Uint64(data[i:])
		if !ix.likely[slot(first)] {
			continue
		}
		for _, k := range ix.byStart[first] {
			if bytes.HasPrefix(data[i:], k.bytes) {
				found(k)
			}
		}
	}
}

// unfold removes white space, and escaped line ends as in quoted text.
func unfold(data []byte) []byte {
	out := make([]byte, 0, len(data))
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case c == '\n' || c == '\r' || c == '\t' || c == ' ':
		case c == '\\' && i+1 < len(data) && (data[i+1] == 'n' || data[i+1] == 'r'):
			i++
		default:
			out = append(out, c)
		}
	}
	return out
}
