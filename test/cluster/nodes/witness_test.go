// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"certrotation.dev/test/cluster/nodes"
)

const (
	witnessImage = "certrotation.dev/witness:1"
	witnessPort  = 7000
)

// buildWitness makes the image of testdata/witness and returns its archive.
func buildWitness(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "witness")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./testdata/witness")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build testdata/witness: %v\n%s", err, out)
	}
	archive := filepath.Join(dir, "witness.tar")
	if _, err := nodes.WriteImage(archive, witnessImage, map[string]string{"usr/bin/witness": program}, []string{"/usr/bin/witness"}); err != nil {
		t.Fatal(err)
	}
	return archive
}

// witnessPod returns a pod that answers text on the witness port. spec adds to its spec, at the depth of hostNetwork.
func witnessPod(name, text string, spec ...string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Pod
metadata: {name: %s, namespace: kube-system}
spec:
  %s
  terminationGracePeriodSeconds: 5
  containers:
  - name: witness
    image: %s
    imagePullPolicy: Never
    args: [/data/said, ":%d", %q]
    volumeMounts: [{name: data, mountPath: /data}]
  volumes:
  - name: data
    hostPath: {path: /var/lib/witness, type: DirectoryOrCreate}
`, name, strings.Join(spec, "\n  "), witnessImage, witnessPort, text)
}

// putManifest replaces the manifest of a static pod as the installer does.
func putManifest(t *testing.T, n *nodes.Node, text string) {
	t.Helper()
	dir := n.Path(nodes.ManifestDir)
	if err := os.WriteFile(filepath.Join(dir, ".witness.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, ".witness.yaml"), filepath.Join(dir, "witness.yaml")); err != nil {
		t.Fatal(err)
	}
}

// said returns the content of the witness's file on the node's disk.
func said(t *testing.T, n *nodes.Node) string {
	t.Helper()
	text, err := os.ReadFile(n.Path("/var/lib/witness/said"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// hear returns what the witness of a node answers to this machine.
func hear(ctx context.Context, ip net.IP) (string, error) {
	d := net.Dialer{Timeout: 10 * time.Second}
	conn, err := d.DialContext(ctx, "tcp", fmt.Sprintf("%s:%d", ip, witnessPort))
	if err != nil {
		return "", err
	}
	defer conn.Close()
	text, err := io.ReadAll(conn)
	return strings.TrimSpace(string(text)), err
}

// hearFrom returns what a witness answers to a node. After two seconds without an answer it fails.
func hearFrom(ctx context.Context, from *nodes.Node, ip net.IP) (string, error) {
	text, err := from.Exec(ctx, "timeout", "2", "bash", "-c", fmt.Sprintf("cat < /dev/tcp/%s/%d", ip, witnessPort))
	return strings.TrimSpace(text), err
}

// hearsFrom waits until a witness answers text to a node.
func hearsFrom(t *testing.T, from *nodes.Node, ip net.IP, text string) {
	t.Helper()
	eventually(t, fmt.Sprintf("wait until %s says %q to %s", ip, text, from.Name()), func() error {
		got, err := hearFrom(t.Context(), from, ip)
		if err == nil && got != text {
			err = fmt.Errorf("it says %q", got)
		}
		return err
	})
}

// patience bounds each wait, which takes a second or two on an idle machine.
const patience = 3 * time.Minute

// eventually waits until check is nil.
func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %v", what, err)
		}
		<-time.After(50 * time.Millisecond)
	}
}

// hears waits until the witness of a node answers text.
func hears(t *testing.T, ip net.IP, text string) {
	t.Helper()
	eventually(t, fmt.Sprintf("wait until %s says %q", ip, text), func() error {
		got, err := hear(t.Context(), ip)
		if err == nil && got != text {
			err = fmt.Errorf("it says %q", got)
		}
		return err
	})
}
