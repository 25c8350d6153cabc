// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"certrotation.dev/test/cluster"
)

// TestProgram runs bin/apiserver-supervisor: etcd starts after the supervisor, and the supervisor is killed and
// restarted. No process may be left behind.
func TestProgram(t *testing.T) {
	root, err := cluster.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(root, "bin", "apiserver-supervisor")
	if _, err := os.Stat(program); err != nil {
		t.Fatalf("%v: run `make build`", err)
	}
	a := newSigner(t, "signer-a")
	w := &realWorld{t: t, dir: t.TempDir()}
	t.Cleanup(w.keepLogs)
	ports := heldAddresses(t, 5)
	pkiDir := filepath.Join(w.dir, "pki")
	if err := cluster.MakePKI(pkiDir); err != nil {
		t.Fatal(err)
	}
	certPEM, keyPEM := issue(t, a, "etcd-client")
	args := []string{
		"--dir=" + filepath.Join(w.dir, "supervisor"), "--seed-dir=" + seed(t, filepath.Join(w.dir, "seed"), bundle(a), certPEM, keyPEM),
		"--kube-apiserver=" + filepath.Join(root, "bin", "tools", cluster.APIServer), "--kubeconfig=" + kubeconfig(t, pkiDir, "https://"+ports[2]),
		"--listen=" + ports[2], "--control=" + ports[3], "--server=kube-apiserver-0=" + ports[4],
		"--bundle=" + namespace + "/etcd-ca-bundle", "--leaf=" + namespace + "/etcd-client", "--permit-port-sharing", "--",
		"--etcd-servers=https://" + ports[0], "--permit-port-sharing=true", "--endpoint-reconciler-type=none", "--advertise-address=127.0.0.1",
	}
	p := cluster.NewProcess(cluster.ProcessConfig{Name: "apiserver-supervisor", Path: program, Args: append(args, cluster.APIServerFlags(pkiDir)...), Dir: w.dir})
	t.Cleanup(func() { _ = p.Stop(context.WithoutCancel(t.Context())) })
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	start := func(check func(Status) error) (status Status) {
		t.Helper()
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
		if err := p.WaitReady(ctx, func(ctx context.Context) (err error) {
			if status, err = askStatus(ctx, ports[3]); err != nil {
				return err
			}
			return check(status)
		}); err != nil {
			t.Fatal(err)
		}
		return status
	}
	ready := func(s Status) error {
		if !s.Servers[0].Ready {
			return fmt.Errorf("not ready: %s", s.Servers[0].Failure)
		}
		return nil
	}

	waiting := start(func(s Status) error {
		if s.Servers[0].Pid == 0 {
			return fmt.Errorf("no API server was started")
		}
		return nil
	})
	if waiting.Servers[0].Ready {
		t.Error("an API server is ready without etcd")
	}
	w.startEtcd(filepath.Join(root, "bin", "tools", cluster.Etcd), ports[0], ports[1], bundle(a), a)
	if err := p.WaitReady(ctx, func(ctx context.Context) error {
		status, err := askStatus(ctx, ports[3])
		if err != nil {
			return err
		}
		waiting = status
		return ready(status)
	}); err != nil {
		t.Fatal(err)
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	gone(t, waiting.Servers[0].Pid)

	again := start(ready)
	if err := p.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	if code, err := p.Wait(ctx); err != nil || code != 0 {
		t.Errorf("the supervisor ended with %d (%v) on SIGTERM, want 0:\n%s", code, err, p.LogTail())
	}
	gone(t, again.Servers[0].Pid)
}

func askStatus(ctx context.Context, control string) (status Status, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+control+"/status", http.NoBody)
	if err != nil {
		return status, err
	}
	transport := &http.Transport{DisableKeepAlives: true}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return status, err
	}
	defer response.Body.Close()
	return status, json.NewDecoder(response.Body).Decode(&status)
}

// gone waits until the process has ended; a zombie counts as ended.
func gone(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-time.After(10 * time.Millisecond) {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err != nil || len(line) == 0 {
			return
		}
	}
	t.Errorf("process %d still runs", pid)
}

func kubeconfig(t *testing.T, pkiDir, server string) string {
	t.Helper()
	file := clientcmdapi.NewConfig()
	file.Clusters["c"] = &clientcmdapi.Cluster{Server: server, CertificateAuthority: filepath.Join(pkiDir, "ca.crt")}
	file.AuthInfos["c"] = &clientcmdapi.AuthInfo{ClientCertificate: filepath.Join(pkiDir, "admin.crt"), ClientKey: filepath.Join(pkiDir, "admin.key")}
	file.Contexts["c"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "c"}
	file.CurrentContext = "c"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*file, path); err != nil {
		t.Fatal(err)
	}
	return path
}
