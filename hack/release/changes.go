// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	utilversion "k8s.io/apimachinery/pkg/util/version"
)

// readChanges returns what the newest entry of a changelog says, which is that of the version.
func readChanges(file, version string) (string, error) {
	if _, err := utilversion.ParseSemantic(version); err != nil || !strings.HasPrefix(version, "v") || strings.Contains(version, "+") {
		return "", fmt.Errorf("%q is no version that can be released: v1.2.3, or v1.2.3-rc.1", version)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	_, entries, found := strings.Cut(string(text), "\n## ")
	if !found {
		return "", fmt.Errorf("%s has no entry (## %s)", file, version)
	}
	entry, _, _ := strings.Cut(entries, "\n## ")
	newest, says, _ := strings.Cut(entry, "\n")
	if newest = strings.TrimSpace(newest); newest != version {
		return "", fmt.Errorf("%s is released, and the newest entry of %s is %s: write one, or release that", version, file, newest)
	}
	if says = strings.TrimSpace(says); says == "" {
		return "", fmt.Errorf("the entry of %s in %s says nothing", version, file)
	}
	return says, nil
}

// repository is a work tree of git.
type repository string

// isAt fails unless the work tree is what the commit has.
func (r repository) isAt(ctx context.Context, commit string) error {
	head, err := r.git(ctx, "rev-parse", "HEAD")
	if err != nil {
		return err
	}
	if head != commit {
		return fmt.Errorf("the work tree is at %s, and --commit says %s", head, commit)
	}
	changed, err := r.git(ctx, "status", "--porcelain")
	if err != nil {
		return err
	}
	if changed != "" {
		return fmt.Errorf("a release is made of a commit, and the work tree has changes; commit or remove them:\n%s", changed)
	}
	return nil
}

// commits of a version.
type commits struct {
	// before is the version before, "" if there was none.
	before string
	// list has the name and the subject of each since then, the newest first.
	list []string
}

// since returns the commits since the version before. A version that was tagged is not made again of another commit.
func (r repository) since(ctx context.Context, version string) (commits, error) {
	tagged, err := r.git(ctx, "tag", "--list", version)
	if err != nil {
		return commits{}, err
	}
	if tagged != "" {
		at, err := r.git(ctx, "rev-list", "-n1", version)
		if err != nil {
			return commits{}, err
		}
		head, err := r.git(ctx, "rev-parse", "HEAD")
		if err != nil {
			return commits{}, err
		}
		if at != head {
			return commits{}, fmt.Errorf("%s is the tag of %s: another commit gets another version", version, at)
		}
	}
	// A candidate comes before its release.
	tags, err := r.git(ctx, "-c", "versionsort.suffix=-", "tag", "--merged=HEAD", "--sort=-version:refname", "--list", "v[0-9]*")
	if err != nil {
		return commits{}, err
	}
	for tag := range strings.FieldsSeq(tags) {
		if tag == version {
			continue
		}
		log, err := r.git(ctx, "log", "--no-merges", "--abbrev=12", "--format=%h %s", tag+"..HEAD")
		if err != nil {
			return commits{}, err
		}
		if log == "" {
			return commits{}, fmt.Errorf("there is no commit since %s", tag)
		}
		return commits{before: tag, list: strings.Split(log, "\n")}, nil
	}
	return commits{}, nil
}

func (r repository) git(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = string(r)
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}

// writeNotes writes what people read of the release, with the digests of the image and of all files that are there.
func (of *release) writeNotes(changes string, since commits) error {
	digests, err := sums(of.dir)
	if err != nil {
		return err
	}
	var text strings.Builder
	fmt.Fprintf(&text, "# certrotation %s\n\n%s\n\n## Image\n\n`%s:%s@%s`\n", of.Version, changes, imageName, of.Version, of.digest)
	fmt.Fprintf(&text, "\n## Files\n\nSHA-256, also in %s:\n\n```\n%s```\n", checksums, digests)
	if since.before != "" {
		fmt.Fprintf(&text, "\n## Commits since %s\n\n- %s\n", since.before, strings.Join(since.list, "\n- "))
	}
	return os.WriteFile(filepath.Join(of.dir, "NOTES.md"), []byte(text.String()), 0o644)
}
