// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"certrotation.dev/test/cluster"
)

// StopDir ends the nodes of a detached network, whoever started them, and removes what is left of it in the kernel. The
// directory stays. A directory without nodes is no error.
func StopDir(ctx context.Context, dir string, progress io.Writer) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	s, err := loadState(dir)
	if err != nil || s.Number == 0 {
		return err
	}
	var errs []error
	for name := range s.Nodes {
		fmt.Fprintf(progress, "node %s:\n", name)
		if err := cluster.StopDir(ctx, filepath.Join(dir, name), progress); err != nil {
			errs = append(errs, fmt.Errorf("node %s: %w", name, err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return releaseDir(dir, s.Number)
}

// releaseDir gives back the number of a network that does not run any more, unless it is not its own.
func releaseDir(dir string, number int) error {
	text, err := os.ReadFile(filepath.Join(claimDir, fmt.Sprint(number)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if !claimedBy(string(text), dir) {
		return nil
	}
	c, err := tryClaim(number, dir, true)
	if err != nil {
		return err
	}
	if c == nil {
		return fmt.Errorf("the nodes in %s belong to a process that runs; it has to stop them", dir)
	}
	return errors.Join(removeLeftovers(number), c.release())
}
