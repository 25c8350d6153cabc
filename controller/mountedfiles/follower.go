// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package mountedfiles

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Follower notices that files have changed.
type Follower struct {
	names []string
	seen  string
}

// NewFollower returns a Follower to which all that it sees first is a change. Empty names are nothing.
func NewFollower(names ...string) *Follower { return &Follower{names: names} }

// Changed says whether a file is another one than when it was asked last: swapped, written, gone or there again.
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
