// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
)

// Split returns the documents of a file of at most limit bytes, in order, those that hold nothing but comments too. None of
// them was parsed.
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
