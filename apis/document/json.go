// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	kjson "sigs.k8s.io/json"
	sigsyaml "sigs.k8s.io/yaml"
)

// ToJSON converts one document of YAML or JSON of at most limit bytes. If it refuses a part of the document, the
// error is an aggregate of field errors with the paths.
func ToJSON(data []byte, limit int) ([]byte, error) { return toJSON(data, limit, 0) }

// Expand is ToJSON for a document that may have aliases. What they stand for counts as often as they do, in values and
// in bytes.
func Expand(data []byte, limit int) ([]byte, error) { return toJSON(data, limit, limit) }

func toJSON(data []byte, limit, expanded int) ([]byte, error) {
	if err := checkSize(data, limit); err != nil {
		return nil, err
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, errors.New("the document is empty")
	}
	if looksLikeJSON(data) {
		if err := checkJSON(data); err != nil {
			return nil, err
		}
		if json.Valid(data) {
			return data, nil
		}
	}
	if err := checkYAML(data, expanded); err != nil {
		return nil, err
	}
	return sigsyaml.YAMLToJSONStrict(data)
}

// Unmarshal reads one document of at most limit bytes into an API object. With strict, an unknown field is an
// error.
func Unmarshal(data []byte, limit int, into any, strict bool) error {
	converted, err := ToJSON(data, limit)
	if err != nil {
		return err
	}
	unknown, err := kjson.UnmarshalStrict(converted, into)
	if err != nil {
		return err
	}
	if strict {
		return errors.Join(unknown...)
	}
	return nil
}

func checkSize(data []byte, limit int) error {
	if len(data) > limit {
		return fmt.Errorf("%d bytes are more than the limit of %d", len(data), limit)
	}
	return nil
}

// checkYAML parses the document into nodes without converting values, and checks the nodes.
func checkYAML(data []byte, expanded int) error {
	if err := countLines(data); err != nil {
		return err
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document yaml.Node
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		return errors.New("the document is empty")
	} else if err != nil {
		return err
	}
	c := &checker{expanded: expanded}
	c.check(&document, nil, 0)
	if len(c.errs) > 0 {
		return c.errs.ToAggregate()
	}
	var second yaml.Node
	if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
		return errors.New("only one document is allowed")
	}
	return nil
}

// looksLikeJSON reports whether a document begins like an object or a list in JSON. YAML in flow style does too.
func looksLikeJSON(data []byte) bool {
	data = bytes.TrimSpace(data)
	return data[0] == '{' || data[0] == '['
}

// checkJSON bounds the number of values and their depth in one pass over the bytes. It bounds YAML in flow style
// too, whose values need the same characters.
func checkJSON(data []byte) error {
	depth, values, quoted := 0, 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[', c == '{':
			if depth++; depth > maxDepth {
				return tooDeep()
			}
			values++
		case c == ']', c == '}':
			depth--
		case c == ',', c == ':':
			values++
		}
		if values > maxValues {
			return tooMany()
		}
	}
	return nil
}

// countLines bounds the number of values before a parser runs. Each value needs a line, or a character of flow
// style or of a nested list.
func countLines(data []byte) error {
	values := 0
	for _, c := range data {
		switch c {
		case '\n', ',', '[', '{', ':', '?', '-':
			values++
		}
		// Text contains these characters too. The parsed nodes are counted exactly.
		if values > 4*maxValues {
			return tooMany()
		}
	}
	return nil
}

func tooDeep() error {
	return fmt.Errorf("more than %d levels of lists and mappings", maxDepth)
}

func tooMany() error {
	return fmt.Errorf("more than %d values", maxValues)
}

// Split returns the documents of a file of at most limit bytes, in order. It does not parse them. Documents that
// hold only comments are included.
func Split(data []byte, limit int) ([][]byte, error) {
	if err := checkSize(data, limit); err != nil {
		return nil, err
	}
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	var out [][]byte
	for {
		document, err := reader.Read()
		switch {
		case errors.Is(err, io.EOF):
			return out, nil
		case err != nil:
			return nil, fmt.Errorf("document %d: split: %w", len(out)+1, err)
		}
		out = append(out, document)
	}
}
