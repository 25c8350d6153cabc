// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	sigsyaml "sigs.k8s.io/yaml"
)

const limit = 1 << 20

// laughs returns a document of aliases in which each level expands to ten times the one before.
func laughs() string {
	var text strings.Builder
	text.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 12; i++ {
		fmt.Fprintf(&text, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10), ", "))
	}
	return text.String()
}

func TestRefused(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"nothing", " \n", "empty"},
		{"nothing but a comment", "# nothing\n", "empty"},
		{"too large", strings.Repeat("a", limit+1), "more than the limit"},
		{"an alias", "a: &x 1\nb: *x\n", "write out"},
		{"an anchor alone", "a: &x 1\n", "write out"},
		{"a merge", "a: {x: 1}\nb:\n  <<: {y: 1}\n", "merged"},
		{"a bomb", laughs(), "write out"},
		{"a bomb in flow style", "{" + strings.ReplaceAll(strings.TrimSpace(laughs()), "\n", ", ") + "}", "write out"},
		{"deep in YAML", deepYAML(maxDepth + 1), "levels"},
		{"deep in flow style", "a: " + strings.Repeat("[", maxDepth+1) + strings.Repeat("]", maxDepth+1), "levels"},
		{"deep in JSON", strings.Repeat("[", maxDepth+1) + strings.Repeat("]", maxDepth+1), "levels"},
		{"very deep in JSON", strings.Repeat("[", limit/2), "levels"},
		{"very deep in YAML", "a: " + strings.Repeat("[", limit/2), ""},
		{"many values in JSON", "[" + strings.Repeat("1,", maxValues) + "1]", "values"},
		{"many values in YAML", strings.Repeat("- 1\n", maxValues+1), "values"},
		{"more values than are parsed", strings.Repeat("-\n", limit/2), "values"},
		{"the same key twice", "a: 1\na: 2\n", "duplicate"},
		{"two documents", "a: 1\n---\nb: 1\n", "one document"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			converted, err := ToJSON([]byte(tc.text), limit)
			if err == nil {
				t.Fatalf("converted to %d bytes", len(converted))
			}
			if !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %.500s, want %q", err, tc.want)
			}
			if len(err.Error()) > 20000 {
				t.Errorf("the error has %d characters", len(err.Error()))
			}
		})
	}
}

// TestExpand: aliases are read as long as what they stand for is within the bounds.
func TestExpand(t *testing.T) {
	large := "a: &x " + strings.Repeat("y", limit/4) + "\nb: [" + strings.TrimSuffix(strings.Repeat("*x, ", 8), ", ") + "]\n"
	for name, test := range map[string]struct{ text, want, refused string }{
		"an alias":           {text: "a: &x {b: [1]}\nc: [*x, *x]\n", want: `{"a":{"b":[1]},"c":[{"b":[1]},{"b":[1]}]}`},
		"an anchor alone":    {text: "a: &x 1\n", want: `{"a":1}`},
		"a bomb":             {text: laughs(), refused: "values"},
		"a large one":        {text: large, refused: "aliases stand for over"},
		"one of itself":      {text: "a: &x [*x]\n", refused: "levels"},
		"more of itself":     {text: "a: &x [*x, *x]\n", refused: "levels"},
		"a merge":            {text: "a: &x {y: 1}\nb: {<<: *x}\n", refused: "merged"},
		"the same key twice": {text: "a: &x 1\nb: *x\nb: 2\n", refused: "duplicate"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Expand([]byte(test.text), limit)
			if test.refused == "" && err != nil || test.refused != "" && (err == nil || !strings.Contains(err.Error(), test.refused)) {
				t.Fatalf("error %.500v, want %q", err, test.refused)
			}
			if string(got) != test.want {
				t.Errorf("%.500s, want %s", got, test.want)
			}
		})
	}
}

func deepYAML(levels int) string {
	var text strings.Builder
	for i := range levels {
		text.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return text.String()
}

func TestAdmitted(t *testing.T) {
	for name, text := range map[string]string{
		"YAML":                     "a: 1\nb: [x, 'y']\n",
		"with dots":                "---\na: 1\n...\n",
		"JSON":                     `{"a": "[[[[", "b": [1, 2]}`,
		"flow style":               "{a: 1, b: [x]}",
		"a quote in a key":         `{"a\"[": 1}`,
		"as deep as may be":        strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth),
		"a merge that is a string": "\"<<\": 1\n",
	} {
		t.Run(name, func(t *testing.T) {
			converted, err := ToJSON([]byte(text), limit)
			if err != nil {
				t.Fatal(err)
			}
			if !json.Valid(converted) {
				t.Errorf("no JSON: %s", converted)
			}
		})
	}
}

func TestUnmarshal(t *testing.T) {
	var into struct {
		A int `json:"a"`
	}
	if err := Unmarshal([]byte("a: 7\n"), limit, &into, true); err != nil || into.A != 7 {
		t.Errorf("read %d, %v", into.A, err)
	}
	if err := Unmarshal([]byte("a: 7\nb: 1\n"), limit, &into, true); err == nil {
		t.Error("an unknown field is accepted")
	}
	if err := Unmarshal([]byte("a: 8\nb: 1\n"), limit, &into, false); err != nil || into.A != 8 {
		t.Errorf("read %d, %v", into.A, err)
	}
}

func TestSplit(t *testing.T) {
	got, err := Split([]byte("a: 1\n---\nb: 1\n"), limit)
	if err != nil || len(got) != 2 {
		t.Errorf("split into %d, %v", len(got), err)
	}
	if _, err := Split(make([]byte, limit+1), limit); err == nil {
		t.Error("a file beyond the limit is split")
	}
}

// FuzzToJSON: accepted documents become valid JSON of at most maxDepth levels, and do not expand for another
// reader.
func FuzzToJSON(f *testing.F) {
	for _, seed := range []string{"a: 1\n", "{a: [1, 2]}", "- x\n- y\n", "a: &x 1\nb: *x\n", "a:\n  <<: {y: 1}\n", `{"a": "\"["}`, "? a\n: b\n", "!!binary aGk=\n", "a: |\n  x\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		const limit = 1 << 14
		converted, err := ToJSON(data, limit)
		if err != nil {
			return
		}
		if !json.Valid(converted) {
			t.Fatalf("%q is no JSON", converted)
		}
		if depthOf(converted) > maxDepth {
			t.Errorf("%d levels", depthOf(converted))
		}
		other, err := sigsyaml.YAMLToJSON(data)
		if err != nil {
			return
		}
		if len(other) > 8*len(converted)+64 {
			t.Errorf("%d bytes are %d to another reader", len(converted), len(other))
		}
	})
}

func depthOf(text []byte) int {
	deepest, depth, quoted := 0, 0, false
	for i := 0; i < len(text); i++ {
		switch {
		case quoted && text[i] == '\\':
			i++
		case text[i] == '"':
			quoted = !quoted
		case quoted:
		case text[i] == '[' || text[i] == '{':
			depth++
			deepest = max(deepest, depth)
		case text[i] == ']' || text[i] == '}':
			depth--
		}
	}
	return deepest
}
