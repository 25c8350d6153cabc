// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"certrotation.dev/registry/pki"
	"certrotation.dev/test/cluster"
)

// smallWorld is a rollout over real processes that do nothing. The test decides which of them get ready.
type smallWorld struct {
	t       *testing.T
	rollout *rollout
	seed    *material
	a, b    *pki.Pair
	swaps   int

	mu     sync.Mutex
	events []string
	ready  map[string]bool
	broken map[string]bool // Servers that do not get ready after a start.
}

func newSmallWorld(t *testing.T) *smallWorld {
	t.Helper()
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	w := &smallWorld{t: t, a: newSigner(t, "a"), b: newSigner(t, "b"), ready: map[string]bool{}, broken: map[string]bool{}}
	dir := t.TempDir()
	cert, key := issue(t, w.a, "client")
	st, first, err := openStore(filepath.Join(dir, "store"), seed(t, filepath.Join(dir, "seed"), bundle(w.a), cert, key), twoServers)
	if err != nil {
		t.Fatal(err)
	}
	w.seed = first
	cfg := &Config{ReadyPatience: time.Hour, BundleKey: "ca-bundle.crt", Bundle: types.NamespacedName{Namespace: "ns", Name: "bundle"}, Leaf: types.NamespacedName{Namespace: "ns", Name: "leaf"}}
	w.rollout = &rollout{
		cfg: cfg, store: st, live: newLive(), leaf: first.leaf, loaded: func() { w.swaps++ }, ready: w.isReady,
		wake: make(chan struct{}, 1), asked: map[string]int{}, unreadySince: map[string]time.Time{},
	}
	for _, server := range twoServers {
		s := &apiServer{
			Server: server, requests: make(chan restartRequest),
			takeOut: func() { w.set(server.Name, false, "out "+server.Name) },
			reset:   func() { w.set(server.Name, true, "") },
			begin: func(tr *trust) (*cluster.Process, error) {
				w.set(server.Name, false, "start "+server.Name+" "+tr.id)
				p := cluster.NewProcess(cluster.ProcessConfig{Name: server.Name, Path: sleep, Args: []string{"300"}, Dir: dir})
				return p, p.Start()
			},
		}
		w.rollout.servers = append(w.rollout.servers, s)
		background(t, func(ctx context.Context) { s.run(ctx, first.trusts[server.Name]) })
	}
	w.until("both run", func() bool { return w.isReady(twoServers[0].Name) && w.isReady(twoServers[1].Name) })
	w.take()
	return w
}

func (w *smallWorld) isReady(name string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ready[name]
}

func (w *smallWorld) set(name string, ready bool, event string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ready[name] = ready && !w.broken[name]
	if event != "" {
		w.events = append(w.events, strings.ReplaceAll(event, "kube-apiserver-", ""))
	}
}

// take returns the events since the last call.
func (w *smallWorld) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.events
	w.events = nil
	return out
}

func (w *smallWorld) until(what string, condition func() bool) {
	w.t.Helper()
	err := wait.PollUntilContextTimeout(w.t.Context(), time.Millisecond, patience, true, func(context.Context) (bool, error) { return condition(), nil })
	if err != nil {
		w.t.Fatalf("not within %s: %s", patience, what)
	}
}

// settle takes steps until nothing is left to do, and returns the last error.
func (w *smallWorld) settle() error {
	w.t.Helper()
	for range 20 {
		again, err := w.rollout.step(w.t.Context())
		if !again {
			return err
		}
	}
	w.t.Fatal("the rollout does not come to an end")
	return nil
}

func (w *smallWorld) setLeaf(signer *pki.Pair) {
	cert, key := issue(w.t, signer, "client")
	w.rollout.live.set(func() { w.rollout.live.certPEM, w.rollout.live.keyPEM = cert, key })
}

func (w *smallWorld) setBundle(content []byte) {
	w.rollout.live.set(func() { w.rollout.live.bundle = content })
}

func (w *smallWorld) expect(want ...string) {
	w.t.Helper()
	if diff := cmp.Diff(want, w.take()); diff != "" {
		w.t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestRolloutOfTrust(t *testing.T) {
	w := newSmallWorld(t)
	if err := w.settle(); err != nil {
		t.Fatal(err)
	}
	w.expect()
	w.setBundle(bundle(w.a, w.b))
	if err := w.settle(); err != nil {
		t.Fatal(err)
	}
	id := trustID(t, bundle(w.a, w.b))
	w.expect("out 0", "start 0 "+id, "out 1", "start 1 "+id)
	// The same anchors in another order, and one twice: no restart.
	w.setBundle(bundle(w.b, w.a, w.b))
	if err := w.settle(); err != nil {
		t.Fatal(err)
	}
	w.expect()
	for _, server := range w.rollout.servers {
		if state := server.state(); state.startedAt.Before(state.trust.writtenAt) || state.starts != 2 {
			t.Errorf("%s: %+v", server.Name, state)
		}
	}
}

func TestRolloutStopsAtAServerThatDoesNotGetReady(t *testing.T) {
	w := newSmallWorld(t)
	w.broken["kube-apiserver-0"] = true
	w.setBundle(bundle(w.b))
	w.setLeaf(w.b)
	before := w.rollout.presented().id
	if err := w.settle(); err != nil {
		t.Fatal(err)
	}
	onlyB := trustID(t, bundle(w.b))
	w.expect("out 0", "start 0 "+onlyB)
	if w.rollout.presented().id != before {
		t.Error("the leaf did not wait")
	}
	// The server is overdue. It may need the new leaf, so the leaf moves, but the other server keeps serving.
	w.rollout.cfg.ReadyPatience = 0
	if err := w.settle(); err != nil {
		t.Fatal(err)
	}
	w.expect()
	if w.rollout.presented().id == before || w.swaps != 1 {
		t.Error("the leaf still waits")
	}
	// Better trust goes to the broken server first.
	w.broken["kube-apiserver-0"] = false
	w.setBundle(bundle(w.a, w.b))
	if err := w.settle(); err != nil {
		t.Fatal(err)
	}
	both := trustID(t, bundle(w.a, w.b))
	w.expect("out 0", "start 0 "+both, "out 1", "start 1 "+both)
}

func TestLeafNeedsNoRestart(t *testing.T) {
	w := newSmallWorld(t)
	w.setLeaf(w.b)
	if err := w.settle(); err != nil {
		t.Fatal(err)
	}
	w.expect()
	on, _, _, err := loadLeaf(filepath.Join(w.rollout.store.dir, leafPointer))
	if err != nil {
		t.Fatal(err)
	}
	if w.swaps != 1 || on.id != w.rollout.presented().id || on.id == w.seed.leaf.id {
		t.Errorf("%d swaps, %+v on the disk", w.swaps, on)
	}
}

func TestWhatCannotBeUsedChangesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*smallWorld)
		want  string
	}{
		"an empty bundle": {spoil: func(w *smallWorld) { w.setBundle([]byte{}) }, want: "ConfigMap ns/bundle, key ca-bundle.crt"},
		"no bundle":       {spoil: func(w *smallWorld) { w.setBundle([]byte("soon")) }, want: "ConfigMap ns/bundle, key ca-bundle.crt"},
		"another key": {spoil: func(w *smallWorld) {
			cert, _ := issue(w.t, w.a, "client")
			_, key := issue(w.t, w.a, "client")
			w.rollout.live.set(func() { w.rollout.live.certPEM, w.rollout.live.keyPEM = cert, key })
		}, want: "Secret ns/leaf"},
		"anchors that have expired": {spoil: func(w *smallWorld) { w.setBundle(bundle(expiredSigner(w.t))) }, want: "every anchor of it has expired"},
		"a leaf that has expired": {spoil: func(w *smallWorld) {
			cert, key := issueAt(w.t, expiredSigner(w.t), "client", time.Now().Add(-36*time.Hour))
			w.rollout.live.set(func() { w.rollout.live.certPEM, w.rollout.live.keyPEM = cert, key })
		}, want: "its certificate has expired"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newSmallWorld(t)
			c.spoil(w)
			if err := w.settle(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want it to name %q", err, c.want)
			}
			w.expect()
			if w.rollout.presented().id != w.seed.leaf.id {
				t.Error("the leaf has changed")
			}
		})
	}
}

func TestBadTrustDoesNotKeepAGoodLeafAway(t *testing.T) {
	w := newSmallWorld(t)
	w.setBundle([]byte("soon"))
	w.setLeaf(w.a)
	if err := w.settle(); err == nil {
		t.Error("the bad bundle is not reported")
	}
	if w.swaps != 1 {
		t.Error("the leaf was not swapped in")
	}
}

func TestHold(t *testing.T) {
	w := newSmallWorld(t)
	w.rollout.hold(true)
	w.setBundle(bundle(w.b))
	w.setLeaf(w.b)
	if err := w.settle(); err != nil {
		t.Fatal(err)
	}
	w.expect()
	if w.swaps != 1 {
		t.Error("a held rollout keeps the leaf away")
	}
	// A server that dies while restarts are held comes back with the trust that it had.
	server := w.rollout.servers[0]
	if _, err := server.kill(); err != nil {
		t.Fatal(err)
	}
	w.until("it is back", func() bool { return server.state().starts == 2 })
	w.expect("start 0 " + trustID(t, bundle(w.a)))
	w.until("it is ready", func() bool { return w.isReady(server.Name) })
	w.rollout.hold(false)
	if err := w.settle(); err != nil {
		t.Fatal(err)
	}
	id := trustID(t, bundle(w.b))
	w.expect("out 0", "start 0 "+id, "out 1", "start 1 "+id)
}

func TestAskedRestart(t *testing.T) {
	w := newSmallWorld(t)
	if err := w.rollout.askRestart("kube-apiserver-1"); err != nil {
		t.Fatal(err)
	}
	if err := w.settle(); err != nil {
		t.Fatal(err)
	}
	w.expect("out 1", "start 1 "+trustID(t, bundle(w.a)))
	if err := w.rollout.askRestart("nobody"); err == nil {
		t.Error("nobody was restarted")
	}
}
