// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"certrotation.dev/hack/program"
)

// release is a version, and where it is made from and to.
type release struct {
	program.Source
	// digest of the image, once there is one.
	digest  string
	ldflags string
	// url is from where krew downloads the archives, repository where go finds the source.
	url, repository string
	// tools has helm and krew, image what hack/image makes.
	tools, image, dir string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	of, err := parse(args)
	if err != nil {
		return err
	}
	changes, err := readChanges("CHANGELOG.md", of.Version)
	if err != nil {
		return err
	}
	history := repository(".")
	if err := history.isAt(ctx, of.Commit); err != nil {
		return err
	}
	commits, err := history.since(ctx, of.Version)
	if err != nil {
		return err
	}
	if err := of.begin(); err != nil {
		return err
	}
	if err := of.makeImage(ctx); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{of.programs, of.manifests, of.chart, of.goImport} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	if err := of.writeNotes(changes, commits); err != nil {
		return err
	}
	files, err := writeChecksums(of.dir)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s of %s: %d files and checksums.txt in %s, image %s@%s\n", of.Version, of.Commit, files, of.dir, imageName, of.digest)
	return err
}

func parse(args []string) (*release, error) {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	var of release
	flags.StringVar(&of.Version, "version", "", "The version, which is that of the newest entry of CHANGELOG.md. Required.")
	flags.StringVar(&of.Commit, "commit", "", "The commit that is released. Required.")
	date := flags.String("date", "", "The date of the commit, in RFC 3339. Required.")
	flags.StringVar(&of.ldflags, "ldflags", "", "The -ldflags of go build.")
	flags.StringVar(&of.url, "download-url", "https://certrotation.dev/releases/VERSION", "Where the files will be, for krew. VERSION is replaced.")
	flags.StringVar(&of.repository, "repository-url", "https://certrotation.dev/certrotation.git", "The git repository, for go get.")
	flags.StringVar(&of.tools, "tools", "bin/tools", "Where helm and krew are.")
	flags.StringVar(&of.image, "image-dir", "bin/image", "Where the image is built.")
	flags.StringVar(&of.dir, "output-dir", "dist", "Where everything is written. What an earlier run has written there is removed.")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("%q is no flag", flags.Arg(0))
	}
	if of.Version == "" || of.Commit == "" || *date == "" {
		return nil, errors.New("--version, --commit and --date are required (make release gives them)")
	}
	var err error
	if of.Date, err = time.Parse(time.RFC3339, *date); err != nil {
		return nil, fmt.Errorf("--date: %w", err)
	}
	of.url = strings.TrimRight(strings.ReplaceAll(of.url, "VERSION", of.Version), "/")
	for name, value := range map[string]string{"download-url": of.url, "repository-url": of.repository} {
		if !strings.HasPrefix(value, "https://") {
			return nil, fmt.Errorf("--%s: %q is no https URL", name, value)
		}
	}
	return &of, nil
}

// begin empties the directory, if it is one of a release.
func (of *release) begin() error {
	entries, err := os.ReadDir(of.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if len(entries) > 0 {
		if _, err := os.Stat(filepath.Join(of.dir, checksums)); err != nil {
			return fmt.Errorf("--output-dir: %s has files, and none of them is %s: it is not emptied", of.dir, checksums)
		}
	}
	if err := os.RemoveAll(of.dir); err != nil {
		return err
	}
	if err := os.MkdirAll(of.dir, 0o755); err != nil {
		return err
	}
	// What is not finished is known as a release too.
	return os.WriteFile(filepath.Join(of.dir, checksums), nil, 0o644)
}

// command runs a program of the repository, whose output people see.
func command(ctx context.Context, env []string, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), env...)
	text, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, text)
	}
	return nil
}
