// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"certrotation.dev/test/cluster"
	"certrotation.dev/test/cluster/nodes"
)

const etcdPod = `apiVersion: v1
kind: Pod
metadata: {name: etcd, namespace: kube-system}
spec:
  hostNetwork: true
  containers:
  - name: etcd
    image: certrotation.dev/etcd:1
    imagePullPolicy: Never
    args:
    - --name=NODE
    - --data-dir=/var/lib/etcd/data
    - --listen-client-urls=http://IP:2379
    - --advertise-client-urls=http://IP:2379
    - --listen-peer-urls=http://IP:2380
    - --initial-advertise-peer-urls=http://IP:2380
    env: [{name: ETCD_MEMBER_ENV_FILE, value: /var/lib/etcd/member.env}]
    volumeMounts: [{name: data, mountPath: /var/lib/etcd}]
  - name: proxy
    image: certrotation.dev/etcd:1
    imagePullPolicy: Never
    args: [grpc-proxy, start, "--endpoints=http://IP:2379", "--listen-addr=IP:9978", "--metrics-addr=http://IP:9979"]
  volumes:
  - name: data
    hostPath: {path: /var/lib/etcd, type: DirectoryOrCreate}
`

// TestEtcd runs members of one etcd, each on its own node, and checks that they keep the quorum.
func TestEtcd(t *testing.T) {
	t.Parallel()
	nodes.Require(t)
	root, err := cluster.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	image := filepath.Join(t.TempDir(), "etcd.tar")
	files := map[string]string{"usr/bin/etcd": filepath.Join(root, "bin", "tools", "etcd")}
	if _, err := nodes.WriteImage(image, "certrotation.dev/etcd:1", files, []string{"/usr/bin/etcd"}); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	w := nodes.ForTest(t, nodes.Config{Names: []string{"master-0", "master-1", "master-2"}, Images: []string{image}, Progress: t.Output()})
	var members []string
	for _, n := range w.Nodes() {
		members = append(members, fmt.Sprintf("%s=http://%s:2380", n.Name(), n.IP()))
	}
	for _, n := range w.Nodes() {
		if err := os.MkdirAll(n.Path("/var/lib/etcd"), 0o700); err != nil {
			t.Fatal(err)
		}
		env := "# where the members are\nETCD_INITIAL_CLUSTER=" + strings.Join(members, ",") + "\nETCD_INITIAL_CLUSTER_STATE=new\n"
		if err := os.WriteFile(n.Path("/var/lib/etcd/member.env"), []byte(env), 0o600); err != nil {
			t.Fatal(err)
		}
		putManifest(t, n, strings.NewReplacer("NODE", n.Name(), "IP", n.IP().String()).Replace(etcdPod))
	}
	for _, n := range w.Nodes() {
		eventually(t, "health of "+n.Name(), func() error { return get(t, fmt.Sprintf("http://%s:2379/health", n.IP())) })
		eventually(t, "health of the proxy of "+n.Name(), func() error { return get(t, fmt.Sprintf("http://%s:9979/health", n.IP())) })
	}
	t.Logf("three members after %.1f s; %s", time.Since(begun).Seconds(), memoryOf(t, w))

	if err := w.Node("master-1").PowerOff(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "health of two of three", func() error { return get(t, fmt.Sprintf("http://%s:2379/health", w.Node("master-0").IP())) })
	if err := w.Node("master-0").Isolate(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "wait until one of three is not healthy", func() error {
		if err := get(t, fmt.Sprintf("http://%s:2379/health", w.Node("master-0").IP())); err == nil {
			return fmt.Errorf("it is")
		}
		return nil
	})
	if err := w.Node("master-0").Reconnect(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := w.Node("master-1").PowerOn(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, n := range w.Nodes() {
		eventually(t, "health of "+n.Name()+" again", func() error { return get(t, fmt.Sprintf("http://%s:2379/health", n.IP())) })
	}
}

// get returns nil if url answers 200.
func get(t *testing.T, url string) error {
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 3 * time.Second}
	response, err := client.Get(url)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET %s: %s: %s", url, response.Status, text)
	}
	return err
}
