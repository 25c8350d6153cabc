// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"certrotation.dev/controller/bootstrap"
)

// standardInput is the file name that stands for standard input.
const standardInput = "-"

// Options of the command.
type Options struct {
	// Configs are files of YAML documents, which are read as one.
	Configs   []string
	OutputDir string
}

// AddFlags adds the flags.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringArrayVar(&o.Configs, "config", nil,
		"File containing the objects of the cluster as YAML documents, - for standard input. May be repeated; the files are read as one. Required.")
	flags.StringVar(&o.OutputDir, "output-dir", "", "The directory to create. It must not exist, or be empty. Required.")
}

// Validate returns everything that is wrong with the options.
func (o *Options) Validate() error {
	var errs []error
	if len(o.Configs) == 0 {
		errs = append(errs, errors.New("--config is required"))
	}
	if o.OutputDir == "" {
		return errors.Join(append(errs, errors.New("--output-dir is required"))...)
	}
	return errors.Join(append(errs, checkOutput(o.OutputDir))...)
}

// checkOutput refuses a directory that is not empty: keys in use would be lost.
func checkOutput(dir string) error {
	info, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("--output-dir: %w", err)
	}
	if !info.IsDir() {
		return fmt.Errorf("--output-dir %s is no directory", dir)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("--output-dir: %w", err)
	}
	if len(entries) > 0 {
		return fmt.Errorf("--output-dir %s is not empty: it has %s; name another directory, or remove this one if its keys are not in use", dir, entries[0].Name())
	}
	return nil
}

func (o *Options) read(in io.Reader) ([]byte, error) {
	var out []byte
	for _, name := range o.Configs {
		data, err := readConfig(name, in)
		if err != nil {
			return nil, fmt.Errorf("read --config %s: %w", name, err)
		}
		out = append(append(out, data...), "\n---\n"...)
	}
	return out, nil
}

func readConfig(name string, in io.Reader) ([]byte, error) {
	if name != standardInput {
		file, err := os.Open(filepath.Clean(name))
		if err != nil {
			return nil, err
		}
		defer file.Close()
		in = file
	}
	return io.ReadAll(io.LimitReader(in, bootstrap.MaxInputBytes+1))
}
