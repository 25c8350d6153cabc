// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"certrotation.dev/test/cluster"
	"certrotation.dev/test/kubeletvolume"
)

// mounts are what a server and a client mount.
type mounts struct{ server, client map[string]string }

// pair is a server and a client of the sample mtls-service, each in a process of its own.
type pair struct {
	server, client mountingProcess
	// stats is the address of the client's counters.
	stats string
}

// mountingProcess loads what is swapped into its volume.
type mountingProcess struct {
	*cluster.Process

	volume  *kubeletvolume.Volume
	content map[string]string
}

// answers are the counters of the client.
type answers struct {
	Handshakes, Failures int64
	Reasons              map[string]int64
}

// testProcesses runs a server and a client through the second phase. Between the new leaf of the server and the end of
// the old CA, ours has the server loaded. In one step, the client that is first refuses the server until it follows.
func testProcesses(t *testing.T, w *secretsWorld, of map[string]mounts) {
	for _, tt := range []struct {
		name string
		// steps are the phases that are delivered after "prepared", to the client first.
		steps []string
		fails bool
	}{
		{name: "two-steps", steps: []string{"reissued", "completed"}},
		{name: "one-step", steps: []string{"completed"}, fails: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := w.startPair(t, tt.name, of["prepared"])
			p.shakeHands(t)
			for _, phase := range tt.steps {
				p.client.load(t, of[phase].client)
				p.shakeHands(t)
				p.server.load(t, of[phase].server)
				p.shakeHands(t)
			}
			got := p.count(t)
			t.Logf("%s: %d handshakes, %d failed: %v", tt.name, got.Handshakes, got.Failures, got.Reasons)
			switch unverified := got.Reasons["certificate: unknown authority"]; {
			case unverified != got.Failures:
				t.Errorf("handshakes failed for other reasons: %v", got.Reasons)
			case tt.fails != (unverified > 0):
				t.Errorf("%d handshakes failed, want some: %t", unverified, tt.fails)
			}
		})
	}
}

func (w *secretsWorld) startPair(t *testing.T, name string, of mounts) *pair {
	t.Helper()
	p := &pair{server: newMount(t, of.server), client: newMount(t, of.client)}
	var address string
	p.server.Process, address = w.runSample(t, name+"-server", func(address string) []string {
		return append([]string{"server", "--listen=" + address}, p.server.flags()...)
	})
	p.client.Process, p.stats = w.runSample(t, name+"-client", func(stats string) []string {
		return append([]string{
			"client", "--stats=" + stats, "--server=" + address, "--server-name=" + webServerName, "--pause=10ms",
		}, p.client.flags()...)
	})
	return p
}

func newMount(t *testing.T, content map[string]string) mountingProcess {
	t.Helper()
	out := mountingProcess{volume: kubeletvolume.New(t), content: content}
	out.volume.Swap(t, content)
	return out
}

func (p *mountingProcess) flags() []string {
	return []string{"--leaf-dir=" + p.volume.Dir, "--bundle-dir=" + p.volume.Dir}
}

// runSample starts a program of the sample that listens on an address, and stops it with the test.
func (w *secretsWorld) runSample(t *testing.T, name string, args func(address string) []string) (process *cluster.Process, address string) {
	t.Helper()
	program := filepath.Join(filepath.Dir(w.program), "mtls-service")
	// The test cache tracks what a test stats.
	if _, err := os.Stat(program); err != nil {
		t.Fatalf("%s is not built, run `make build`: %v", program, err)
	}
	for {
		port, err := cluster.FreePort()
		if err != nil {
			t.Fatal(err)
		}
		address = fmt.Sprintf("127.0.0.1:%d", port)
		process = w.AddProcess(fmt.Sprintf("secrets-%s-%d", name, port), program, args(address)...)
		if err := process.Start(); err != nil {
			t.Fatal(err)
		}
		err = process.WaitReady(t.Context(), func(ctx context.Context) error {
			conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
			if err != nil {
				return err
			}
			return conn.Close()
		})
		if err == nil {
			break
		}
		if !process.LostPort() {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if err := process.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("%s does not end in order: %v", name, err)
		}
	})
	return process, address
}

// load swaps the content of the volume and waits until the program has loaded it.
func (p *mountingProcess) load(t *testing.T, content map[string]string) {
	t.Helper()
	if maps.Equal(content, p.content) {
		return
	}
	const loaded = `"Loaded"`
	before := strings.Count(p.Printed(), loaded)
	p.content = content
	p.volume.Swap(t, content)
	eventually(t, p.Name()+" loads what is swapped in", func(context.Context) error {
		if strings.Count(p.Printed(), loaded) == before {
			return fmt.Errorf("it has not: %s", p.LogTail())
		}
		return nil
	})
}

// shakeHands waits for some more handshakes of the client, whether they succeed or not.
func (p *pair) shakeHands(t *testing.T) {
	t.Helper()
	const more = 20
	first := p.count(t)
	eventually(t, "the client shakes hands", func(context.Context) error {
		now := p.count(t)
		if done := now.Handshakes + now.Failures - first.Handshakes - first.Failures; done < more {
			return fmt.Errorf("it has done %d of %d", done, more)
		}
		return nil
	})
}

func (p *pair) count(t *testing.T) answers {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+p.stats+"/stats", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var out answers
	if err := json.NewDecoder(response.Body).Decode(&out); err != nil {
		t.Fatal(err)
	}
	return out
}
