// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// window is when maintenance may begin, in minutes of each day (UTC). It may cross midnight. The zero value is never.
type window struct{ from, until int }

var errWindow = errors.New("no window like 22:00-02:00")

// parseWindow reads HH:MM-HH:MM, or "" for never.
func parseWindow(text string) (window, error) {
	if text == "" {
		return window{}, nil
	}
	from, until, _ := strings.Cut(text, "-")
	begin, err := time.Parse("15:04", from)
	if err != nil {
		return window{}, fmt.Errorf("%w: %q", errWindow, text)
	}
	end, err := time.Parse("15:04", until)
	if err != nil || end.Equal(begin) {
		return window{}, fmt.Errorf("%w: %q", errWindow, text)
	}
	return window{from: minuteOf(begin), until: minuteOf(end)}, nil
}

func (w window) contains(at time.Time) bool {
	minute := minuteOf(at.UTC())
	if w.from <= w.until {
		return w.from <= minute && minute < w.until
	}
	return w.from <= minute || minute < w.until
}

func minuteOf(at time.Time) int { return at.Hour()*60 + at.Minute() }
