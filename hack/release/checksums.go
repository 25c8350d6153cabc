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

// writeChecksums writes those of all files of a directory, and returns how many they are.
func writeChecksums(dir string) (int, error) {
	text, err := sums(dir)
	if err != nil {
		return 0, err
	}
	return strings.Count(text, "\n"), os.WriteFile(filepath.Join(dir, checksums), []byte(text), 0o644)
}

// sums has a line for each file of a directory but the checksums, in the form of sha256sum.
func sums(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	for _, entry := range entries {
		if entry.Name() == checksums {
			continue
		}
		content, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&text, "%x  %s\n", sha256.Sum256(content), entry.Name())
	}
	return text.String(), nil
}
