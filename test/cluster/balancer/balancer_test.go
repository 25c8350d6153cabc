// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package balancer

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"k8s.io/apimachinery/pkg/util/wait"

	"certrotation.dev/registry/pki"
	"certrotation.dev/test/cluster/heldport"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds each wait, long enough for a busy machine.
const patience = 2 * time.Minute

// network is where a world listens and dials.
type network interface {
	listen(t *testing.T) net.Listener
	dial(ctx context.Context, network, address string) (net.Conn, error)
}

// loopback is TCP on this machine, on ports that no other program gets while a server restarts.
type loopback struct{}

func (loopback) listen(t *testing.T) net.Listener {
	t.Helper()
	return listenAt(t, fmt.Sprintf("127.0.0.1:%d", heldport.Take(t)))
}

func (loopback) dial(ctx context.Context, network, address string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, network, address)
}

func listenAt(t *testing.T, address string) net.Listener {
	t.Helper()
	listener, err := (&net.ListenConfig{Control: heldport.Share}).Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	return listener
}

// world is a balancer in front of TLS servers that answer a line with their name.
type world struct {
	t        *testing.T
	network  network
	balancer *Balancer
	address  string
	servers  []*echo
	config   *tls.Config
}

func newWorld(t *testing.T, servers int, change func(*Config)) *world {
	t.Helper()
	return newWorldOn(t, loopback{}, servers, change)
}

func newWorldOn(t *testing.T, n network, servers int, change func(*Config)) *world {
	t.Helper()
	now := time.Now()
	ca, err := pki.NewAuthority(pki.Profile{CommonName: "balancer-test", Key: pki.ECDSAP256, Validity: time.Hour}, now)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := ca.Issue(pki.Profile{
		CommonName: "server", IPAddresses: []string{"127.0.0.1"}, Usages: []pki.Usage{pki.ServerAuth}, Key: pki.ECDSAP256, Validity: time.Minute * 30,
	}, now)
	if err != nil {
		t.Fatal(err)
	}
	keyPEM, err := leaf.KeyPEM()
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(leaf.CertPEM(), keyPEM)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca.CertPEM())
	w := &world{t: t, network: n, config: &tls.Config{RootCAs: pool, ServerName: "127.0.0.1", MinVersion: tls.VersionTLS13}}
	listener := n.listen(t)
	cfg := Config{
		Listeners: []net.Listener{listener}, CheckEvery: 5 * time.Millisecond,
		CheckTimeout: patience, AnswerTimeout: patience, Patience: patience,
	}
	for i := range servers {
		s := &echo{t: t, name: fmt.Sprintf("s%d", i), config: &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS13}}
		s.start(n.listen(t))
		w.servers = append(w.servers, s)
		cfg.Backends = append(cfg.Backends, Backend{Name: s.name, Address: s.address, Check: s.check})
	}
	if change != nil {
		change(&cfg)
	}
	if w.balancer, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	w.balancer.dial = n.dial
	w.address = listener.Addr().String()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { w.balancer.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
		w.balancer.CloseConnections()
		for _, s := range w.servers {
			s.kill()
		}
	})
	return w
}

// ask opens a connection, sends a line and returns the name of the server that answered.
func (w *world) ask() (string, error) {
	conn, err := w.dial()
	if err != nil {
		return "", err
	}
	defer conn.Close()
	return conn.ask()
}

type client struct {
	*tls.Conn
	reader *bufio.Reader
}

func (w *world) dial() (*client, error) {
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	raw, err := w.network.dial(ctx, "tcp", w.address)
	if err != nil {
		return nil, err
	}
	conn := tls.Client(raw, w.config)
	if err := conn.HandshakeContext(ctx); err != nil {
		_ = raw.Close()
		return nil, err
	}
	return &client{Conn: conn, reader: bufio.NewReader(conn)}, nil
}

func (c *client) ask() (string, error) {
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return "", err
	}
	if _, err := c.Write([]byte("who\n")); err != nil {
		return "", err
	}
	line, err := c.reader.ReadString('\n')
	return strings.TrimSpace(line), err
}

// eventually waits for a condition of the balancer.
func (w *world) eventually(what string, condition func() bool) {
	w.t.Helper()
	err := wait.PollUntilContextTimeout(w.t.Context(), time.Millisecond, patience, true, func(context.Context) (bool, error) { return condition(), nil })
	if err != nil {
		w.t.Fatalf("not within %s: %s", patience, what)
	}
}

func (w *world) allReady() {
	w.t.Helper()
	for _, s := range w.servers {
		w.eventually(s.name+" is ready", func() bool { return w.balancer.State(s.name).Ready })
	}
}

// echo is a TLS server. kill ends it like SIGKILL, without closing TLS.
type echo struct {
	t       *testing.T
	name    string
	config  *tls.Config
	address string
	unready atomic.Bool
	// mute servers accept and never send anything.
	mute atomic.Bool
	// rude servers hang up after they have read the ClientHello.
	rude atomic.Bool

	mu       sync.Mutex
	listener net.Listener
	conns    map[net.Conn]struct{}
	running  sync.WaitGroup
}

func (s *echo) start(listener net.Listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listener, s.address, s.conns = listener, listener.Addr().String(), map[net.Conn]struct{}{}
	s.running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.conns[conn] = struct{}{}
			s.mu.Unlock()
			s.running.Go(func() { s.serve(conn) })
		}
	})
}

func (s *echo) serve(conn net.Conn) {
	defer func() {
		s.mu.Lock()
		delete(s.conns, conn)
		s.mu.Unlock()
		_ = conn.Close()
	}()
	if s.mute.Load() {
		_, _ = io.Copy(io.Discard, conn)
		return
	}
	if s.rude.Load() {
		_, _ = readHello(conn, patience)
		return
	}
	server := tls.Server(conn, s.config)
	reader := bufio.NewReader(server)
	for {
		if _, err := reader.ReadString('\n'); err != nil {
			_ = server.CloseWrite()
			return
		}
		if _, err := server.Write([]byte(s.name + "\n")); err != nil {
			return
		}
	}
}

func (s *echo) check(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unready.Load() || s.listener == nil {
		return errors.New("not ready")
	}
	return nil
}

// kill closes the listener and every connection with a reset.
func (s *echo) kill() {
	s.mu.Lock()
	if s.listener != nil {
		_ = s.listener.Close()
		s.listener = nil
	}
	for conn := range s.conns {
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		_ = conn.Close()
	}
	s.mu.Unlock()
	s.running.Wait()
}

func TestConnectionsAreSpread(t *testing.T) {
	w := newWorld(t, 2, nil)
	w.allReady()
	got := map[string]int{}
	for range 10 {
		conn, err := w.dial()
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		name, err := conn.ask()
		if err != nil {
			t.Fatal(err)
		}
		got[name]++
	}
	if got["s0"] != 5 || got["s1"] != 5 {
		t.Errorf("10 open connections went to %v, want 5 to each", got)
	}
}

func TestTakenOutGetsNothingNewAndKeepsWhatItHas(t *testing.T) {
	w := newWorld(t, 2, nil)
	w.allReady()
	w.balancer.TakeOut("s1")
	old, err := w.dial()
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	w.balancer.Reset("s1")
	w.allReady()
	w.balancer.TakeOut("s0")
	for range 20 {
		if name, err := w.ask(); err != nil || name != "s1" {
			t.Fatalf("a new connection reached %q (%v), want s1", name, err)
		}
	}
	if name, err := old.ask(); err != nil || name != "s0" {
		t.Errorf("the connection from before reached %q (%v), want s0", name, err)
	}
}

func TestRetriesBeforeTheAnswer(t *testing.T) {
	for name, fail := range map[string]func(*echo){
		"a server that is gone":        func(s *echo) { s.kill() },
		"a server that hangs up early": func(s *echo) { s.rude.Store(true) },
	} {
		t.Run(name, func(t *testing.T) {
			// Rare checks: the balancer does not notice the failure.
			w := newWorld(t, 2, func(cfg *Config) { cfg.CheckEvery = time.Hour })
			w.allReady()
			fail(w.servers[0])
			for range 4 {
				if name, err := w.ask(); err != nil || name != "s1" {
					t.Fatalf("got %q (%v), want s1", name, err)
				}
			}
			if counts := w.balancer.Counts(); counts.Retried != 1 || counts.Unserved != 0 {
				t.Errorf("counts are %+v, want one retry", counts)
			}
		})
	}
}

func TestClientsWaitForAReadyBackend(t *testing.T) {
	w := newWorld(t, 1, nil)
	w.allReady()
	w.servers[0].unready.Store(true)
	w.eventually("s0 is not ready", func() bool { return !w.balancer.State("s0").Ready })
	answered := make(chan error, 1)
	go func() {
		_, err := w.ask()
		answered <- err
	}()
	w.eventually("the client waits", func() bool { return w.balancer.Counts().Accepted == 1 })
	select {
	case err := <-answered:
		t.Fatalf("answered while no backend was ready: %v", err)
	default:
	}
	w.servers[0].unready.Store(false)
	if err := <-answered; err != nil {
		t.Error(err)
	}
}

// TestOldCheckProvesNothing: a check that began before the process was replaced must not admit the new process.
func TestOldCheckProvesNothing(t *testing.T) {
	entered, leave, again := make(chan struct{}), make(chan struct{}), make(chan struct{})
	calls := 0
	w := newWorld(t, 1, func(cfg *Config) {
		cfg.Backends[0].Check = func(ctx context.Context) error {
			switch calls++; calls {
			case 1:
				close(entered)
				<-leave
				return nil
			case 2:
				close(again) // The result of the first check has been recorded or dropped.
			}
			<-ctx.Done()
			return ctx.Err()
		}
	})
	<-entered
	w.balancer.Reset("s0")
	close(leave)
	<-again
	if state := w.balancer.State("s0"); state.Ready || state.Proven {
		t.Errorf("state is %+v after a check of the process before", state)
	}
	if state := w.balancer.State("nobody"); state.Ready || state.Failure == nil {
		t.Errorf("an unknown backend is %+v", state)
	}
}

// TestNoFailureOverRestarts: while servers restart in turn, no new connection fails.
func TestNoFailureOverRestarts(t *testing.T) {
	w := newWorld(t, 2, nil)
	w.allReady()
	stop := make(chan struct{})
	var asked, failed atomic.Int64
	var clients sync.WaitGroup
	for range 4 {
		clients.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				asked.Add(1)
				if _, err := w.ask(); err != nil {
					failed.Add(1)
					t.Errorf("a new connection failed: %v", err)
				}
			}
		})
	}
	for round := range 20 {
		s := w.servers[round%2]
		w.balancer.TakeOut(s.name)
		w.eventually(s.name+" is drained", func() bool { return w.balancer.State(s.name).Connections == 0 })
		s.kill()
		s.start(listenAt(t, s.address))
		w.balancer.Reset(s.name)
		w.allReady()
		before := asked.Load()
		w.eventually("clients have come by", func() bool { return asked.Load() >= before+10 })
	}
	close(stop)
	clients.Wait()
	t.Logf("%d new connections over 20 restarts, %d failed", asked.Load(), failed.Load())
}

func TestNewNeedsBothSides(t *testing.T) {
	if _, err := New(Config{}); err == nil {
		t.Error("a balancer of nothing was made")
	}
}
