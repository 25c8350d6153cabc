// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package document

// Bounds of one document. What Kubernetes objects need is far below: the schema of a pod is 20 levels deep.
const (
	// MaxDepth of lists and mappings.
	MaxDepth = 64
	// MaxValues of a document, keys included. In memory each takes some 200 bytes while a document is read.
	MaxValues = 200000
)
