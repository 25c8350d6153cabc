// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

func clientFor(t *testing.T, config *rest.Config) *kubernetes.Clientset {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func recordsOf(t *testing.T, c *Cluster) []record {
	t.Helper()
	records, err := listRecords(c.Dir())
	if err != nil {
		t.Fatal(err)
	}
	return records
}

func wantGone(t *testing.T, records []record) {
	t.Helper()
	for _, rec := range records {
		if rec.alive() {
			t.Errorf("%s (pid %d) is left over", rec.Name, rec.Pid)
		}
	}
}

// TestControlPlane checks one control plane from several sides. Other programs hold the ports that it chose first.
func TestControlPlane(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	chosen := loseAll(t, dir)
	c := ForTest(t, WithControllerManager, func(cfg *Config) { cfg.Dir = dir })
	for _, test := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"it moves to other ports", func(t *testing.T) { testLostPorts(t, c, chosen) }},
		{"users", func(t *testing.T) { testUsers(t, c) }},
		{"namespaces come and go", func(t *testing.T) { testNamespaces(t, c) }},
		{"another one beside it", func(t *testing.T) { testBeside(t, c) }},
		{"etcd refuses strangers", func(t *testing.T) { testStrangers(t, c) }},
	} {
		t.Run(test.name, test.run)
	}
}

// loseAll saves ports for a cluster in dir and listens on them.
func loseAll(t *testing.T, dir string) ports {
	t.Helper()
	chosen, err := choosePorts()
	if err != nil {
		t.Fatal(err)
	}
	for _, port := range []*int{&chosen.Etcd, &chosen.APIServer, &chosen.ControllerManager} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		*port = l.Addr().(*net.TCPAddr).Port
	}
	if err := chosen.save(dir); err != nil {
		t.Fatal(err)
	}
	return chosen
}

func testLostPorts(t *testing.T, c *Cluster, lost ports) {
	if c.ports.Etcd == lost.Etcd || c.ports.APIServer == lost.APIServer || c.ports.ControllerManager == lost.ControllerManager {
		t.Errorf("ports %+v; want others than the taken %+v", c.ports, lost)
	}
	out, err := exec.CommandContext(t.Context(), c.Tool("kubectl"), "--kubeconfig", c.Kubeconfig(), "get", "--raw=/readyz").CombinedOutput()
	if err != nil || string(out) != "ok" {
		t.Errorf("kubectl with the kubeconfig: %v, %s", err, out)
	}
}

// testUsers checks RBAC for a user, kubectl with a user's kubeconfig, and the CAs published for aggregated servers.
func testUsers(t *testing.T, c *Cluster) {
	config, err := c.UserConfig("bob", "readers")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := clientFor(t, config).CoreV1().Secrets("default").List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("bob lists Secrets: %v; want Forbidden", err)
	}
	kubeconfig, err := c.UserKubeconfig("team/bob", "readers")
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), c.Tool("kubectl"), "--kubeconfig", kubeconfig, "auth", "whoami").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "team/bob") || !strings.Contains(string(out), "readers") {
		t.Errorf("kubectl auth whoami: %v\n%s", err, out)
	}
	authentication, err := clientFor(t, c.AdminConfig()).CoreV1().ConfigMaps("kube-system").Get(t.Context(), "extension-apiserver-authentication", metav1.GetOptions{})
	if err != nil || authentication.Data["requestheader-client-ca-file"] == "" || authentication.Data["client-ca-file"] == "" {
		t.Errorf("extension-apiserver-authentication: %v, keys of %v; want both CAs", err, authentication.Data)
	}
}

func testNamespaces(t *testing.T, c *Cluster) {
	admin := clientFor(t, c.AdminConfig())
	if _, err := admin.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "brief"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	kubectl := exec.CommandContext(t.Context(), c.Tool("kubectl"), "--kubeconfig", c.Kubeconfig(), "delete", "namespace", "brief", "--timeout=120s")
	if out, err := kubectl.CombinedOutput(); err != nil {
		t.Errorf("delete a namespace: %v\n%s", err, out)
	}
}

// testBeside starts another cluster on this machine; the two must not share objects.
func testBeside(t *testing.T, c *Cluster) {
	beside := clientFor(t, ForTest(t).AdminConfig()).CoreV1().ConfigMaps("default")
	if _, err := beside.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "beside"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	list, err := beside.List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 || list.Items[0].Name != "beside" {
		t.Errorf("%d ConfigMaps, %v; want only its own", len(list.Items), err)
	}
	if _, err := clientFor(t, c.AdminConfig()).CoreV1().ConfigMaps("default").Get(t.Context(), "beside", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the first cluster has the ConfigMap of the other one: %v", err)
	}
}

// testStrangers: etcd stores every Secret, so it must refuse clients without a certificate.
func testStrangers(t *testing.T, c *Cluster) {
	stranger := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: c.certs.pool("etcd-ca"), MinVersion: tls.VersionTLS12}}
	defer stranger.CloseIdleConnections()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.EtcdURL()+"/version", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if response, err := stranger.RoundTrip(request); err == nil {
		response.Body.Close()
		t.Errorf("etcd answered %s to a client without a certificate", response.Status)
	}
}

// TestDirectoryIsUsedAgain covers `make up` twice, `make down` and another start. Start adopts what runs, restarts a
// killed kube-apiserver, and keeps the data, the certificates and the ports.
func TestDirectoryIsUsedAgain(t *testing.T) {
	t.Parallel()
	var progress strings.Builder
	cfg := Config{Dir: t.TempDir(), Detach: true, Progress: &progress}
	holdPorts(t, &cfg)
	attached := cfg
	attached.Detach = false
	t.Cleanup(func() {
		if err := StopDir(context.WithoutCancel(t.Context()), cfg.Dir, t.Output()); err != nil {
			t.Error(err)
		}
	})
	first, err := Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := clientFor(t, first.AdminConfig()).CoreV1().ConfigMaps("default").Create(
		t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "kept"}}, metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := Start(t.Context(), attached); err == nil || !strings.Contains(err.Error(), "is in use by process") {
		t.Errorf("a second, attached Start in the same directory: %v; want an error that names the process", err)
	}
	killAPIServer(t, first)
	progress.Reset()
	second, err := Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if second.Process(Etcd).Pid() != first.Process(Etcd).Pid() || !strings.Contains(progress.String(), "already running") {
		t.Errorf("etcd was not taken over; progress:\n%s", progress.String())
	}
	if second.Process(APIServer).Pid() == first.Process(APIServer).Pid() {
		t.Error("kube-apiserver was not started again")
	}
	if err := second.Err(); err != nil {
		t.Errorf("Err() after the restart = %v", err)
	}
	wantKept(t, second, first.URL())
	records := recordsOf(t, second)
	if err := StopDir(t.Context(), cfg.Dir, t.Output()); err != nil {
		t.Fatal(err)
	}
	wantGone(t, records)

	third, err := Start(t.Context(), attached)
	if err != nil {
		t.Fatal(err)
	}
	wantKept(t, third, first.URL())
	if records = recordsOf(t, third); len(records) != 2 {
		t.Errorf("%d processes are recorded, want 2", len(records))
	}
	for range 2 { // Stop is idempotent.
		if err := third.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}
	wantGone(t, records)
}

// killAPIServer does not use Process.Kill, so that Err reports the end as one without a request.
func killAPIServer(t *testing.T, c *Cluster) {
	t.Helper()
	if err := c.Err(); err != nil {
		t.Fatal(err)
	}
	server := c.Process(APIServer)
	if err := server.newest().handle.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := server.Wait(patient(t)); err != nil {
		t.Fatal(err)
	}
	wantError(t, c.Err(), APIServer+" ended by itself", "signal: killed", server.LogFile(), "make down")
	if strings.Contains(c.Err().Error(), Etcd+" ended") {
		t.Errorf("etcd lives, but the error says %v", c.Err())
	}
}

func wantKept(t *testing.T, c *Cluster, url string) {
	t.Helper()
	if _, err := clientFor(t, c.AdminConfig()).CoreV1().ConfigMaps("default").Get(t.Context(), "kept", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	if c.URL() != url {
		t.Errorf("URL %s, before %s", c.URL(), url)
	}
}

func TestStartErrors(t *testing.T) {
	t.Run("tools are missing", func(t *testing.T) {
		_, err := Start(t.Context(), Config{Dir: t.TempDir(), BinDir: t.TempDir()})
		wantError(t, err, "etcd is not built", "run `make tools`")
	})
	t.Run("no directory", func(t *testing.T) {
		_, err := Start(t.Context(), Config{})
		wantError(t, err, "Config.Dir is empty")
	})
	t.Run("unknown flag of kube-apiserver", func(t *testing.T) {
		dir := t.TempDir()
		_, err := Start(t.Context(), Config{Dir: dir, APIServerFlags: []string{"--no-such-flag"}})
		wantError(t, err, "kube-apiserver ended before it was ready", "unknown flag: --no-such-flag", filepath.Join(dir, "logs", "kube-apiserver.log"))
		records, err := listRecords(dir)
		if err != nil || len(records) > 0 {
			t.Errorf("left behind: %+v, %v", records, err)
		}
	})
	t.Run("the time is up", func(t *testing.T) {
		_, err := Start(t.Context(), Config{Dir: t.TempDir(), StartTimeout: time.Millisecond})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v; want DeadlineExceeded", err)
		}
	})
}
