// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"certrotation.dev/apis/certrotation/v1alpha1"
	"certrotation.dev/registry/pki"
	"certrotation.dev/test/cluster"
	"certrotation.dev/test/cluster/heldport"
)

const (
	namespace = "openshift-etcd"
	patience  = 3 * time.Minute
)

// realWorld is an etcd whose certificates the test rotates, and a supervisor with two kube-apiservers.
type realWorld struct {
	t          *testing.T
	dir        string
	etcd       *cluster.Process
	supervisor *Supervisor
	stop       func()
	admin      *rest.Config // Through the balancer.
	client     kubernetes.Interface
	aggregated *aggregated
}

func newRealWorld(t *testing.T, etcdTrusts []byte, server *pki.Pair, seedBundle []byte) *realWorld {
	t.Helper()
	root, err := cluster.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	tools := filepath.Join(root, "bin", "tools")
	w := &realWorld{t: t, dir: t.TempDir()}
	t.Cleanup(w.keepLogs)
	ports := heldAddresses(t, 4)
	w.startEtcd(filepath.Join(tools, cluster.Etcd), ports[0], ports[1], etcdTrusts, server)

	pkiDir := filepath.Join(w.dir, "pki")
	if err := cluster.MakePKI(pkiDir); err != nil {
		t.Fatal(err)
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.admin = &rest.Config{Host: "https://" + listener.Addr().String(), QPS: -1, TLSClientConfig: rest.TLSClientConfig{
		CAFile: filepath.Join(pkiDir, "ca.crt"), CertFile: filepath.Join(pkiDir, "admin.crt"), KeyFile: filepath.Join(pkiDir, "admin.key"),
	}}
	// client-go watches certificate files on goroutines that end only when the garbage collector finds their
	// transport.
	if err := rest.LoadTLSFiles(w.admin); err != nil {
		t.Fatal(err)
	}
	if w.client, err = kubernetes.NewForConfig(w.admin); err != nil {
		t.Fatal(err)
	}
	w.aggregated = newAggregated(t, w.admin)
	supervisors := rest.CopyConfig(w.admin)
	supervisors.Host = w.aggregated.URL
	certPEM, keyPEM := issue(t, server, "etcd-client")
	w.supervisor, err = New(Config{
		Dir: filepath.Join(w.dir, "supervisor"), SeedDir: seed(t, filepath.Join(w.dir, "seed"), seedBundle, certPEM, keyPEM),
		Program: filepath.Join(tools, cluster.APIServer),
		Flags: append(cluster.APIServerFlags(pkiDir), "--etcd-servers=https://"+ports[0],
			"--advertise-address=127.0.0.1", "--endpoint-reconciler-type=none", "--permit-port-sharing=true"),
		Patience: patience, StopTimeout: patience, ReadyPatience: patience,
		Servers:   []Server{{Name: "kube-apiserver-0", Address: ports[2]}, {Name: "kube-apiserver-1", Address: ports[3]}},
		Listeners: []net.Listener{listener},
		Client:    supervisors,
		Bundle:    types.NamespacedName{Namespace: namespace, Name: "etcd-ca-bundle"},
		Leaf:      types.NamespacedName{Namespace: namespace, Name: "etcd-client"},
		Acknowledge: []Target{
			{Signer: types.NamespacedName{Namespace: namespace, Name: "etcd-signer"}, Party: "clients"},
			{Signer: types.NamespacedName{Namespace: namespace, Name: "etcd-metric-signer"}, Party: "clients"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.aggregated.observe = w.checkTruth
	w.stop = background(t, func(ctx context.Context) {
		if err := w.supervisor.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	return w
}

// startEtcd starts a single etcd over TLS with client authentication. It reads its leaf at each handshake, like the
// etcd of the nodes; writeEtcdLeaf replaces the files.
func (w *realWorld) startEtcd(program, client, peer string, trusts []byte, server *pki.Pair) {
	w.t.Helper()
	dir := filepath.Join(w.dir, "etcd-pki")
	seed(w.t, dir, trusts, nil, nil)
	w.writeEtcdLeaf(server)
	path := func(file string) string { return filepath.Join(dir, file) }
	args := []string{
		"--name=default", "--data-dir=" + filepath.Join(w.dir, "etcd"), "--unsafe-no-fsync=true", "--socket-reuse-port=true",
		"--listen-client-urls=https://" + client, "--advertise-client-urls=https://" + client,
		"--listen-peer-urls=https://" + peer, "--initial-advertise-peer-urls=https://" + peer, "--initial-cluster=default=https://" + peer,
	}
	for _, prefix := range []string{"--", "--peer-"} {
		args = append(args, prefix+"client-cert-auth=true", prefix+"trusted-ca-file="+path(fileBundle),
			prefix+"cert-file="+path("server.crt"), prefix+"key-file="+path("server.key"))
	}
	w.etcd = cluster.NewProcess(cluster.ProcessConfig{Name: cluster.Etcd, Path: program, Args: args, Dir: w.dir})
	if err := w.etcd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = w.etcd.Stop(context.WithoutCancel(w.t.Context())) })
}

func (w *realWorld) writeEtcdLeaf(signer *pki.Pair) {
	w.t.Helper()
	certPEM, keyPEM := issue(w.t, signer, "etcd-serving")
	for file, content := range map[string][]byte{"server.key": keyPEM, "server.crt": certPEM} {
		if err := os.WriteFile(filepath.Join(w.dir, "etcd-pki", file), content, 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
}

// heldAddresses returns reserved addresses for programs that share ports.
func heldAddresses(t *testing.T, n int) []string {
	t.Helper()
	var out []string
	for range n {
		out = append(out, fmt.Sprintf("127.0.0.1:%d", heldport.Take(t)))
	}
	return out
}

// checkTruth compares an acknowledgement with the CA file on the command line of the running process.
func (w *realWorld) checkTruth(signer string, ack v1alpha1.Acknowledgement) {
	server := w.supervisor.rollout.find(ack.Member)
	if server == nil {
		w.t.Errorf("%s: acknowledgement of %q, who is nobody", signer, ack.Member)
		return
	}
	pid := server.state().pid
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return // The process has just ended. The next one is reported again.
	}
	var anchors []string
	for arg := range strings.SplitSeq(string(bytes.TrimRight(line, "\x00")), "\x00") {
		if file, ok := strings.CutPrefix(arg, "--etcd-cafile="); ok {
			t, err := loadTrust(filepath.Dir(file))
			if err != nil {
				w.t.Errorf("%s: %v", ack.Member, err)
				return
			}
			anchors = t.anchors
		}
	}
	if server.state().pid == pid && !slices.Equal(anchors, ack.Trusts) {
		w.t.Errorf("%s of %s trusts %v by its command line, and acknowledged %v", ack.Member, signer, anchors, ack.Trusts)
	}
}

func (w *realWorld) setBundle(signers ...*pki.Pair) {
	w.t.Helper()
	config := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "etcd-ca-bundle"},
		Data:       map[string]string{"ca-bundle.crt": string(bundle(signers...))},
	}
	if _, err := w.client.CoreV1().ConfigMaps(namespace).Update(w.t.Context(), config, metav1.UpdateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *realWorld) setLeaf(signer *pki.Pair) (fingerprint string) {
	w.t.Helper()
	certPEM, keyPEM := issue(w.t, signer, "etcd-client")
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "etcd-client"}, Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{leafCertificate: certPEM, leafKey: keyPEM},
	}
	if _, err := w.client.CoreV1().Secrets(namespace).Update(w.t.Context(), secret, metav1.UpdateOptions{}); err != nil {
		w.t.Fatal(err)
	}
	l, err := parseLeaf(certPEM, keyPEM)
	if err != nil {
		w.t.Fatal(err)
	}
	return l.fingerprint
}

// createObjects creates the objects that `certrotation render` makes, with what the API servers started with.
func (w *realWorld) createObjects(signers ...*pki.Pair) {
	w.t.Helper()
	ctx := w.t.Context()
	_, certPEM, keyPEM, err := loadLeaf(filepath.Join(w.dir, "seed"))
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.client.CoreV1().ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "etcd-ca-bundle"}, Data: map[string]string{"ca-bundle.crt": string(bundle(signers...))},
	}, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.client.CoreV1().Secrets(namespace).Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "etcd-client"}, Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{leafCertificate: certPEM, leafKey: keyPEM},
	}, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

// eventually waits for a status.
func (w *realWorld) eventually(what string, condition func(Status) bool) Status {
	w.t.Helper()
	begun, tick := time.Now(), time.NewTicker(20*time.Millisecond)
	defer tick.Stop()
	for {
		status := w.supervisor.Status()
		if condition(status) {
			w.t.Logf("%s: after %.1f s", what, time.Since(begun).Seconds())
			return status
		}
		if time.Since(begun) > patience {
			w.t.Fatalf("not within %s: %s; the status is %+v", patience, what, status)
		}
		<-tick.C
	}
}

func (w *realWorld) keepLogs() {
	if w.t.Failed() {
		cluster.KeepLogs(w.t, "", map[string]string{filepath.Join(w.dir, "logs"): "", filepath.Join(w.dir, "supervisor", "logs"): "supervisor"})
	}
}
