// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package picture

import (
	"fmt"
	"time"
)

// Timeline shows when certificates are valid, on one scale.
type Timeline struct {
	Title string
	Now   time.Time
	Bars  []Bar
}

// Bar is one certificate of a timeline.
type Bar struct {
	Name, Remark string
	From, To     time.Time
	// Renewal is when the certificate is due for rotation, zero if that is unknown.
	Renewal time.Time
	// Ends says when it ends, or that there is no certificate.
	Ends  string
	State State
}

// percent of the width of a timeline, as SVG takes it.
type percent float64

func (p percent) String() string { return fmt.Sprintf("%.2f%%", float64(p)) }

type tick struct {
	At     percent
	Anchor string
	Text   string
}

// strip is the drawing of a bar. Passed is the width of what is over, and Left, from LeftFrom, of what remains.
type strip struct {
	Bar

	Begin, Passed, LeftFrom, Left percent
	// Due is where the renewal is, negative if it is unknown.
	Due percent
	// Drawn is false if there is no certificate.
	Drawn bool
}

// scale maps times to a width.
type scale struct {
	from time.Time
	span time.Duration
}

func (s scale) at(t time.Time) percent {
	return percent(100 * float64(t.Sub(s.from)) / float64(s.span))
}

// scale has room for all bars and for now, and a little at both ends.
func (t Timeline) scale() scale {
	from, to := t.Now, t.Now
	for i := range t.Bars {
		b := &t.Bars[i]
		if b.To.IsZero() {
			continue
		}
		if b.From.Before(from) {
			from = b.From
		}
		if b.To.After(to) {
			to = b.To
		}
	}
	room := max(to.Sub(from)/50, time.Minute)
	return scale{from.Add(-room), to.Sub(from) + 2*room}
}

// nowAt is where now is.
func (t Timeline) nowAt() percent { return t.scale().at(t.Now) }

// strips are the drawings of the bars.
func (t Timeline) strips() []strip {
	s := t.scale()
	out := make([]strip, 0, len(t.Bars))
	for i := range t.Bars {
		drawn := strip{Bar: t.Bars[i], Due: -1, Drawn: !t.Bars[i].To.IsZero()}
		if drawn.Drawn {
			begin, end := s.at(drawn.From), s.at(drawn.To)
			now := min(max(s.at(t.Now), begin), end)
			drawn.Begin, drawn.Passed, drawn.LeftFrom, drawn.Left = begin, now-begin, now, end-now
		}
		if !drawn.Renewal.IsZero() {
			drawn.Due = min(max(s.at(drawn.Renewal), 0), 100)
		}
		out = append(out, drawn)
	}
	return out
}

// units are the distances of ticks: minutes to centuries.
var units = []struct {
	years, months int
	step          time.Duration
	layout        string
}{
	{0, 0, 10 * time.Minute, "15:04"},
	{0, 0, time.Hour, "15:04"},
	{0, 0, 6 * time.Hour, "2 Jan 15:04"},
	{0, 0, 24 * time.Hour, "2 Jan"},
	{0, 0, 7 * 24 * time.Hour, "2 Jan"},
	{0, 1, 31 * 24 * time.Hour, "Jan 2006"},
	{0, 3, 92 * 24 * time.Hour, "Jan 2006"},
	{0, 6, 184 * 24 * time.Hour, "Jan 2006"},
	{1, 0, 366 * 24 * time.Hour, "2006"},
	{2, 0, 2 * 366 * 24 * time.Hour, "2006"},
	{5, 0, 5 * 366 * 24 * time.Hour, "2006"},
	{20, 0, 20 * 366 * 24 * time.Hour, "2006"},
	{50, 0, 50 * 366 * 24 * time.Hour, "2006"},
	{100, 0, 100 * 366 * 24 * time.Hour, "2006"},
}

// maxTicks bounds the ticks, so that their labels fit a telephone.
const maxTicks = 5

// ticks are the scale of the timeline, in UTC.
func (t Timeline) ticks() []tick {
	s := t.scale()
	unit := units[len(units)-1]
	for _, u := range units {
		if s.span/u.step < maxTicks {
			unit = u
			break
		}
	}
	begin := s.from.UTC()
	next := func(at time.Time) time.Time { return at.Add(unit.step) }
	at := begin.Truncate(unit.step)
	if unit.years > 0 || unit.months > 0 {
		at = time.Date(begin.Year(), time.January, 1, 0, 0, 0, 0, time.UTC)
		if unit.years > 0 {
			at = at.AddDate(-begin.Year()%unit.years, 0, 0)
		}
		next = func(at time.Time) time.Time { return at.AddDate(unit.years, unit.months, 0) }
	}
	var out []tick
	for ; s.at(at) < 100 && len(out) < 2*maxTicks; at = next(at) {
		if place := s.at(at); place > 0 {
			out = append(out, tick{place, anchor(place), at.Format(unit.layout)})
		}
	}
	return out
}

// anchor keeps a label inside of the drawing.
func anchor(at percent) string {
	switch {
	case at < 8:
		return "start"
	case at > 92:
		return "end"
	}
	return "middle"
}
