// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

const (
	imageName = "certrotation.dev/certrotation"
	// unpinned is the digest in manifests and chart until there is an image.
	unpinned = "sha256:0000000000000000000000000000000000000000000000000000000000000000"
)

var isDigest = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// makeImage has hack/image build it, and takes its archive. The programs in it are also those that are released for Linux.
func (of *release) makeImage(ctx context.Context) error {
	err := command(ctx, nil, "go", "run", "./hack/image", "--name="+imageName, "--version="+of.Version, "--commit="+of.Commit,
		"--date="+of.Date.Format(time.RFC3339), "--ldflags="+of.ldflags, "--output-dir="+of.image)
	if err != nil {
		return err
	}
	if err := of.readDigest(); err != nil {
		return err
	}
	return copyFile(filepath.Join(of.image, "certrotation.tar"), filepath.Join(of.dir, "certrotation-image.tar"))
}

func (of *release) readDigest() error {
	text, err := os.ReadFile(filepath.Join(of.image, "digest"))
	if err != nil {
		return err
	}
	of.digest = strings.TrimSpace(string(text))
	if !isDigest.MatchString(of.digest) || of.digest == unpinned {
		return fmt.Errorf("the image in %s has the digest %q, which is none", of.image, of.digest)
	}
	return nil
}

// pin names the image by its digest.
func (of *release) pin(text []byte) ([]byte, error) {
	pinned := strings.ReplaceAll(string(text), unpinned, of.digest)
	if !strings.Contains(pinned, of.digest) {
		return nil, fmt.Errorf("no image has the digest %s, which is replaced by that of the release", unpinned)
	}
	return []byte(pinned), nil
}

func copyFile(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o644)
}
