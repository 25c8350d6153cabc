// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"certrotation.dev/controller/rollout/generation"
)

// readBounded reads a file of the node's disk that has at most limit bytes, through no link.
func readBounded(file string, limit int64) ([]byte, error) {
	f, err := openOld(file)
	if err != nil {
		return nil, err
	}
	return readAll(f, file, limit)
}

// readGiven reads a file that the operator has named, which may be a link.
func readGiven(file string, limit int64) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	return readAll(f, file, limit)
}

func readAll(f *os.File, file string, limit int64) ([]byte, error) {
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("read %s: it is larger than %d bytes", file, limit)
	}
	return data, nil
}

// readRecord reads generation.json of a generation that was found to be intact.
func readRecord(dir string) (*generation.Record, error) {
	file := filepath.Join(dir, generation.RecordName)
	data, err := readBounded(file, generation.MaxRecordBytes)
	if err != nil {
		return nil, err
	}
	was, err := generation.ParseRecord(data)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	return was, nil
}

// tooOpen is the mode of a file if others than its owner may use it, "" if not.
func tooOpen(info fs.FileInfo) string {
	if info.Mode().Perm()&0o077 == 0 {
		return ""
	}
	return fmt.Sprintf("%04o", info.Mode().Perm())
}

// exists says whether there is anything at a path.
func exists(file string) bool {
	_, err := os.Lstat(file)
	return err == nil
}
