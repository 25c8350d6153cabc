// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const probesPerSecond = 20

// probes are clients of the API that run during a whole test.
type probes struct {
	t *testing.T
	// fresh requests each make a connection. kept requests use one connection of an ordinary client-go client.
	fresh, freshDone, freshFailed, kept, keptFailed atomic.Int64
	// plain requests keep a connection and do not retry. told counts those that were answered with 429 or 503.
	plain, plainFailed, told atomic.Int64
	// forgiving: a process was just killed, so its open requests may fail.
	forgiving  atomic.Bool
	forgiven   atomic.Int64
	slowest    atomic.Int64
	inFlight   sync.WaitGroup
	lastWrites atomic.Int64
}

// startProbes starts the probes. The returned function stops them and waits for the answers of all requests.
func startProbes(t *testing.T, config *rest.Config) (*probes, func()) {
	t.Helper()
	p := &probes{t: t}
	tlsConfig, err := rest.TLSConfigFor(config)
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	stop := background(t, func(ctx context.Context) {
		var loops sync.WaitGroup
		loops.Go(func() {
			every(ctx, time.Second/probesPerSecond, func() { p.inFlight.Go(func() { p.askFresh(config.Host, tlsConfig) }) })
		})
		loops.Go(func() { every(ctx, 100*time.Millisecond, func() { p.askKept(client) }) })
		loops.Go(func() { p.keepAsking(ctx, config.Host, tlsConfig) })
		loops.Wait()
		p.inFlight.Wait()
	})
	return p, stop
}

func every(ctx context.Context, pause time.Duration, do func()) {
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			do()
		case <-ctx.Done():
			return
		}
	}
}

// askFresh makes a connection, reads through etcd and closes.
func (p *probes) askFresh(host string, config *tls.Config) {
	p.fresh.Add(1)
	defer p.freshDone.Add(1)
	transport := &http.Transport{TLSClientConfig: config.Clone(), ForceAttemptHTTP2: true, DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	begun := time.Now()
	status, err := get(transport, host+"/api/v1/namespaces/default")
	if took := time.Since(begun).Milliseconds(); took > p.slowest.Load() {
		p.slowest.Store(took)
	}
	if err == nil && status == http.StatusOK {
		return
	}
	p.failed(&p.freshFailed, "a new connection", status, err)
}

// askKept writes through etcd with an ordinary client.
func (p *probes) askKept(client kubernetes.Interface) {
	p.kept.Add(1)
	// Not the context of the loop: a request that has begun must finish.
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	name := fmt.Sprintf("probe-%d", p.lastWrites.Add(1))
	_, err := client.CoreV1().ConfigMaps(metav1.NamespaceDefault).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil {
		p.failed(&p.keptFailed, "client-go", 0, err)
	}
}

// keepAsking uses one HTTP/2 transport and does not retry.
func (p *probes) keepAsking(ctx context.Context, host string, config *tls.Config) {
	transport := &http.Transport{TLSClientConfig: config.Clone(), ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	every(ctx, 50*time.Millisecond, func() {
		p.plain.Add(1)
		status, err := get(transport, host+"/api/v1/namespaces/default")
		switch {
		case err == nil && status == http.StatusOK:
		case err == nil && (status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable):
			p.told.Add(1)
		default:
			p.failed(&p.plainFailed, "a kept connection", status, err)
		}
	})
}

func get(transport *http.Transport, url string) (int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0, err
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return response.StatusCode, err
}

func (p *probes) failed(count *atomic.Int64, who string, status int, err error) {
	if p.forgiving.Load() {
		p.forgiven.Add(1)
		return
	}
	count.Add(1)
	p.t.Errorf("%s %s: status %d, error %v", time.Now().UTC().Format("15:04:05.000"), who, status, err)
}

// comeBy waits until connections made after its call were answered.
func (p *probes) comeBy() {
	p.t.Helper()
	begun, want := time.Now(), p.fresh.Load()+probesPerSecond
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for p.freshDone.Load() < want {
		if time.Since(begun) > patience {
			p.t.Fatalf("%d new connections are answered after %s, want %d", p.freshDone.Load(), patience, want)
		}
		<-tick.C
	}
}

func (p *probes) report() {
	p.t.Logf("new connections: %d, failed: %d, slowest: %d ms", p.fresh.Load(), p.freshFailed.Load(), p.slowest.Load())
	p.t.Logf("writes of client-go on kept connections: %d, failed: %d", p.kept.Load(), p.keptFailed.Load())
	p.t.Logf("plain requests on kept connections: %d, failed: %d, told to come again: %d", p.plain.Load(), p.plainFailed.Load(), p.told.Load())
	p.t.Logf("failed while a process had just been killed: %d", p.forgiven.Load())
}
