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

// recordsOf returns what is needed to see whether the processes of c are gone.
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

// TestStartStopTwice goes on with the data, the certificates and the ports of the first start.
func TestStartStopTwice(t *testing.T) {
	cfg := Config{Dir: t.TempDir(), ControllerManager: true, Progress: t.Output()}
	var url string
	for round := range 2 {
		c, err := Start(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		records := recordsOf(t, c)
		if len(records) != 3 {
			t.Errorf("round %d: %d processes are recorded, want 3", round, len(records))
		}
		client := clientFor(t, c.AdminConfig()).CoreV1().ConfigMaps("default")
		if round == 0 {
			url = c.URL()
			if _, err := client.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "kept"}}, metav1.CreateOptions{}); err != nil {
				t.Error(err)
			}
		}
		if _, err := client.Get(t.Context(), "kept", metav1.GetOptions{}); err != nil {
			t.Errorf("round %d: %v", round, err)
		}
		if c.URL() != url {
			t.Errorf("round %d: URL %s, before %s", round, c.URL(), url)
		}
		begun := time.Now()
		for range 2 { // Stop is idempotent.
			if err := c.Stop(t.Context()); err != nil {
				t.Error(err)
			}
		}
		t.Logf("stopped in %.1f s", time.Since(begun).Seconds())
		wantGone(t, records)
	}
}

func TestClustersInParallel(t *testing.T) {
	for _, name := range []string{"a", "b"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := ForTest(t)
			client := clientFor(t, c.AdminConfig()).CoreV1().ConfigMaps("default")
			if _, err := client.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			list, err := client.List(t.Context(), metav1.ListOptions{})
			if err != nil || len(list.Items) != 1 || list.Items[0].Name != name {
				t.Errorf("%d ConfigMaps, %v; want only our own", len(list.Items), err)
			}
		})
	}
}

// TestAccess covers who may do what, kubectl with the kubeconfig, and that namespaces come and go.
func TestAccess(t *testing.T) {
	c := ForTest(t, WithControllerManager)
	admin := clientFor(t, c.AdminConfig())

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

	if _, err := admin.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "brief"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	kubectl := exec.CommandContext(t.Context(), c.Tool("kubectl"), "--kubeconfig", c.Kubeconfig(), "delete", "namespace", "brief", "--timeout=60s")
	if out, err := kubectl.CombinedOutput(); err != nil {
		t.Errorf("delete a namespace: %v\n%s", err, out)
	}

	proxy, err := admin.CoreV1().ConfigMaps("kube-system").Get(t.Context(), "extension-apiserver-authentication", metav1.GetOptions{})
	if err != nil || proxy.Data["requestheader-client-ca-file"] == "" || proxy.Data["client-ca-file"] == "" {
		t.Errorf("extension-apiserver-authentication: %v, keys of %v; want both CAs", err, proxy.Data)
	}
}

func TestKilledAPIServerIsNamedAndRestarts(t *testing.T) {
	c := ForTest(t)
	server := c.Process(APIServer)
	if err := c.Err(); err != nil {
		t.Fatal(err)
	}
	// Past Process.Kill on purpose: nobody asked for this end.
	if err := server.newest().handle.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := server.Wait(within(t, 10*time.Second)); err != nil {
		t.Fatal(err)
	}
	wantError(t, c.Err(), APIServer+" ended by itself", "signal: killed", server.LogFile(), "make down")
	if strings.Contains(c.Err().Error(), Etcd+" ended") {
		t.Errorf("etcd lives, but the error says %v", c.Err())
	}

	start(t, server)
	if err := server.WaitReady(within(t, time.Minute), c.apiServerReady); err != nil {
		t.Fatal(err)
	}
	if err := c.Err(); err != nil {
		t.Errorf("Err() after the restart = %v", err)
	}
}

// TestDetachedClusterIsTakenOver is what `make up` twice and `make down` do.
func TestDetachedClusterIsTakenOver(t *testing.T) {
	var progress strings.Builder
	cfg := Config{Dir: t.TempDir(), Detach: true, Progress: &progress}
	t.Cleanup(func() {
		if err := StopDir(context.WithoutCancel(t.Context()), cfg.Dir, t.Output()); err != nil {
			t.Error(err)
		}
	})
	first, err := Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	attached := cfg
	attached.Detach = false
	if _, err := Start(t.Context(), attached); err == nil || !strings.Contains(err.Error(), "is in use by process") {
		t.Errorf("a second, attached Start in the same directory: %v; want an error that names the process", err)
	}
	if err := first.Process(APIServer).Kill(); err != nil {
		t.Fatal(err)
	}
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
	records := recordsOf(t, second)
	if err := StopDir(t.Context(), cfg.Dir, t.Output()); err != nil {
		t.Fatal(err)
	}
	wantGone(t, records)
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

// TestLostPort takes the ports that a cluster was going to use.
func TestLostPort(t *testing.T) {
	dir := t.TempDir()
	var taken []net.Listener
	for range 2 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		taken = append(taken, l)
	}
	chosen, err := choosePorts()
	if err != nil {
		t.Fatal(err)
	}
	chosen.Etcd = taken[0].Addr().(*net.TCPAddr).Port
	chosen.APIServer = taken[1].Addr().(*net.TCPAddr).Port
	if err := chosen.save(dir); err != nil {
		t.Fatal(err)
	}
	c := ForTest(t, func(cfg *Config) { cfg.Dir = dir })
	if c.ports.Etcd == chosen.Etcd || c.ports.APIServer == chosen.APIServer {
		t.Errorf("ports %+v; want others than the taken %+v", c.ports, chosen)
	}
	out, err := exec.CommandContext(t.Context(), c.Tool("kubectl"), "--kubeconfig", c.Kubeconfig(), "get", "--raw=/readyz").CombinedOutput()
	if err != nil || string(out) != "ok" {
		t.Errorf("kubectl with the kubeconfig: %v, %s", err, out)
	}
}

// TestEtcdRefusesStrangers: the store of every Secret must not be open to whoever can reach the port.
func TestEtcdRefusesStrangers(t *testing.T) {
	c := ForTest(t)
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
