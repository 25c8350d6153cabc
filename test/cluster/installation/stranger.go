// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Stranger follows docs/install.md word for word, in a directory with only the manifests and this machine's image.
type Stranger struct {
	in          *Installation
	dir         string
	environment map[string]string
}

// What a Stranger adds to the page: the environment with which pods find kube-apiserver, where Services have no
// addresses.
const (
	environmentPatch = `patches:
- target: {kind: Deployment, name: certrotation-.*}
  patch: |-
`
	kustomizationFile, valuesFile = "kustomization.yaml", "values.yaml"
)

// NewStranger returns a Stranger whose pods get the environment variables.
func (in *Installation) NewStranger(environment map[string]string) (*Stranger, error) {
	s := &Stranger{in: in, dir: filepath.Join(in.Cluster.Dir(), "stranger"), environment: environment}
	if err := os.MkdirAll(filepath.Join(s.dir, "bin"), 0o755); err != nil {
		return nil, err
	}
	for name, target := range map[string]string{"manifests": "manifests", "bin/image": "bin/image-local"} {
		if err := os.Symlink(filepath.Join(in.root, target), filepath.Join(s.dir, name)); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
	}
	return s, os.WriteFile(filepath.Join(s.dir, valuesFile), []byte(s.values()), 0o600)
}

func (s *Stranger) variables(format string) string {
	var out strings.Builder
	for _, key := range slices.Sorted(maps.Keys(s.environment)) {
		fmt.Fprintf(&out, format, key, s.environment[key])
	}
	return out.String()
}

func (s *Stranger) values() string { return "env:\n" + s.variables("- {name: %s, value: %q}\n") }

// Follow writes the files and runs the commands of a section of the page. If beginning is not empty, it only runs
// commands that start with one of its entries. It returns the output of each command.
func (s *Stranger) Follow(ctx context.Context, heading string, beginning ...string) (map[string]string, error) {
	blocks, err := s.in.section(heading)
	if err != nil {
		return nil, err
	}
	printed := map[string]string{}
	for i := range blocks {
		b := &blocks[i]
		if name := b.file(); name != "" {
			if err := s.write(name, b.lines[1:]); err != nil {
				return nil, err
			}
		}
		for _, command := range b.commands() {
			if len(beginning) > 0 && !slices.ContainsFunc(beginning, func(words string) bool { return strings.HasPrefix(command, words) }) {
				continue
			}
			if printed[command], err = s.run(ctx, command); err != nil {
				return nil, err
			}
		}
	}
	if len(printed) == 0 {
		return nil, fmt.Errorf("%s has no such commands below the heading %q", page, heading)
	}
	return printed, nil
}

func (s *Stranger) write(name string, lines []string) error {
	text := strings.Join(lines, "\n") + "\n"
	if name == kustomizationFile {
		text += environmentPatch + s.variables("    - {op: add, path: /spec/template/spec/containers/0/env/-, value: {name: %s, value: %q}}\n")
	}
	return os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600)
}

func (s *Stranger) run(ctx context.Context, command string) (string, error) {
	if strings.HasPrefix(command, "helm install ") {
		command += " --values=" + valuesFile
	}
	cmd := exec.CommandContext(ctx, "bash", "-e", "-o", "pipefail", "-c", command)
	cmd.Dir = s.dir
	var path []string
	for _, program := range []string{s.in.Cluster.Tool("kubectl"), s.in.Cluster.Tool("helm"), s.in.Binary("certrotation")} {
		path = append(path, filepath.Dir(program))
	}
	cmd.Env = append(os.Environ(), "KUBECONFIG="+s.in.Cluster.Kubeconfig(), "KUBECACHEDIR="+filepath.Join(s.in.Cluster.Dir(), "kube-cache"), "HOME="+s.dir,
		"PATH="+strings.Join(append(path, os.Getenv("PATH")), ":"))
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%s says: %s: %w: %s%s", page, command, err, out.String(), errs.String())
	}
	s.in.say("$ %s", command)
	return out.String(), nil
}
