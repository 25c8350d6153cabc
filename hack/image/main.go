// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"certrotation.dev/hack/program"
)

// release is what an image says of itself.
type release struct {
	Name string
	program.Source
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("image", flag.ContinueOnError)
	var of release
	flags.StringVar(&of.Name, "name", manifestName, "The repository of the image, such as registry.example.com/certrotation.")
	flags.StringVar(&of.Version, "version", "", "The version, which is the tag too. Required.")
	flags.StringVar(&of.Commit, "commit", "", "The commit that is built. Required.")
	date := flags.String("date", "", "The date of the commit, in RFC 3339. Required.")
	ldflags := flags.String("ldflags", "", "The -ldflags of go build.")
	platforms := flags.String("platforms", "linux/amd64,linux/arm64", "For which platforms, with a comma between two.")
	dir := flags.String("output-dir", "bin/image", "Where everything is written.")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%q is no flag", flags.Arg(0))
	}
	if of.Version == "" || of.Commit == "" || *date == "" {
		return fmt.Errorf("--version, --commit and --date are required (make image gives them)")
	}
	var err error
	if of.Date, err = time.Parse(time.RFC3339, *date); err != nil {
		return fmt.Errorf("--date: %w", err)
	}
	wanted, err := parsePlatforms(*platforms)
	if err != nil {
		return err
	}
	return of.make(ctx, wanted, *ldflags, *dir, out)
}

func parsePlatforms(text string) ([]v1.Platform, error) {
	var out []v1.Platform
	for one := range strings.SplitSeq(text, ",") {
		p, err := v1.ParsePlatform(one)
		if err != nil || p.OS == "" || p.Architecture == "" {
			return nil, fmt.Errorf("--platforms: %q is no platform, such as linux/amd64", one)
		}
		out = append(out, *p)
	}
	return out, nil
}

// make builds program, image and bill of materials of each platform, and the index of all.
func (of *release) make(ctx context.Context, platforms []v1.Platform, ldflags, dir string, out io.Writer) error {
	var images []platformImage
	for _, p := range platforms {
		file := filepath.Join(dir, p.Architecture, "certrotation")
		if err := program.Build(ctx, "certrotation", p, ldflags, file); err != nil {
			return err
		}
		image, err := of.image(p, file)
		if err != nil {
			return fmt.Errorf("image of %s: %w", p.String(), err)
		}
		if err := of.WriteBill(file, filepath.Join(dir, "certrotation-"+p.Architecture+".spdx.json")); err != nil {
			return fmt.Errorf("bill of materials of %s: %w", p.String(), err)
		}
		images = append(images, platformImage{platform: p, image: image})
	}
	digest, err := of.write(images, dir)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s:%s@%s\n", of.Name, of.tag(), digest)
	return err
}
