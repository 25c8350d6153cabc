// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"certrotation.dev/registry/pki"
	"certrotation.dev/test/cluster"
	"certrotation.dev/test/cluster/heldport"
	"certrotation.dev/test/disktest"
)

// member is a node on which the test acts as kubelet: it runs what the manifest says.
type member struct {
	*disktest.Node
	etcd *cluster.Process
}

// newMembers makes the disks of a cluster on the loopback.
func newMembers(t *testing.T, n int) []*member {
	t.Helper()
	members := make([]*member, n)
	var initial []string
	for i := range members {
		node := disktest.NewNode(t, fmt.Sprintf("node-%d", i))
		node.ClientURL, node.PeerURL = fmt.Sprintf("https://127.0.0.1:%d", heldport.Take(t)), fmt.Sprintf("https://127.0.0.1:%d", heldport.Take(t))
		initial = append(initial, node.Name+"="+node.PeerURL)
		members[i] = &member{Node: node}
	}
	for _, m := range members {
		m.Cluster = strings.Join(initial, ",")
	}
	return members
}

// start runs the first container of the manifest, with mounts replaced by their host paths. The test holds its
// ports.
func (m *member) start(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(m.Manifest())
	if err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{}
	if err := yaml.UnmarshalStrict(text, pod); err != nil {
		t.Fatal(err)
	}
	container := pod.Spec.Containers[0]
	args := append(container.Command[1:], "--socket-reuse-port=true")
	for _, mount := range container.VolumeMounts {
		for _, volume := range pod.Spec.Volumes {
			if volume.Name != mount.Name {
				continue
			}
			for i := range args {
				args[i] = strings.ReplaceAll(args[i], "="+mount.MountPath, "="+volume.HostPath.Path)
			}
		}
	}
	root, err := cluster.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	m.etcd = cluster.NewProcess(cluster.ProcessConfig{
		Name: m.Name, Path: filepath.Join(root, "bin", "tools", "etcd"), Args: args, Dir: filepath.Dir(m.Data),
		Hint: "build it with `make tools`",
	})
	if err := m.etcd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.stop(t) })
}

func (m *member) stop(t *testing.T) {
	t.Helper()
	if m.etcd == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	defer cancel()
	if err := m.etcd.Stop(ctx); err != nil {
		t.Errorf("stop %s: %v", m.Name, err)
	}
	m.etcd = nil
}

func (m *member) log() string {
	if m.etcd == nil {
		return "it does not run"
	}
	text, err := os.ReadFile(m.etcd.LogFile())
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-4000):])
}

// client connects to one member with a client's certificate.
func (m *member) client(t *testing.T, caPEM, certPEM, keyPEM []byte) *clientv3.Client {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{m.ClientURL}, TLS: clientConfig(t, caPEM, certPEM, keyPEM)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func clientConfig(t *testing.T, caPEM, certPEM, keyPEM []byte) *tls.Config {
	t.Helper()
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(caPEM) {
		t.Fatal("the bundle holds no certificate")
	}
	return &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS13}
}

// refuses checks that neither side of a handshake between members accepts an expired certificate.
func (m *member) refuses(t *testing.T, ca, leaf *pki.Pair) {
	t.Helper()
	config := clientConfig(t, ca.Certificate.PEM(), leaf.CertPEM(), keyOf(t, leaf))
	address := strings.TrimPrefix(m.PeerURL, "https://")
	var invalid x509.CertificateInvalidError
	if conn, err := (&tls.Dialer{Config: config}).DialContext(t.Context(), "tcp", address); err == nil {
		_ = conn.Close()
		t.Error("a member is accepted whose certificate has expired")
	} else if !errors.As(err, &invalid) || invalid.Reason != x509.Expired {
		t.Errorf("a member is not accepted because of %v, want that its certificate has expired", err)
	}
	// A client that skips verification goes on, and learns by reading that the member refuses it.
	config.InsecureSkipVerify = true
	conn, err := (&tls.Dialer{Config: config}).DialContext(t.Context(), "tcp", address)
	if err == nil {
		_, err = conn.Read(make([]byte, 1))
		_ = conn.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "remote error: tls: expired certificate") {
		t.Errorf("a member does not accept an expired certificate because of %v, want that it has expired", err)
	}
}

// served counts how often the member has begun to serve clients, which needs a quorum.
func (m *member) served(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile(m.etcd.LogFile())
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(text), `"msg":"ready to serve client requests"`)
}

// patience is how long to wait for what must happen.
const patience = 5 * time.Minute

// until waits for a condition, and fails with its last error.
func until(t *testing.T, what string, condition func(ctx context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	// etcd itself fails a request without a quorum after 7 s.
	if err := cluster.Until(ctx, 200*time.Millisecond, time.Minute, condition); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// linearizable reads a key through the member, which needs a quorum.
func linearizable(ctx context.Context, client *clientv3.Client, key, want string) error {
	got, err := client.Get(ctx, key)
	if err != nil {
		return err
	}
	if len(got.Kvs) != 1 || string(got.Kvs[0].Value) != want {
		return errors.New("the value is not there")
	}
	return nil
}

// snapshot returns every path below the directories of a node, with content, mode and link target.
func (m *member) snapshot(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, dir := range []string{m.Manifests, m.Resources} {
		err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := entry.Info()
			if err != nil {
				return err
			}
			content, _ := os.ReadFile(path)
			target, _ := os.Readlink(path)
			out[path] = fmt.Sprintf("%s %s %s", info.Mode(), target, content)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}
