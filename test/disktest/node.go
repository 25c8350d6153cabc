// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package disktest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Paths relative to a generation.
const (
	ServerBundle = "configmaps/etcd-all-bundles/server-ca-bundle.crt"
	certs        = "secrets/etcd-all-certs/"
)

// Node is the disk of one node.
type Node struct {
	Name string
	// Manifests, Resources and Data are its directories.
	Manifests, Resources, Data string
	// ClientURL and PeerURL are where the member listens.
	ClientURL, PeerURL string
	// Cluster is the value of --initial-cluster. If it is empty, the flag is left out.
	Cluster string

	t testing.TB
}

// NewNode creates the directories of a node.
func NewNode(t testing.TB, name string) *Node {
	t.Helper()
	root := t.TempDir()
	n := &Node{
		Name: name, Manifests: filepath.Join(root, "manifests"), Resources: filepath.Join(root, "static-pod-resources"),
		Data: filepath.Join(root, "etcd"), ClientURL: "https://127.0.0.1:1", PeerURL: "https://127.0.0.1:2", t: t,
	}
	for _, dir := range []string{n.Manifests, n.Resources, n.Data} {
		n.must(os.MkdirAll(dir, 0o700))
	}
	return n
}

func (n *Node) must(err error) {
	n.t.Helper()
	if err != nil {
		n.t.Fatal(err)
	}
}

// Directory returns the path of a revision's directory.
func (n *Node) Directory(revision int) string {
	return filepath.Join(n.Resources, fmt.Sprintf("etcd-pod-%d", revision))
}

// Generation returns the path of a generation.
func (n *Node) Generation(revision, number int) string {
	return filepath.Join(n.Directory(revision), fmt.Sprintf("generation-%d", number))
}

// Manifest returns the path of the manifest that kubelet reads.
func (n *Node) Manifest() string { return filepath.Join(n.Manifests, "etcd-pod.yaml") }

// PairFiles returns the paths of a pair relative to a generation.
func PairFiles(leaf string) (cert, key string) { return certs + leaf + ".crt", certs + leaf + ".key" }

// Add writes a generation without pointing at it.
func (n *Node) Add(revision, number int, files map[string][]byte) {
	n.t.Helper()
	dir := n.Generation(revision, number)
	record := map[string]any{"revision": number, "node": n.Name, "contentHash": "c", "restartHash": fmt.Sprintf("r%d", revision)}
	sums := map[string]string{}
	for name, data := range files {
		sum := sha256.Sum256(data)
		sums[name] = hex.EncodeToString(sum[:])
		n.Write(filepath.Join(dir, name), data)
	}
	record["files"] = sums
	text, err := json.Marshal(record)
	n.must(err)
	n.Write(filepath.Join(dir, "generation.json"), text)
	n.Write(filepath.Join(n.Directory(revision), "etcd-pod.yaml"), n.ManifestText(revision))
}

// Install adds a generation and makes it the one in use.
func (n *Node) Install(revision, number int, files map[string][]byte) {
	n.t.Helper()
	n.Add(revision, number, files)
	n.Point(revision, fmt.Sprintf("generation-%d", number))
	n.Write(n.Manifest(), n.ManifestText(revision))
}

// Point sets the pointer of a directory.
func (n *Node) Point(revision int, target string) {
	n.t.Helper()
	link := filepath.Join(n.Directory(revision), "current")
	n.must(os.RemoveAll(link))
	n.must(os.Symlink(target, link))
}

// Write writes a file and creates missing directories.
func (n *Node) Write(file string, data []byte) {
	n.t.Helper()
	n.must(os.MkdirAll(filepath.Dir(file), 0o700))
	n.must(os.WriteFile(file, data, 0o600))
}

// mountPath is where a container sees the directory of its revision.
const mountPath = "/etc/kubernetes/static-pod-resources"

// ManifestText returns the manifest of a revision.
func (n *Node) ManifestText(revision int) []byte {
	current := mountPath + "/current/"
	flags := []string{
		"/etcd", "--name=" + n.Name, "--data-dir=/var/lib/etcd", "--initial-cluster-state=new",
		"--listen-client-urls=" + n.ClientURL, "--advertise-client-urls=" + n.ClientURL,
		"--listen-peer-urls=" + n.PeerURL, "--initial-advertise-peer-urls=" + n.PeerURL,
		"--client-cert-auth=true", "--cert-file=" + current + certs + "etcd-serving-" + n.Name + ".crt",
		"--key-file=" + current + certs + "etcd-serving-" + n.Name + ".key", "--trusted-ca-file=" + current + ServerBundle,
		"--peer-client-cert-auth=true", "--peer-cert-file=" + current + certs + "etcd-peer-" + n.Name + ".crt",
		"--peer-key-file=" + current + certs + "etcd-peer-" + n.Name + ".key", "--peer-trusted-ca-file=" + current + ServerBundle,
	}
	if n.Cluster != "" {
		flags = append(flags, "--initial-cluster="+n.Cluster)
	}
	var text strings.Builder
	fmt.Fprintf(&text, `apiVersion: v1
kind: Pod
metadata:
  name: etcd
  namespace: openshift-etcd
  labels: {app: etcd, revision: "%[1]d"}
  annotations: {certrotation.dev/revision: "%[1]d", certrotation.dev/restart-hash: r%[1]d}
spec:
  containers:
  - name: etcd
    image: etcd
    volumeMounts:
    - {name: data, mountPath: /var/lib/etcd}
    - {name: resources, mountPath: %[2]s, readOnly: true}
    command:
`, revision, mountPath)
	for _, flag := range flags {
		fmt.Fprintf(&text, "    - %q\n", flag)
	}
	fmt.Fprintf(&text, `  volumes:
  - {name: data, hostPath: {path: %s}}
  - {name: resources, hostPath: {path: %s}}
`, n.Data, n.Directory(revision))
	return []byte(text.String())
}
