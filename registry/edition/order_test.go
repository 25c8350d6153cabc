// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package edition

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"certrotation.dev/test/property"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// made returns an edition. Zero values mean unknown.
func made(name string, number int, rotation string, issued, created int) *Edition {
	e := &Edition{
		NamespacedName: types.NamespacedName{Namespace: "ns", Name: name}, Created: noon.Add(time.Duration(created) * time.Second),
		Labels: map[string]string{LabelName: "n", LabelLastRotationInitiationTime: rotation},
	}
	if number > 0 {
		e.Labels[LabelGeneration] = strconv.Itoa(number)
	}
	if issued > 0 {
		e.Issued = noon.Add(time.Duration(issued) * time.Second)
		e.Until = e.Issued.Add(1000 * time.Hour)
	}
	return e
}

func TestOrder(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		older, newer *Edition
	}{
		"the number before all":                  {made("a", 1, "9", 9, 9), made("b", 2, "8", 8, 8)},
		"no number, so the rotation":             {made("a", 0, "8", 9, 9), made("b", 2, "9", 8, 8)},
		"never rotated":                          {made("a", 0, "", 9, 9), made("b", 0, "8", 8, 8)},
		"a rotation that cannot be read is none": {made("a", 0, "x", 9, 9), made("b", 0, "8", 8, 8)},
		"the certificate":                        {made("a", 0, "8", 8, 9), made("b", 0, "8", 9, 8)},
		"one without, so the creation":           {made("a", 0, "8", 9, 8), made("b", 0, "8", 0, 9)},
		"the creation":                           {made("b", 0, "8", 8, 8), made("a", 0, "8", 8, 9)},
		"everything is equal":                    {made("a", 0, "8", 8, 8), made("b", 0, "8", 8, 8)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, of := range [][]*Edition{{test.older, test.newer}, {test.newer, test.older}} {
				if Order(of); of[0] != test.older {
					t.Errorf("%s is the older one", of[0].Name)
				}
			}
		})
	}
}

// someEditions draws editions of one name. There are few possible values, so many are equal.
func someEditions(t *rapid.T) []*Edition {
	var out []*Edition
	for n := range rapid.IntRange(1, 6).Draw(t, "editions") {
		draw := func(what string) int { return rapid.IntRange(0, 3).Draw(t, what) }
		rotation := []string{"", "1", "2", "x"}[draw("rotation")]
		out = append(out, made(fmt.Sprintf("n-%d", n), draw("number"), rotation, draw("issued"), draw("created")))
	}
	return out
}

// TestOrderIsOne: the order of editions does not depend on the order in which they are found. If they have
// numbers, a restore from a backup does not change it.
func TestOrderIsOne(t *testing.T) {
	t.Parallel()
	property.Check(t, func(t *rapid.T) {
		of := someEditions(t)
		first := slices.Clone(of)
		Order(first)
		second := rapid.Permutation(of).Draw(t, "found")
		Order(second)
		if !slices.Equal(first, second) {
			t.Fatal("they have another order when they are found in another one")
		}
		for n, e := range first {
			e.Labels[LabelGeneration] = strconv.Itoa(n + 1)
		}
		for _, e := range second {
			e.Created, e.Issued = noon, time.Time{}
		}
		if Order(second); !slices.Equal(first, second) {
			t.Fatal("a restore has changed their order")
		}
	})
}

func TestNextNumber(t *testing.T) {
	t.Parallel()
	for want, of := range map[string][]*Edition{
		"1": nil, "2": {made("a", 1, "", 0, 0), made("b", 0, "", 0, 0)}, "8": {made("a", 7, "", 0, 0), made("b", 3, "", 0, 0)},
	} {
		if got := NextNumber(of); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestRotations: the newest edition tells when its name was last rotated. A due name is renewed under one name, no
// matter when that is noticed.
func TestRotations(t *testing.T) {
	t.Parallel()
	property.Check(t, func(t *rapid.T) {
		of := someEditions(t)
		byName := ByName(of)
		newest := byName["n"][len(of)-1]
		newest.Authority = rapid.Bool().Draw(t, "authority")
		authorities := rapid.Bool().Draw(t, "authorities")
		later := noon.Add(time.Duration(rapid.IntRange(0, 2000).Draw(t, "hours")) * time.Hour)
		got := Rotations(byName, authorities, later)["n"]
		due := newest.Due(later) && (authorities || !newest.Authority)
		if (got.Renews != nil) != due {
			t.Fatalf("renewed %t, due %t", got.Renews != nil, due)
		}
		if !due {
			if got.Time != newest.Labels[LabelLastRotationInitiationTime] {
				t.Fatalf("it was rotated at %q, the newest edition says %q", got.Time, newest.Labels[LabelLastRotationInitiationTime])
			}
			return
		}
		if again := Rotations(byName, authorities, later.Add(time.Hour))["n"]; again.Time != got.Time {
			t.Fatalf("an hour later it would be renewed at %s, not at %s", again.Time, got.Time)
		}
		if at, ok := parseUnix(got.Time); !ok || at.Unix() <= newest.rotation() || at.After(later) {
			t.Fatalf("it is renewed at %s, at %s, after %d", got.Time, later, newest.rotation())
		}
	})
}

// TestRenewAt: a renewal is due within the validity, and a new certificate is not due at once. The ten-day margin
// never moves a renewal before half of the validity.
func TestRenewAt(t *testing.T) {
	t.Parallel()
	property.Check(t, func(t *rapid.T) {
		validity := time.Duration(rapid.Int64Range(1, 20*365*24*3600).Draw(t, "seconds")) * time.Second
		percentage := rapid.IntRange(-1, 101).Draw(t, "percentage")
		e := &Edition{Issued: noon, Until: noon.Add(validity), Labels: map[string]string{LabelRenewAfterValidityPercentage: strconv.Itoa(percentage)}}
		at, ever := e.RenewAt()
		if percentage < 1 || percentage > 100 {
			percentage = usualPercentage
		}
		latest := noon.Add(validity/100*time.Duration(percentage) + time.Second)
		if !ever || at.Before(noon) || at.After(latest) || at.After(e.Until) {
			t.Fatalf("of %s at %s", validity, at.Sub(noon))
		}
		if byPercentage := noon.Add(validity / 100 * time.Duration(percentage)); at.Before(noon.Add(validity/2)) && at.Before(byPercentage.Add(-time.Second)) {
			t.Fatalf("of %s at %s, before half of it", validity, at.Sub(noon))
		}
		if validity >= 20*24*time.Hour && at.After(e.Until.Add(-Margin)) {
			t.Fatalf("of %s at %s, less than ten days before its end", validity, at.Sub(noon))
		}
	})
	for name, e := range map[string]*Edition{
		"nothing is known":     {},
		"no end":               {Issued: noon},
		"no beginning":         {Until: noon},
		"it ends as it begins": {Issued: noon, Until: noon},
	} {
		if _, ever := e.RenewAt(); ever || e.Due(noon.Add(time.Hour)) {
			t.Errorf("%s: it is renewed", name)
		}
	}
}

func TestWhyCreate(t *testing.T) {
	t.Parallel()
	newest := made("n-1", 0, "7", 0, 0)
	newest.Labels[LabelChecksumConfig], newest.Labels[LabelChecksumSigningCA] = "3", "s"
	same := Wanted{Name: "n", Config: 3, Signer: "s", Rotation: "7"}
	for want, test := range map[string]struct {
		change func(*Wanted)
		former []*Edition
		renews *Edition
	}{
		"there is none yet":             {},
		"renewal of n-1 is due":         {former: []*Edition{newest}, renews: newest, change: func(w *Wanted) { w.Rotation = "9" }},
		"a rotation was begun":          {former: []*Edition{newest}, change: func(w *Wanted) { w.Rotation = "9" }},
		"its signer is another one":     {former: []*Edition{newest}, change: func(w *Wanted) { w.Signer, w.Config = "t", 4 }},
		"its configuration has changed": {former: []*Edition{newest}, change: func(w *Wanted) { w.Config = 4 }},
		"n-1 has another name":          {former: []*Edition{newest}},
	} {
		wanted := same
		if test.change != nil {
			test.change(&wanted)
		}
		if got := WhyCreate(&wanted, test.former, test.renews); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestKept(t *testing.T) {
	t.Parallel()
	ca := func(name string, ends time.Duration) *Edition {
		return &Edition{NamespacedName: types.NamespacedName{Name: name}, Checksum: name, Authority: true, Issued: noon, Until: noon.Add(ends)}
	}
	leaf := func(signer string, ends time.Duration) *Edition {
		return &Edition{Labels: map[string]string{LabelChecksumSigningCA: signer}, Until: noon.Add(ends)}
	}
	newest, older := ca("newest", time.Hour), ca("older", time.Hour)
	for name, test := range map[string]struct {
		former []*Edition
		leaf   *Edition
		want   int
	}{
		"the newest alone":              {[]*Edition{newest, older}, leaf("newest", time.Hour), 1},
		"one whose leaf is there":       {[]*Edition{newest, older}, leaf("older", time.Hour), 2},
		"one whose leaf has expired":    {[]*Edition{newest, older}, leaf("older", -time.Hour), 1},
		"one that has expired":          {[]*Edition{newest, ca("older", -time.Hour)}, leaf("older", time.Hour), 1},
		"the newest, which has expired": {[]*Edition{ca("newest", -time.Hour)}, leaf("newest", time.Hour), 1},
		"none":                          {nil, leaf("older", time.Hour), 0},
	} {
		if got := Kept(test.former, []*Edition{test.leaf}, noon); len(got) != test.want {
			t.Errorf("%s: %d are kept, want %d", name, len(got), test.want)
		}
	}
	for name, e := range map[string]*Edition{"expired": ca("a", 0), "no authority": leaf("a", time.Hour), "not valid yet": {Authority: true, Issued: noon.Add(time.Second)}} {
		if e.Signs(noon) {
			t.Errorf("%s: it signs", name)
		}
	}
	if !newest.Signs(noon) {
		t.Error("a valid one does not sign")
	}
}

// TestBegan: without a time, the editions say when the rotation of a group began.
func TestBegan(t *testing.T) {
	rotated := func(times ...string) []*Edition {
		var out []*Edition
		for _, at := range times {
			out = append(out, &Edition{Labels: map[string]string{LabelLastRotationInitiationTime: at}})
		}
		return out
	}
	at := metav1.Unix(300, 0)
	for _, tt := range []struct {
		name  string
		state GroupRotation
		of    []*Edition
		want  string
	}{
		{name: "recorded", state: GroupRotation{Phase: Completed, LastInitiationTime: &at}, of: rotated("", "100"), want: "300"},
		{name: "nothing there"},
		{name: "never rotated", of: rotated("")},
		{name: "the record is lost", of: rotated("", "100", "200"), want: "200"},
		{name: "an abort of the first rotation", state: GroupRotation{Phase: Completing}, of: rotated("", "100")},
		{name: "after an abort of the first rotation", state: GroupRotation{Phase: Completed}, of: rotated("")},
		{name: "an abort after the record was lost", state: GroupRotation{Phase: Completing}, of: rotated("100", "200"), want: "100"},
		{name: "a name that was added in an aborted rotation", state: GroupRotation{Phase: Completed}, of: rotated("100"), want: "100"},
		{name: "an abort, with nothing there", state: GroupRotation{Phase: Completing}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.state.Began(tt.of); got != tt.want {
				t.Errorf("it began at %q, want %q", got, tt.want)
			}
		})
	}
}
