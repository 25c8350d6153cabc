// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// module path, whose host has to say where the source is.
const module = "certrotation.dev"

const goImportFile = "go-import.html"

// goImport writes the page by which go finds the repository of the module.
func (of *release) goImport(context.Context) error {
	page := fmt.Sprintf("<!DOCTYPE html>\n<meta name=\"go-import\" content=\"%s git %s\">\n", module, of.repository)
	return os.WriteFile(filepath.Join(of.dir, goImportFile), []byte(page), 0o644)
}
