// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	componentmetrics "k8s.io/component-base/metrics"

	"certrotation.dev/apis/certrotation/v1alpha1"
	"certrotation.dev/controller/dial"
	"certrotation.dev/controller/reload"
	"certrotation.dev/registry/pki"
	"certrotation.dev/test/kubeletvolume"
	"certrotation.dev/test/pipenet"
)

// program is a server that loads the mounted files only when the test calls load.
type program struct {
	secret, bundle *kubeletvolume.Volume
	pipes          pipenet.Network

	mu       sync.Mutex
	listener net.Listener
	config   *tls.Config
	// deaf is the error that a reload returns. reloads counts the calls.
	deaf    error
	reloads int
}

// newProgram returns a server that has loaded the mounted files and does not listen yet.
func newProgram(t *testing.T, leaf *pki.Pair, anchors ...*pki.Pair) *program {
	t.Helper()
	p := &program{secret: kubeletvolume.New(t), bundle: kubeletvolume.New(t)}
	p.mount(t, leaf, anchors...)
	p.load(t, leaf, anchors...)
	return p
}

func (p *program) mount(t *testing.T, leaf *pki.Pair, anchors ...*pki.Pair) {
	t.Helper()
	p.secret.Swap(t, kubeletvolume.Secret(t, leaf))
	p.bundle.Swap(t, kubeletvolume.Bundle(anchors...))
}

func (p *program) load(t *testing.T, leaf *pki.Pair, anchors ...*pki.Pair) {
	t.Helper()
	certificate, err := dial.Certificate(leaf)
	if err != nil {
		t.Error(err)
		return
	}
	pool := x509.NewCertPool()
	for _, anchor := range anchors {
		pool.AppendCertsFromPEM(anchor.Certificate.PEM())
	}
	p.set(&tls.Config{Certificates: []tls.Certificate{certificate}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12})
}

func (p *program) set(config *tls.Config) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.config = config
}

func (p *program) listen() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listener = p.pipes.Listen()
	go p.accept(p.listener)
}

// DialContext implements network: it connects to the program, whatever the address.
func (p *program) DialContext(ctx context.Context, network, _ string) (net.Conn, error) {
	p.mu.Lock()
	address := p.listener.Addr().String()
	p.mu.Unlock()
	return p.pipes.DialContext(ctx, network, address)
}

// Listeners implements network: each listener has another address.
func (p *program) Listeners(string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.listener.Addr().String()
}

func (p *program) accept(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		config := p.config
		p.mu.Unlock()
		go answer(conn, config)
	}
}

func answer(conn net.Conn, config *tls.Config) {
	defer conn.Close()
	if config == nil {
		_, _ = conn.Read(make([]byte, 1024))
		_, _ = io.WriteString(conn, "220 mail\r\n")
		return
	}
	server := tls.Server(conn, config)
	_ = server.Handshake() // the agent's side is tested
	_ = server.Close()
}

func (p *program) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.listener.Close()
}

// Reload implements Reloader. It counts the call and loads nothing.
func (p *program) Reload(context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reloads++
	return p.deaf
}

func (p *program) asked() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reloads
}

func (p *program) answers(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.deaf = err
}

// api stores reports, or refuses them.
type api struct {
	mu      sync.Mutex
	refusal error
	reports []*v1alpha1.Acknowledgement
}

func (a *api) Acknowledge(_ context.Context, _ string, ack *v1alpha1.Acknowledgement, _ metav1.CreateOptions) (*v1alpha1.Acknowledgement, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.refusal != nil {
		return nil, a.refusal
	}
	a.reports = append(a.reports, ack)
	out := ack.DeepCopy()
	out.Expires = &metav1.MicroTime{Time: time.Now().Add(10 * time.Minute)}
	return out, nil
}

func (a *api) refuse(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.refusal = err
}

func (a *api) last() *v1alpha1.Acknowledgement {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.reports) == 0 {
		return nil
	}
	return a.reports[len(a.reports)-1]
}

// world is a running agent, its program and its API server.
type world struct {
	*program
	*api

	agent    *Agent
	registry componentmetrics.KubeRegistry
}

// configOf returns a config without Reload, as for a program that reloads by itself.
func configOf(p *program, a *api) Config {
	return Config{
		Certificate: p.secret.Path("tls.crt"), Anchors: p.bundle.Path("ca-bundle.crt"), Prove: &Prove{Address: "127.0.0.1:8443", network: p},
		ReloadTimeout: 10 * time.Second, Server: reload.Server{API: a},
		Member: reload.Member{Namespace: "ns", Signer: "signer", Party: "servers", Name: "server-0", Instance: "uid"},
	}
}

// serving has a program listen in a bubble.
func serving(t *testing.T, p *program, test func(t *testing.T)) {
	t.Helper()
	pipenet.Test(t, func(t *testing.T) {
		p.listen()
		defer p.stop()
		test(t)
	})
}

// run runs an agent beside a program.
func run(t *testing.T, p *program, change func(*Config), test func(t *testing.T, w *world)) {
	t.Helper()
	serving(t, p, func(t *testing.T) {
		w := &world{program: p, api: &api{}, registry: componentmetrics.NewKubeRegistry()}
		config := configOf(p, w.api)
		if change != nil {
			change(&config)
		}
		w.agent = New(config, w.registry)
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { w.agent.Run(ctx) })
		defer running.Wait()
		defer cancel()
		w.pass(10 * time.Second)
		test(t, w)
	})
}

func (w *world) pass(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // the clock of the bubble
	synctest.Wait()
}

// reported fails unless the last report has this leaf and these anchors.
func (w *world) reported(t *testing.T, leaf *pki.Pair, anchors ...*pki.Pair) {
	t.Helper()
	last := w.last()
	if last == nil {
		_, text := w.agent.Health()
		t.Fatalf("nothing is reported:\n%s", text)
	}
	var trusts []string
	for _, anchor := range anchors {
		trusts = append(trusts, string(anchor.Certificate.Fingerprint))
	}
	slices.Sort(trusts)
	got := slices.Sorted(slices.Values(last.Trusts))
	if !slices.Equal(got, trusts) || !slices.Equal(last.Presents, []string{string(leaf.Certificate.Fingerprint)}) {
		t.Errorf("it trusts %v and presents %v, want %v and %s", got, last.Presents, trusts, leaf.Certificate.Fingerprint)
	}
}

// shows fails unless Health has the reason and the text. The reason "" means healthy.
func (w *world) shows(t *testing.T, reason reload.Reason, text string) {
	t.Helper()
	ok, health := w.agent.Health()
	if ok != (reason == "") || !strings.Contains(health, string(reason)) || !strings.Contains(health, text) {
		t.Errorf("healthy %t, want %q with %q:\n%s", ok, reason, text, health)
	}
	families, err := w.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var named []string
	for _, family := range families {
		if family.GetName() != "certrotation_agent_problems" {
			continue
		}
		for _, metric := range family.GetMetric() {
			if metric.GetGauge().GetValue() == 1 {
				named = append(named, metric.GetLabel()[0].GetValue())
			}
		}
	}
	if (reason == "") != (len(named) == 0) || reason != "" && !slices.Contains(named, string(reason)) {
		t.Errorf("the metric has %v, want %q", named, reason)
	}
}
