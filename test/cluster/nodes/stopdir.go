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

// StopDir ends the nodes of a detached network, no matter which process started them, and removes its leftovers from
// the kernel. The directory stays. A directory without nodes is no error.
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

// releaseDir frees the number of a network that no longer runs, if the network still has it.
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
