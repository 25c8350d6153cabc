// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package reload

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Follower detects changes of files.
type Follower struct {
	names []string
	seen  string
}

// NewFollower returns a Follower whose first call of Changed reports a change. It ignores empty names.
func NewFollower(names ...string) *Follower { return &Follower{names: names} }

// Changed reports whether a file was swapped, written, removed or restored since the last call.
func (f *Follower) Changed() bool {
	var stamps strings.Builder
	for _, name := range f.names {
		stamps.WriteString(stamp(name))
	}
	changed := stamps.String() != f.seen
	f.seen = stamps.String()
	return changed
}

func stamp(name string) string {
	if name == "" {
		return "\n"
	}
	followed, err := filepath.EvalSymlinks(name)
	if err != nil {
		return err.Error() + "\n"
	}
	info, err := os.Stat(followed)
	if err != nil {
		return err.Error() + "\n"
	}
	return fmt.Sprintln(followed, info.Size(), info.ModTime().UnixNano(), info.Mode())
}
