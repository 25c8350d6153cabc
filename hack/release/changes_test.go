// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

func TestReadChanges(t *testing.T) {
	const two = "# Changelog\n\n## v0.2.0\n\nNew.\n\nMore.\n\n## v0.1.0\n\nOld.\n"
	for name, tt := range map[string]struct {
		text, version string
		want, says    string
	}{
		"the newest":             {text: two, version: "v0.2.0", want: "New.\n\nMore."},
		"the only one":           {text: "# Changelog\n\n## v0.1.0-rc.1\nFirst.\n", version: "v0.1.0-rc.1", want: "First."},
		"an older one":           {text: two, version: "v0.1.0", says: "is v0.2.0"},
		"one without an entry":   {text: two, version: "v0.3.0", says: "is v0.2.0"},
		"an empty entry":         {text: "# Changelog\n\n## v0.2.0\n\n## v0.1.0\n\nOld.\n", version: "v0.2.0", says: "says nothing"},
		"no entry":               {text: "# Changelog\n", version: "v0.1.0", says: "no entry"},
		"no v":                   {text: two, version: "0.2.0", says: "no version"},
		"no semantic version":    {text: two, version: "v0.2", says: "no version"},
		"a build of the version": {text: two, version: "v0.2.0+dirty", says: "no version"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "CHANGELOG.md")
			if err := os.WriteFile(file, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := readChanges(file, tt.version)
			if got != tt.want || (err != nil) != (tt.says != "") || err != nil && !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %q, %v, want %q, %q", got, err, tt.want, tt.says)
			}
		})
	}
}

// TestVersionIsSaidOnce: the chart of the repository has the version of the newest entry of the changelog, and that can be released.
func TestVersionIsSaidOnce(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	text, err := os.ReadFile(filepath.Join("manifests", "chart", "Chart.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var chart struct {
		Version    string `json:"version"`
		AppVersion string `json:"appVersion"`
	}
	if err := yaml.Unmarshal(text, &chart); err != nil {
		t.Fatal(err)
	}
	if chart.AppVersion != "v"+chart.Version {
		t.Errorf("the chart has the versions %s and %s", chart.Version, chart.AppVersion)
	}
	if _, err := readChanges("CHANGELOG.md", chart.AppVersion); err != nil {
		t.Error(err)
	}
}

// history is a repository with the commits first, second and third.
func history(t *testing.T) repository {
	t.Helper()
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	for _, who := range []string{"AUTHOR", "COMMITTER"} {
		t.Setenv("GIT_"+who+"_NAME", "a")
		t.Setenv("GIT_"+who+"_EMAIL", "a@example.com")
	}
	r := repository(t.TempDir())
	r.run(t, "init", "--quiet")
	for _, subject := range []string{"first", "second", "third"} {
		r.run(t, "commit", "--quiet", "--allow-empty", "--message="+subject)
	}
	return r
}

func (r repository) run(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", string(r)}, args...)...).CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v: %s", args, err, out)
	}
}

func TestCommitsSinceTheVersionBefore(t *testing.T) {
	for name, tt := range map[string]struct {
		tags   map[string]string
		before string
		want   []string
		says   string
	}{
		"no version before":         {},
		"one":                       {tags: map[string]string{"v0.1.0": "HEAD~2"}, before: "v0.1.0", want: []string{"third", "second"}},
		"the later of two":          {tags: map[string]string{"v0.9.0": "HEAD~2", "v0.10.0": "HEAD~1"}, before: "v0.10.0", want: []string{"third"}},
		"a candidate":               {tags: map[string]string{"v0.9.0": "HEAD~2", "v0.9.0-rc.1": "HEAD~2"}, before: "v0.9.0", want: []string{"third", "second"}},
		"this one has its tag":      {tags: map[string]string{"v0.1.0": "HEAD~1", "v1.0.0": "HEAD"}, before: "v0.1.0", want: []string{"third"}},
		"another commit has it":     {tags: map[string]string{"v1.0.0": "HEAD~1"}, says: "another version"},
		"a tag that is no version":  {tags: map[string]string{"vendor": "HEAD~1"}},
		"the version before is now": {tags: map[string]string{"v0.1.0": "HEAD"}, says: "no commit"},
	} {
		t.Run(name, func(t *testing.T) {
			r := history(t)
			for tag, at := range tt.tags {
				r.run(t, "tag", tag, at)
			}
			got, err := r.since(t.Context(), "v1.0.0")
			if (err != nil) != (tt.says != "") || err != nil && !strings.Contains(err.Error(), tt.says) {
				t.Fatalf("it says %v, want %q", err, tt.says)
			}
			var subjects []string
			for _, commit := range got.list {
				_, subject, _ := strings.Cut(commit, " ")
				subjects = append(subjects, subject)
			}
			if got.before != tt.before || !slices.Equal(subjects, tt.want) {
				t.Errorf("got %+v, want %q since %q", got, tt.want, tt.before)
			}
		})
	}
}

func TestOnlyACommitIsReleased(t *testing.T) {
	r := history(t)
	head, err := r.git(t.Context(), "rev-parse", "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.isAt(t.Context(), head); err != nil {
		t.Errorf("the commit is refused: %v", err)
	}
	if err := r.isAt(t.Context(), "0a1b2c3d"); err == nil || !strings.Contains(err.Error(), "0a1b2c3d") {
		t.Errorf("another commit is released: %v", err)
	}
	if err := os.WriteFile(filepath.Join(string(r), "new.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.isAt(t.Context(), head); err == nil || !strings.Contains(err.Error(), "new.txt") {
		t.Errorf("a change is released: %v", err)
	}
}

func TestNotes(t *testing.T) {
	const files = "`\n\n## Files\n\nSHA-256, also in checksums.txt:\n\n```\n" +
		"ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb  a.txt\n```\n"
	for name, tt := range map[string]struct {
		since commits
		want  string
	}{
		"the first release": {want: "# certrotation v0.1.0\n\nIt begins.\n\n## Image\n\n`certrotation.dev/certrotation:v0.1.0@" + testDigest + files},
		"a later one": {
			since: commits{before: "v0.0.9", list: []string{"bb two", "aa one"}},
			want: "# certrotation v0.1.0\n\nIt begins.\n\n## Image\n\n`certrotation.dev/certrotation:v0.1.0@" + testDigest +
				files + "\n## Commits since v0.0.9\n\n- bb two\n- aa one\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			of := testRelease(t)
			if err := os.WriteFile(filepath.Join(of.dir, "a.txt"), []byte("a"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := of.writeNotes("It begins.", tt.since); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(filepath.Join(of.dir, "NOTES.md"))
			if err != nil || string(text) != tt.want {
				t.Errorf("the notes are\n%s%v", text, err)
			}
		})
	}
}
