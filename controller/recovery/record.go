// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
)

// maxRecordBytes bounds generation.json.
const maxRecordBytes = 4 << 20

// record is generation.json; see controller/rollout/generation.
type record struct {
	Revision    int64  `json:"revision"`
	ContentHash string `json:"contentHash"`
	RestartHash string `json:"restartHash"`
	Node        string `json:"node"`
	// Files are the SHA-256 of the files by their path relative to the generation.
	Files map[string]string `json:"files"`
	// RecoveredFrom is the ID of the generation that this one was made from.
	RecoveredFrom string `json:"recoveredFrom,omitempty"`
}

// readRecord reads generation.json of a generation that was found to be intact.
func readRecord(dir string) (*record, error) {
	file := filepath.Join(dir, recordName)
	data, err := readBounded(file, maxRecordBytes)
	if err != nil {
		return nil, err
	}
	was, err := parseRecord(data)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	return was, nil
}

func parseRecord(data []byte) (*record, error) {
	was := &record{}
	if err := json.Unmarshal(data, was); err != nil {
		return nil, err
	}
	if len(was.Files) == 0 {
		return nil, errors.New("it lists no files")
	}
	return was, nil
}
