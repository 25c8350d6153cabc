// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package edition

import (
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"certrotation.dev/test/property"
)

type leafOf struct {
	Text   string
	Number int
	Bytes  []byte
	Ignore string `hash:"ignore"`
	Dash   string `hash:"-"`
	hidden string
}

type nested struct {
	First  *leafOf
	Second any
	Map    map[string]int
	Times  time.Time
	Func   func() `hash:"ignore"`
}

// TestStructuralHash compares with values from github.com/mitchellh/hashstructure/v2 2.0.2, made with FormatV2 and
// IgnoreZeroValue.
func TestStructuralHash(t *testing.T) {
	t.Parallel()
	self := &nested{}
	self.Second = self
	for name, test := range map[string]struct {
		value any
		want  uint64
		err   error
	}{
		"nil":                   {value: nil, want: 12161962213042174405},
		"zero struct":           {value: leafOf{}, want: 12055264088079677306},
		"text":                  {value: "text", want: 10090654158551821336},
		"true":                  {value: true, want: 12638153115695167454},
		"a number":              {value: int32(-7), want: 733636472367557415},
		"an unsigned number":    {value: uint16(7), want: 590676371239035912},
		"a float":               {value: 1.5, want: 12161883048204943186},
		"a small float":         {value: float32(1.5), want: 5558909236794992394},
		"integers of all sizes": {value: []any{int8(-1), int16(-2), int64(-3), uint8(1), uint32(2), uint64(3), uint(4)}, want: 14891397816077494182},
		"an array":              {value: [2]string{"a", "b"}, want: 2712570657419664240},
		"bytes":                 {value: []byte{1, 2, 3}, want: 8380202468418343137},
		"a struct":              {value: &leafOf{Text: "a", Number: 2, Bytes: []byte("c"), Ignore: "x", Dash: "y", hidden: "z"}, want: 18159842235699629572},
		"structs in each other": {value: &nested{First: &leafOf{Number: 1}, Second: leafOf{Text: "b"}, Map: map[string]int{"a": 1, "b": 0}, Times: time.Unix(5, 6).UTC(), Func: func() {}}, want: 10824156072561920561},
		"nothing in a list":     {value: []any{nil, (*leafOf)(nil), ""}, want: 16786922489107564394},
		"a channel":             {value: make(chan int), err: ErrUnhashable},
		"a complex number":      {value: 1i, err: ErrUnhashable},
		"a function":            {value: struct{ F func() }{func() {}}, err: ErrUnhashable},
		"an unknown tag": {value: struct {
			A int `hash:"set"`
		}{1}, err: ErrUnhashable},
		"what holds itself":      {value: self, err: ErrUnhashable},
		"a map with a channel":   {value: map[string]any{"a": make(chan int)}, err: ErrUnhashable},
		"a slice with a channel": {value: []any{make(chan int)}, err: ErrUnhashable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := StructuralHash(test.value)
			if !errors.Is(err, test.err) || got != test.want {
				t.Errorf("%d, %v; want %d, %v", got, err, test.want, test.err)
			}
		})
	}
}

// TestFieldsMatter: a set field changes the hash, and an ignored one does not.
func TestFieldsMatter(t *testing.T) {
	t.Parallel()
	hash := func(t interface{ Fatal(...any) }, value any) uint64 {
		h, err := StructuralHash(value)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	property.Check(t, func(t *rapid.T) {
		a := leafOf{Text: rapid.String().Draw(t, "text"), Number: rapid.Int().Draw(t, "number"), Bytes: rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")}
		b := a
		b.Ignore, b.Dash, b.hidden = rapid.String().Draw(t, "ignore"), "x", "y"
		if hash(t, a) != hash(t, &b) {
			t.Fatal("what is left out counts")
		}
		b.Number++
		if hash(t, a) == hash(t, b) {
			t.Fatal("the number does not count")
		}
	})
}
