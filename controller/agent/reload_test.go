// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

func TestHTTPReload(t *testing.T) {
	for name, tt := range map[string]struct {
		answer http.HandlerFunc
		method string
		want   string
	}{
		"done":            {answer: func(http.ResponseWriter, *http.Request) {}, method: http.MethodPost},
		"done, by GET":    {answer: func(http.ResponseWriter, *http.Request) {}, method: http.MethodGet},
		"done, no answer": {answer: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }, method: http.MethodPost},
		"refused": {answer: func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "lifecycle API is\nnot enabled", http.StatusForbidden)
		}, method: http.MethodPost, want: "403 Forbidden lifecycle API is not enabled"},
		"sent elsewhere": {answer: func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://example.com/", http.StatusFound)
		}, method: http.MethodPost, want: "302 Found"},
	} {
		t.Run(name, func(t *testing.T) {
			method := ""
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				method = r.Method
				tt.answer(w, r)
			}))
			defer server.Close()
			check(t, (&HTTPReload{Method: tt.method, URL: server.URL}).Reload(t.Context()), tt.want)
			if method != tt.method {
				t.Errorf("it was asked by %q, want %q", method, tt.method)
			}
		})
	}
	check(t, (&HTTPReload{Method: http.MethodPost, URL: "http://127.0.0.1:1/"}).Reload(t.Context()), "connection refused")
}

// TestHTTPReloadEnds cancels the reload once the program has the request, which it never answers.
func TestHTTPReloadEnds(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		end()
		<-r.Context().Done()
	}))
	defer server.Close()
	check(t, (&HTTPReload{Method: http.MethodPost, URL: server.URL}).Reload(ctx), "context canceled")
}

func TestExecReload(t *testing.T) {
	for name, tt := range map[string]struct {
		command []string
		want    string
	}{
		"done":            {[]string{"true"}, ""},
		"with arguments":  {[]string{"sh", "-c", "exit 0"}, ""},
		"fails":           {[]string{"sh", "-c", "echo no such directive >&2; exit 3"}, "exit status 3: no such directive"},
		"is not there":    {[]string{"/none/reload"}, "no such file"},
		"says very much":  {[]string{"sh", "-c", "head -c 100000 /dev/zero; exit 1"}, "exit status 1"},
		"is not a script": {[]string{"sh -c true"}, "not found"},
	} {
		t.Run(name, func(t *testing.T) {
			check(t, (&ExecReload{Command: tt.command}).Reload(t.Context()), tt.want)
		})
	}
}

// TestExecReloadEnds cancels the reload once the command has started. The command never ends by itself.
func TestExecReloadEnds(t *testing.T) {
	name := filepath.Join(t.TempDir(), "runs")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	// Open for writing too: opening only for reading waits for the command.
	fifo, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer fifo.Close()
	ctx, end := context.WithCancel(t.Context())
	go func() {
		_, _ = fifo.Read(make([]byte, 1))
		end()
	}()
	check(t, (&ExecReload{Command: []string{"sh", "-c", "echo >" + name + "; exec sleep infinity"}}).Reload(ctx), "signal: killed")
}

func TestSignalReload(t *testing.T) {
	program := exec.CommandContext(t.Context(), "sleep", "60")
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	pid := filepath.Join(t.TempDir(), "pid")
	if err := os.WriteFile(pid, []byte(strconv.Itoa(program.Process.Pid)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	// Not SIGHUP: a process that nohup starts ignores it, and so do its children.
	s := &SignalReload{Signal: syscall.SIGUSR1, PIDFile: pid}
	check(t, s.Reload(t.Context()), "")
	if err := program.Wait(); err == nil || err.Error() != "signal: user defined signal 1" {
		t.Errorf("the program ended with %v, want the signal", err)
	}
	check(t, s.Reload(t.Context()), "shareProcessNamespace")
}

func TestSignalIsForTheProgramOnly(t *testing.T) {
	write := func(text string) string {
		name := filepath.Join(t.TempDir(), "pid")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	for name, tt := range map[string]struct {
		reload *SignalReload
		want   string
	}{
		"no file":         {&SignalReload{PIDFile: "/none/pid"}, "--pid-file"},
		"no number":       {&SignalReload{PIDFile: write("nginx")}, "no number"},
		"an empty file":   {&SignalReload{PIDFile: write("")}, "no number"},
		"everybody":       {&SignalReload{PIDFile: write("-1")}, "not the program's"},
		"a group":         {&SignalReload{PIDFile: write("0")}, "not the program's"},
		"the pod's own":   {&SignalReload{PIDFile: write("1")}, "not the program's"},
		"the agent":       {&SignalReload{PIDFile: write(strconv.Itoa(os.Getpid()))}, "not the program's"},
		"no such process": {&SignalReload{ProcessName: "nginx", Processes: t.TempDir()}, "there is no process"},
	} {
		t.Run(name, func(t *testing.T) {
			tt.reload.Signal = syscall.SIGURG
			check(t, tt.reload.Reload(t.Context()), tt.want)
		})
	}
}

func TestNamed(t *testing.T) {
	directory := t.TempDir()
	for _, process := range []struct {
		pid, parent int
		name        string
	}{{1, 0, "pause"}, {10, 0, "nginx"}, {11, 10, "nginx"}, {12, 10, "nginx"}, {13, 1, "a (b) c"}, {15, 1, "twice"}, {16, 1, "twice"}} {
		stat := fmt.Sprintf("%d (%s) S %d%s", process.pid, process.name, process.parent, strings.Repeat(" 0", 48))
		writeFile(t, filepath.Join(directory, strconv.Itoa(process.pid), "stat"), stat)
	}
	writeFile(t, filepath.Join(directory, "14", "stat"), "14 (nginx")
	writeFile(t, filepath.Join(directory, "30", "status"), "")
	for name, want := range map[string][]int{"nginx": {10}, "a (b) c": {13}, "twice": {15, 16}, "none": nil} {
		t.Run(name, func(t *testing.T) {
			got, err := named(directory, name)
			slices.Sort(got)
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%v, %v, want %v", got, err, want)
			}
		})
	}
	_, err := named(filepath.Join(directory, "none"), "x")
	check(t, err, "list the processes")
}

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestSocketsAt(t *testing.T) {
	const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000:20FB 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4711 1 0000000000000000 100 0 0 10 0
   1: 0100007F:2828 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4712 1 0000000000000000 100 0 0 10 0
   2: 0100007F:20FB 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4713 1 0000000000000000 100 0 0 10 0
   3: 0100007F:20FB 0100007F:D431 01 00000000:00000000 00:00000000 00000000  1000        0 4714 1 0000000000000000 20 4 30 10 -1
`
	for name, tt := range map[string]struct {
		port uint64
		want []string
	}{
		"two listen":     {8443, []string{"4711", "4713"}},
		"one listens":    {10280, []string{"4712"}},
		"nobody listens": {443, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got := socketsAt(strings.NewReader(table), tt.port); !slices.Equal(got, tt.want) {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
	if got := socketsAt(strings.NewReader("garbage\n\n"), 1); got != nil {
		t.Errorf("%v out of garbage", got)
	}
}

// TestListeners: each socket has its own name and keeps it.
func TestListeners(t *testing.T) {
	names := map[string]bool{}
	for range 2 {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		for range 2 {
			names[(&podNetwork{}).Listeners(listener.Addr().String())] = true
		}
	}
	if len(names) != 2 || names[""] {
		t.Errorf("two sockets are called %v", slices.Sorted(maps.Keys(names)))
	}
	if got := (&podNetwork{}).Listeners("no address"); got != "" {
		t.Errorf("%q listens nowhere", got)
	}
}

func check(t *testing.T, err error, want string) {
	t.Helper()
	if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
		t.Errorf("%v, want %q", err, want)
	}
}
