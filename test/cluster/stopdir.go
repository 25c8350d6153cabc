// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// StopDir ends every process recorded in dir, newest first, no matter which command started it, and reports each on
// progress. If another process has the id of a recorded one, StopDir removes the record and leaves that process
// alone. A missing directory is no error.
func StopDir(ctx context.Context, dir string, progress io.Writer) error {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	unlock, err := lock(ctx, dir)
	if err != nil {
		return err
	}
	defer unlock()
	records, err := listRecords(dir)
	if err != nil {
		return err
	}
	var errs []error
	for _, rec := range records {
		state, err := stopRecorded(ctx, dir, rec)
		if err != nil {
			errs = append(errs, fmt.Errorf("stop %s (pid %d): %w", rec.Name, rec.Pid, err))
			continue
		}
		fmt.Fprintf(progress, "%-24s %s (pid %d)\n", rec.Name, state, rec.Pid)
	}
	return errors.Join(errs...)
}

func stopRecorded(ctx context.Context, dir string, rec record) (state string, err error) {
	found, err := adopt(rec)
	if err != nil {
		// The process is gone, or another one has its id.
		return "was not running", removeRecord(dir, rec.Name)
	}
	p := NewProcess(ProcessConfig{Name: rec.Name, Dir: dir})
	p.run = found
	return "stopped", p.Stop(ctx)
}

// listRecords returns the records of dir, the newest start first.
func listRecords(dir string) ([]record, error) {
	files, err := filepath.Glob(recordFile(dir, "*"))
	if err != nil {
		return nil, err
	}
	var records []record
	for _, file := range files {
		rec, err := readRecord(dir, strings.TrimSuffix(filepath.Base(file), ".json"))
		if err != nil {
			return nil, err
		}
		records = append(records, rec)
	}
	slices.SortFunc(records, func(a, b record) int { return b.Started.Compare(a.Started) })
	return records, nil
}
