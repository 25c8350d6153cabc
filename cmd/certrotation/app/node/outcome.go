// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"certrotation.dev/controller/durable"
	"certrotation.dev/controller/rollout/generation"
)

// Reasons of an outcome that is an error.
const (
	// ReasonNewer: the node has a later revision; there is nothing to do.
	ReasonNewer = "Newer"
	// ReasonRefused: the revision cannot be installed; a retry does not help.
	ReasonRefused = "Refused"
	// ReasonBusy: another installer or pruner did not end in time.
	ReasonBusy = "Busy"
	// ReasonInterrupted: --timeout has passed, or the pod was terminated.
	ReasonInterrupted = "Interrupted"
	// ReasonFailed is everything else, such as a full disk.
	ReasonFailed = "Failed"
)

// maxLine is the longest termination message that Kubernetes keeps, in bytes.
const maxLine = 4096

// outcome is the termination message. It holds no Secret data: errors name files, names and hashes.
type outcome struct {
	Revision int    `json:"revision"`
	Changed  *bool  `json:"changed,omitempty"`
	Restart  *bool  `json:"restart,omitempty"`
	Reason   string `json:"reason,omitempty"`
	Error    string `json:"error,omitempty"`
}

func reasonOf(err error) string {
	switch {
	case errors.Is(err, generation.ErrNewer):
		return ReasonNewer
	case errors.Is(err, generation.ErrContent):
		return ReasonRefused
	case errors.Is(err, durable.ErrBusy):
		return ReasonBusy
	case errors.Is(err, context.Canceled), errors.Is(err, errTimeout):
		return ReasonInterrupted
	}
	return ReasonFailed
}

var errTimeout = errors.New("the time is up")

// line returns one line of JSON, with a shortened error if it is too long.
func (m outcome) line() ([]byte, error) {
	for {
		text, err := json.Marshal(m)
		if err != nil {
			return nil, fmt.Errorf("encode the outcome: %w", err)
		}
		if len(text) < maxLine {
			return append(text, '\n'), nil
		}
		runes := []rune(m.Error)
		m.Error = string(runes[:len(runes)/2]) + "…"
	}
}

// write prints the message, and writes it to the file if that exists, which it does only in a pod.
func (m outcome) write(file string) error {
	line, err := m.line()
	if err != nil {
		return err
	}
	fmt.Print(string(line))
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_TRUNC, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open --termination-log: %w", err)
	}
	_, err = f.Write(line)
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write --termination-log: %w", err)
	}
	return nil
}
