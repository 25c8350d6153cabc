// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const checksums = "checksums.txt"

// writeChecksums writes those of all files of a directory, in the form of sha256sum, and returns how many they are.
func writeChecksums(dir string) (int, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	var text strings.Builder
	files := 0
	for _, entry := range entries {
		if entry.Name() == checksums {
			continue
		}
		content, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			return 0, err
		}
		fmt.Fprintf(&text, "%x  %s\n", sha256.Sum256(content), entry.Name())
		files++
	}
	return files, os.WriteFile(filepath.Join(dir, checksums), []byte(text.String()), 0o644)
}
