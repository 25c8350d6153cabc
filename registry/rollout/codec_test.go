// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestStatusIsReadAsItWasWritten(t *testing.T) {
	s := healthy(3, true)
	s.Nodes[1].Ready = false
	want := Assess(s).Status
	text, err := Encode(want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	s.Record = got
	again, err := Encode(Assess(s).Status)
	if err != nil || again != text {
		t.Errorf("a second look at the same says something else (-want +got):\n%s%v", cmp.Diff(text, again), err)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"nothing": "", "no object": "[]", "null": "null", "unknown field": `{"x":1}`, "twice": `{"latestAvailableRevision":1,"latestAvailableRevision":2}`,
		"negative": `{"latestAvailableRevision":-1}`, "no name": `{"nodeStatuses":[{"nodeName":"","uid":"x"}]}`,
		"failure without a count": `{"nodeStatuses":[{"nodeName":"a","uid":"x","lastFailed":{"revision":1,"time":"2026-05-01T12:00:00Z","count":0}}]}`,
		"long":                    `{"blockers":[{"reason":"a","since":"2026-05-01T12:00:00Z","message":"` + strings.Repeat("x", maxMessage+1) + `"}]}`,
		"huge":                    strings.Repeat(" ", maxStatusBytes) + "{}",
	} {
		if _, err := Decode(text); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	text, err := Encode(Assess(healthy(2, true)).Status)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add(`{"nodeStatuses":[{"nodeName":"a","uid":"b","targetSince":"2026-05-01T12:00:00+02:00"}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Decode(text)
		if err != nil {
			return
		}
		again, err := Encode(s)
		if err != nil {
			return
		}
		if _, err := Decode(again); err != nil && len(again) <= maxStatusBytes {
			t.Errorf("what was read cannot be read again: %v", err)
		}
		state := healthy(2, true)
		state.Record = s
		Assess(state)
	})
}

func TestTexts(t *testing.T) {
	if got := stable("read tcp 10.0.0.5:53422->10.0.0.1:2379: reset"); got != "read tcp 10.0.0.1:2379: reset" {
		t.Errorf("stable: %q", got)
	}
	if got := cut(strings.Repeat("ä", maxMessage)); len(got) > maxMessage || !strings.HasSuffix(got, "ä ...") {
		t.Errorf("cut: %d bytes", len(got))
	}
	if got := cut("a\xffb"); got != "a\uFFFDb" {
		t.Errorf("cut: %q", got)
	}
}
