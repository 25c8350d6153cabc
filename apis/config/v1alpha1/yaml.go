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

// yamlToJSON converts a single YAML document. Aliases are refused: what they stand for is written once and read many
// times, and a configuration says what it says where it says it. Duplicate keys are found here, on the parsed nodes,
// because the conversion would report them by line and not by path.
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
	if errs := checkNode(&document, nil); len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	converted, err := sigsyaml.YAMLToJSONStrict(data)
	if err != nil {
		return nil, decodeError(err)
	}
	return converted, nil
}

// checkNode finds aliases, anchors and duplicate keys.
func checkNode(node *yaml.Node, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if node.Kind == yaml.AliasNode || node.Anchor != "" {
		return field.ErrorList{field.Forbidden(orDocument(path), fmt.Sprintf("line %d: aliases and anchors of YAML are not read: write out what they stand for", node.Line))}
	}
	switch node.Kind {
	case yaml.ScalarNode, yaml.AliasNode:
	case yaml.DocumentNode:
		for _, child := range node.Content {
			errs = append(errs, checkNode(child, path)...)
		}
	case yaml.SequenceNode:
		for i, child := range node.Content {
			errs = append(errs, checkNode(child, path.Index(i))...)
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
			errs = append(errs, checkNode(key, child)...)
			errs = append(errs, checkNode(value, child)...)
		}
	}
	return errs
}

// orDocument names the root.
func orDocument(path *field.Path) *field.Path {
	if path == nil {
		return field.NewPath("document")
	}
	return path
}
