// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"time"
)

// event is one line of `go test -json`; the fields are described by `go doc test2json`.
type event struct {
	Time        time.Time
	Action      string
	Package     string
	ImportPath  string // Instead of Package, in build-output and build-fail.
	Test        string
	Elapsed     float64 // Seconds.
	Output      string
	FailedBuild string // In the fail of a package: what did not compile.
}

// readEvents calls add for each event. A line that is no event, such as an error of the go command itself, becomes one
// that says so, because it must not get lost.
func readEvents(r io.Reader, add func(event)) error {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			var e event
			if json.Unmarshal(line, &e) != nil || e.Action == "" {
				e = event{Action: "stray", Output: string(line)}
			}
			add(e)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
