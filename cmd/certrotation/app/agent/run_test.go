// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"certrotation.dev/apis/certrotation/v1alpha1"
	"certrotation.dev/test/kubeletvolume"
)

// TestRun starts with an API server that refuses reports, and with files and a program that come late. The command
// keeps running, names the problem, and reports in the end.
func TestRun(t *testing.T) {
	inPod(t)
	reports := make(chan *v1alpha1.Acknowledgement, 100)
	allowed := make(chan struct{})
	apiserver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path != "/apis/certrotation.dev/v1alpha1/namespaces/ns/certificaterotations/signer/acknowledge" {
			t.Errorf("%s was asked for", r.URL.Path)
		}
		select {
		case <-allowed:
		default:
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","message":"no","code":403}`)
			return
		}
		ack := &v1alpha1.Acknowledgement{}
		if err := json.NewDecoder(r.Body).Decode(ack); err != nil {
			t.Error(err)
		}
		reports <- ack
		ack.APIVersion, ack.Kind, ack.Expires = v1alpha1.SchemeGroupVersion.String(), "Acknowledgement", &metav1.MicroTime{Time: time.Now().Add(time.Minute)}
		_ = json.NewEncoder(w).Encode(ack)
	}))
	defer apiserver.Close()
	volume := kubeletvolume.New(t)
	ready := filepath.Join(t.TempDir(), "ready")

	command, options := newCommand()
	if err := command.ParseFlags([]string{
		"--signer=signer", "--party=servers", "--anchors=" + volume.Path("ca-bundle.crt"), "--reports-files", "--reload-exec=test", "--reload-exec=-e",
		"--reload-exec=" + ready, "--kubeconfig=" + kubeconfig(t, apiserver.URL), "--bind-address=127.0.0.1:0",
	}); err != nil {
		t.Fatal(err)
	}
	if err := options.Validate(); err != nil {
		t.Fatal(err)
	}
	config, err := options.Config(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- config.Run(ctx) }()
	url := "http://" + config.Listener.Addr().String()

	answers(t, url+"/livez", http.StatusOK, "ok")
	answers(t, url+"/readyz", http.StatusServiceUnavailable, "FilesUnreadable")
	ca := kubeletvolume.Authority(t, "ca")
	volume.Swap(t, kubeletvolume.Bundle(ca))
	answers(t, url+"/readyz", http.StatusServiceUnavailable, "[-]reload: ReloadFailed")
	if err := os.WriteFile(ready, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	answers(t, url+"/readyz", http.StatusServiceUnavailable, "[-]acknowledgement: Forbidden")
	answers(t, url+"/metrics", http.StatusOK, `certrotation_agent_problems{reason="Forbidden"} 1`)
	close(allowed)
	answers(t, url+"/readyz", http.StatusOK, "acknowledged until")
	if ack := <-reports; len(ack.Trusts) != 1 || ack.Trusts[0] != string(ca.Certificate.Fingerprint) || ack.Member != "server-0" || ack.Instance != "uid" {
		t.Errorf("%+v was reported", ack)
	}
	cancel()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(time.Minute):
		t.Error("it does not end")
	}
}

// answers waits until a URL answers with a code and a text.
func answers(t *testing.T, url string, code int, want string) {
	t.Helper()
	got := ""
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		response, err := http.Get(url)
		if err != nil {
			return false, nil
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		got = response.Status + "\n" + string(body)
		return err == nil && response.StatusCode == code && strings.Contains(string(body), want), nil
	})
	if err != nil {
		t.Fatalf("%s answers %s, want %d and %q", url, got, code, want)
	}
}

func kubeconfig(t *testing.T, server string) string {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: server}
	config.Contexts["c"] = &clientcmdapi.Context{Cluster: "c"}
	config.CurrentContext = "c"
	name := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, name); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestNoTokenIsAProblem expects an error that tells to mount a token while no client can be made.
func TestNoTokenIsAProblem(t *testing.T) {
	options := NewOptions()
	options.Kubeconfig = filepath.Join(t.TempDir(), "none")
	server := (&lazyServer{connect: options.connect}).server()
	if _, err := server.Acknowledge(t.Context(), "signer", &v1alpha1.Acknowledgement{}, metav1.CreateOptions{}); err == nil || !strings.Contains(err.Error(), "mount a token") {
		t.Errorf("%v, want what to do", err)
	}
	if skew := server.Skew(); skew != 0 {
		t.Errorf("skew %s without an answer", skew)
	}
}
