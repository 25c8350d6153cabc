// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// record describes a running process in processes/NAME.json. NAME.pid holds the process id alone, because people feed
// pid files to kill.
type record struct {
	Name string `json:"name"`
	Pid  int    `json:"pid"`
	// Identity distinguishes this process from a later one with the same id (see processIdentity).
	Identity string `json:"identity"`
	// Fingerprint covers executable, arguments and environment.
	Fingerprint string    `json:"fingerprint"`
	Started     time.Time `json:"started"`
}

// alive reports whether the recorded process runs, not just one with the same id.
func (r record) alive() bool { return identityMatches(r.Pid, r.Identity) }

func identityMatches(pid int, identity string) bool {
	if identity == "" {
		return false
	}
	now, err := processIdentity(pid)
	return err == nil && now == identity
}

func recordFile(dir, name string) string { return filepath.Join(dir, "processes", name+".json") }

func readRecord(dir, name string) (record, error) {
	text, err := os.ReadFile(recordFile(dir, name))
	if err != nil {
		return record{}, err
	}
	var rec record
	if err := json.Unmarshal(text, &rec); err != nil {
		return record{}, fmt.Errorf("parse %s: %w", recordFile(dir, name), err)
	}
	return rec, nil
}

// writeRecord writes the pid file last, so that its readers find the rest.
func writeRecord(dir string, rec record) error {
	text, err := json.MarshalIndent(rec, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(dir, "processes"), 0o700); err != nil {
		return err
	}
	if err := writeFile(recordFile(dir, rec.Name), append(text, '\n'), 0o600); err != nil {
		return err
	}
	return writeFile(filepath.Join(dir, rec.Name+".pid"), fmt.Appendf(nil, "%d\n", rec.Pid), 0o644)
}

func removeRecord(dir, name string) error {
	var errs []error
	for _, file := range []string{filepath.Join(dir, name+".pid"), recordFile(dir, name)} {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// writeFile writes beside path and renames, so that no reader sees half a file.
func writeFile(path string, data []byte, mode fs.FileMode) error {
	if err := os.WriteFile(path+".new", data, mode); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// fingerprint covers everything that decides how the process behaves. It hashes the content of the executable, so
// that a rebuild without a change keeps the fingerprint.
func (p *Process) fingerprint() string {
	sum := sha256.New()
	fmt.Fprintf(sum, "%q %q %q", p.cfg.Path, p.cfg.Args, p.cfg.Env)
	if file, err := os.Open(p.cfg.Path); err == nil {
		defer func() { _ = file.Close() }()
		// An executable that cannot be read fails to start, and that error says why.
		_, _ = io.Copy(sum, file)
	}
	return hex.EncodeToString(sum.Sum(nil))
}
