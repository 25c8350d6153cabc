// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"certrotation.dev/test/cluster/nodes"
)

const (
	// program is the path of certrotation on the nodes.
	program = "/opt/certrotation"
	// resources and output are the defaults of `certrotation recover`.
	resources = "/etc/kubernetes/static-pod-resources"
	output    = resources + "/recovered"
)

func (s *system) installProgram(node *nodes.Node) error {
	binary, err := os.ReadFile(s.Binary("certrotation"))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(node.Path(program)), 0o755); err != nil {
		return err
	}
	return os.WriteFile(node.Path(program), binary, 0o755)
}

// certrotation runs the program in a node, and returns its exit code and its output.
func certrotation(t *testing.T, node *nodes.Node, args ...string) (int, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, err := node.Command(ctx, append([]string{program}, args...)...).CombinedOutput()
	if bytes.Contains(out, []byte("PRIVATE KEY")) {
		t.Errorf("certrotation %v on %s prints a key", args, node.Name())
	}
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0, string(out)
	case errors.As(err, &exit):
		return exit.ExitCode(), string(out)
	}
	t.Fatalf("run certrotation %v on %s: %v", args, node.Name(), err)
	return 0, ""
}

// stopPod stops kubelet, which would restart the static pod, and then the pod. Removing the manifest is not
// enough: a kubelet that has not reached an API server since its start does not end the pod.
func stopPod(ctx context.Context, node *nodes.Node) error {
	if err := node.StopKubelet(ctx); err != nil {
		return err
	}
	for _, container := range []string{"etcd", "etcd-metrics"} {
		if _, err := node.RunningContainer(ctx, "etcd-"+node.Name(), container); err != nil {
			continue
		}
		if err := node.KillContainer(ctx, "etcd-"+node.Name(), container); err != nil {
			return err
		}
	}
	return nil
}

func lastEnd(node *nodes.Node) (last time.Time, err error) {
	err = filepath.WalkDir(node.Path(resources), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".crt" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
			cert, err := x509.ParseCertificate(block.Bytes)
			if err != nil {
				return fmt.Errorf("read %s: %w", path, err)
			}
			if cert.NotAfter.After(last) {
				last = cert.NotAfter
			}
		}
		return nil
	})
	if err == nil && last.IsZero() {
		err = fmt.Errorf("there are no certificates on %s", node.Name())
	}
	return last, err
}

// snapshot returns every file of the static pod on a disk: its mode, its link target, and a hash of its content.
func snapshot(t *testing.T, node *nodes.Node) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, dir := range []string{node.Path(nodes.ManifestDir), node.Path(resources)} {
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := entry.Info()
			if err != nil {
				return err
			}
			text := info.Mode().String()
			switch {
			case entry.Type() == fs.ModeSymlink:
				target, err := os.Readlink(path)
				if err != nil {
					return err
				}
				text += " " + target
			case info.Mode().IsRegular():
				content, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				text += fmt.Sprintf(" %x", sha256.Sum256(content))
			}
			out[path] = text
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}
