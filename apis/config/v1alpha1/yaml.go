// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"

	"k8s.io/apimachinery/pkg/util/validation/field"
	sigsyaml "sigs.k8s.io/yaml"
)

// maxExpandedSize leaves room for the quotes of JSON, but little for aliases: the cost of validation grows with the number
// of leaves and parties, however they are written.
const maxExpandedSize = 2 * MaxSize

// yamlToJSON converts a single YAML document. Duplicate keys are found here, on the parsed nodes, because the
// conversion would report them by line and not by path.
func yamlToJSON(data []byte) ([]byte, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document yaml.Node
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		return nil, decodeError(errors.New("the document is empty"))
	} else if err != nil {
		return nil, decodeError(err)
	}
	var second yaml.Node
	if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
		return nil, decodeError(errors.New("only one document is allowed"))
	}
	if errs := duplicateKeys(&document, nil); len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	converted, err := sigsyaml.YAMLToJSONStrict(data)
	if err != nil {
		return nil, decodeError(err)
	}
	if len(converted) > maxExpandedSize {
		return nil, decodeError(fmt.Errorf("as JSON, with its aliases expanded, the document is larger than %d bytes", maxExpandedSize))
	}
	return converted, nil
}

// duplicateKeys does not follow aliases: what they stand for is visited where it is written, so that the cost is linear
// in the size of the document.
func duplicateKeys(node *yaml.Node, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch node.Kind {
	case yaml.ScalarNode, yaml.AliasNode:
	case yaml.DocumentNode:
		for _, child := range node.Content {
			errs = append(errs, duplicateKeys(child, path)...)
		}
	case yaml.SequenceNode:
		for i, child := range node.Content {
			errs = append(errs, duplicateKeys(child, path.Index(i))...)
		}
	case yaml.MappingNode:
		seen := make(map[string]int, len(node.Content)/2)
		for i := 0; i+1 < len(node.Content); i += 2 {
			key, value := node.Content[i], node.Content[i+1]
			child := path.Child(key.Value)
			if line, ok := seen[key.Value]; ok {
				errs = append(errs, field.Forbidden(child, fmt.Sprintf("duplicate field in line %d, first in line %d", key.Line, line)))
				continue
			}
			seen[key.Value] = key.Line
			errs = append(errs, duplicateKeys(value, child)...)
		}
	}
	return errs
}
