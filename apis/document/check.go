// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"fmt"

	"go.yaml.in/yaml/v3"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// mostErrors bounds the reported errors of a document.
const mostErrors = 20

// checker finds aliases, anchors, merge keys, duplicate keys, and too many values or levels in the parsed nodes.
// The conversion to JSON reports a duplicate by its line, not by its path.
type checker struct {
	errs   field.ErrorList
	values int
	// expanded bounds the bytes of the values with what aliases stand for. At 0, aliases and anchors are refused.
	expanded, bytes int
	// over skips the rest of the document.
	over bool
}

func (c *checker) add(err *field.Error) {
	c.errs = append(c.errs, err)
	c.over = c.over || len(c.errs) >= mostErrors
}

func (c *checker) check(node *yaml.Node, path *field.Path, depth int) {
	if c.over {
		return
	}
	if c.values++; c.values > maxValues {
		c.add(field.Forbidden(orDocument(path), tooMany().Error()))
		c.over = true
		return
	}
	if depth > maxDepth {
		c.add(field.Forbidden(orDocument(path), tooDeep().Error()))
		c.over = true
		return
	}
	if c.bytes += len(node.Value); c.expanded > 0 && c.bytes > c.expanded {
		c.add(field.Forbidden(orDocument(path), fmt.Sprintf("aliases stand for over %d bytes", c.expanded)))
		c.over = true
		return
	}
	switch aliased := node.Kind == yaml.AliasNode; {
	case aliased && c.expanded > 0:
		// One that stands for itself ends at maxDepth.
		c.check(node.Alias, path, depth+1)
		return
	case c.expanded == 0 && (aliased || node.Anchor != ""):
		c.add(field.Forbidden(orDocument(path), fmt.Sprintf("line %d: YAML aliases and anchors are not supported: write out what they stand for", node.Line)))
		return
	}
	switch node.Kind {
	case yaml.ScalarNode, yaml.AliasNode:
	case yaml.DocumentNode:
		for _, child := range node.Content {
			c.check(child, path, depth)
		}
	case yaml.SequenceNode:
		for i, child := range node.Content {
			c.check(child, path.Index(i), depth+1)
		}
	case yaml.MappingNode:
		c.checkMapping(node, path, depth)
	}
}

func (c *checker) checkMapping(node *yaml.Node, path *field.Path, depth int) {
	seen := make(map[string]int, len(node.Content)/2)
	for i := 0; i+1 < len(node.Content) && !c.over; i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		child := path.Child(key.Value)
		if line, ok := seen[key.Value]; ok {
			c.add(field.Forbidden(child, fmt.Sprintf("duplicate field in line %d, first in line %d", key.Line, line)))
			continue
		}
		if key.ShortTag() == "!!merge" {
			c.add(field.Forbidden(child, fmt.Sprintf("line %d: YAML merge keys are not supported: write out what is merged", key.Line)))
			continue
		}
		seen[key.Value] = key.Line
		c.check(key, child, depth+1)
		c.check(value, child, depth+1)
	}
}

// orDocument returns a name for the root, which has no path.
func orDocument(path *field.Path) *field.Path {
	if path == nil {
		return field.NewPath("document")
	}
	return path
}

// Bounds of one document. Kubernetes objects need far less: the schema of a pod is 20 levels deep.
const (
	// maxDepth of lists and mappings.
	maxDepth = 64
	// maxValues of a document, keys included. Each takes about 200 bytes of memory while a document is read.
	maxValues = 200000
)
