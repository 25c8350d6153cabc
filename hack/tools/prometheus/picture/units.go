// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"image/color"
	"math"
	"strconv"

	"certrotation.dev/hack/tools/prometheus/dashboard"
)

// unit is a part that a number is told in, from the greatest.
type unit struct {
	size float64
	name string
}

var units = map[string][]unit{
	"s":     {{365 * 86400, "y"}, {86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}, {1e-3, "ms"}, {1e-6, "µs"}},
	"bytes": {{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}, {1, "B"}},
	"reqps": {{1, "req/s"}, {1e-3, "mreq/s"}},
}

// told is a number in the unit of a panel.
func told(v float64, of string) string {
	for _, u := range units[of] {
		if math.Abs(v) >= u.size {
			return digits(v/u.size) + " " + u.name
		}
	}
	return digits(v)
}

// digits of a number: three that count.
func digits(v float64) string {
	return strconv.FormatFloat(v, 'g', max(3, 1+int(math.Log10(max(1, math.Abs(v))))), 64)
}

// named are the colours that the dashboard names.
var named = map[string]color.Color{
	"green": color.RGBA{0x3f, 0x9c, 0x4a, 0xff}, "blue": color.RGBA{0x3b, 0x7d, 0xd8, 0xff}, "orange": color.RGBA{0xe8, 0x83, 0x1a, 0xff},
	"yellow": color.RGBA{0xe3, 0xb9, 0x0b, 0xff}, "red": color.RGBA{0xd0, 0x2f, 0x2f, 0xff}, "purple": color.RGBA{0x8e, 0x5a, 0xc2, 0xff},
}

// palette of lines that have no colour of their own.
var palette = []color.Color{
	color.RGBA{0x3b, 0x7d, 0xd8, 0xff}, color.RGBA{0xe8, 0x83, 0x1a, 0xff}, color.RGBA{0x3f, 0x9c, 0x4a, 0xff}, color.RGBA{0xd0, 0x2f, 0x2f, 0xff},
	color.RGBA{0x8e, 0x5a, 0xc2, 0xff}, color.RGBA{0x17, 0xa2, 0xa2, 0xff}, color.RGBA{0xb8, 0x6b, 0x3c, 0xff}, color.RGBA{0xd6, 0x5f, 0xa6, 0xff},
	color.RGBA{0x7a, 0x7a, 0x7a, 0xff}, color.RGBA{0xa8, 0xa0, 0x12, 0xff},
}

// coloured is the colour of a value by the thresholds of a panel.
func coloured(p dashboard.Panel, v float64) color.Color {
	found := color.Color(color.Black)
	if t := p.FieldConfig.Defaults.Thresholds; t != nil {
		for _, step := range t.Steps {
			if step.Value == nil || v >= *step.Value {
				found = named[step.Color]
			}
		}
	}
	return found
}
