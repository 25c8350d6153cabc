// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package reload

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/apis/certrotation/v1alpha1"
	"certrotation.dev/registry/pki"
	"certrotation.dev/test/kubeletvolume"
)

func pemOf(t *testing.T, leaf *pki.Pair, authorities ...*pki.Pair) PEM {
	secret := kubeletvolume.Secret(t, leaf)
	return PEM{Certificate: []byte(secret["tls.crt"]), Key: []byte(secret["tls.key"]), Anchors: []byte(kubeletvolume.Bundle(authorities...)["ca-bundle.crt"])}
}

func sourceOf(t *testing.T, in PEM) *Source {
	t.Helper()
	s, err := NewSource(in)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// outcome of a handshake: the errors of both sides, and the chain that the client saw.
type outcome struct {
	server, client error
	presented      []byte
}

func shake(t *testing.T, server, client *tls.Config) (out outcome) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	var served sync.WaitGroup
	served.Go(func() {
		raw, err := listener.Accept()
		if err != nil {
			out.server = err
			return
		}
		conn := tls.Server(raw, server)
		out.server = conn.HandshakeContext(t.Context())
		_ = conn.Close()
	})
	raw, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	conn := tls.Client(raw, client)
	out.client = conn.HandshakeContext(t.Context())
	if out.client == nil {
		out.presented = conn.ConnectionState().PeerCertificates[0].Raw
		_, _ = conn.Read(make([]byte, 1)) // wait for the server's verification
	}
	_ = conn.Close()
	served.Wait()
	return out
}

// TestBothDirectionsFollow takes one config of each side through a rotation. Each handshake uses what is loaded
// then.
func TestBothDirectionsFollow(t *testing.T) {
	former, next := kubeletvolume.Authority(t, "former"), kubeletvolume.Authority(t, "next")
	before, after := kubeletvolume.Leaf(t, former), kubeletvolume.Leaf(t, next)
	server, client := sourceOf(t, pemOf(t, before, former)), sourceOf(t, pemOf(t, before, former))
	serving := server.ServerConfig(&tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12})
	dialling := client.ClientConfig(&tls.Config{ServerName: "localhost", MinVersion: tls.VersionTLS12, ClientSessionCache: tls.NewLRUClientSessionCache(1)})
	for _, step := range []struct {
		name           string
		server, client PEM
		serverFails    string
		clientFails    string
	}{
		{name: "at rest", server: pemOf(t, before, former), client: pemOf(t, before, former)},
		{name: "the client has moved too early", server: pemOf(t, before, former), client: pemOf(t, after, former, next), serverFails: "unknown authority"},
		{name: "the server has moved too early", server: pemOf(t, after, former, next), client: pemOf(t, before, former), clientFails: "unknown authority"},
		{name: "both trust both", server: pemOf(t, before, former, next), client: pemOf(t, before, former, next)},
		{name: "leaves have moved", server: pemOf(t, after, former, next), client: pemOf(t, after, former, next)},
		{name: "the former is gone", server: pemOf(t, after, next), client: pemOf(t, after, next)},
		{name: "the client has not moved", server: pemOf(t, after, next), client: pemOf(t, before, next), serverFails: "unknown authority"},
	} {
		t.Run(step.name, func(t *testing.T) {
			if err := errors.Join(server.Take(step.server), client.Take(step.client)); err != nil {
				t.Fatal(err)
			}
			got := shake(t, serving, dialling)
			if !says(got.client, step.clientFails) || (step.clientFails == "" && !says(got.server, step.serverFails)) {
				t.Fatalf("server: %v, client: %v; want %q, %q", got.server, got.client, step.serverFails, step.clientFails)
			}
			if got.client == nil && !slices.Equal(got.presented, server.current.Load().pair.Certificate[0]) {
				t.Error("the server has presented another leaf than the one that is loaded")
			}
		})
	}
}

func says(err error, text string) bool {
	if text == "" {
		return err == nil
	}
	return err != nil && strings.Contains(err.Error(), text)
}

func TestClientVerifiesTheName(t *testing.T) {
	ca := kubeletvolume.Authority(t, "ca")
	source := sourceOf(t, pemOf(t, kubeletvolume.Leaf(t, ca), ca))
	noLeaf := sourceOf(t, PEM{Anchors: pemOf(t, kubeletvolume.Leaf(t, ca), ca).Anchors})
	for name, tt := range map[string]struct {
		source *Source
		base   *tls.Config
		want   string
	}{
		"its name":            {source, &tls.Config{ServerName: "localhost"}, ""},
		"its address":         {source, &tls.Config{ServerName: "127.0.0.1"}, ""},
		"another name":        {source, &tls.Config{ServerName: "example.com"}, "certificate is valid for localhost"},
		"another address":     {source, &tls.Config{ServerName: "127.0.0.2"}, "127.0.0.2"},
		"a client of no leaf": {noLeaf, &tls.Config{ServerName: "localhost"}, ""},
		"one more condition": {source, &tls.Config{ServerName: "localhost", VerifyConnection: func(tls.ConnectionState) error {
			return errors.New("not today")
		}}, "not today"},
	} {
		t.Run(name, func(t *testing.T) {
			tt.base.MinVersion = tls.VersionTLS12
			got := shake(t, source.ServerConfig(nil), tt.source.ClientConfig(tt.base))
			if !says(got.client, tt.want) {
				t.Errorf("%v, want %q", got.client, tt.want)
			}
		})
	}
}

func TestNobodyIsTrustedWithoutAnchors(t *testing.T) {
	ca := kubeletvolume.Authority(t, "ca")
	pair := pemOf(t, kubeletvolume.Leaf(t, ca))
	source := sourceOf(t, PEM{Certificate: pair.Certificate, Key: pair.Key})
	serving := source.ServerConfig(&tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12})
	got := shake(t, serving, source.ClientConfig(&tls.Config{ServerName: "localhost", MinVersion: tls.VersionTLS12}))
	if !errors.Is(got.client, errNoAnchors) {
		t.Errorf("the client: %v, want %v", got.client, errNoAnchors)
	}
	trusting := sourceOf(t, pemOf(t, kubeletvolume.Leaf(t, ca), ca))
	got = shake(t, serving, trusting.ClientConfig(&tls.Config{ServerName: "localhost", MinVersion: tls.VersionTLS12}))
	if !says(got.server, "unknown authority") {
		t.Errorf("the server: %v, want that it trusts nobody", got.server)
	}
	if err := source.verify(&tls.ConnectionState{}, ""); !errors.Is(err, errNoName) {
		t.Errorf("no name: %v, want %v", err, errNoName)
	}
}

func TestTakeKeepsTheFormer(t *testing.T) {
	ca := kubeletvolume.Authority(t, "ca")
	good, other := pemOf(t, kubeletvolume.Leaf(t, ca), ca), pemOf(t, kubeletvolume.Leaf(t, ca), ca)
	for name, tt := range map[string]struct {
		in   PEM
		want string
	}{
		"half a pair":         {PEM{Certificate: other.Certificate, Key: good.Key, Anchors: good.Anchors}, "belong together"},
		"no key":              {PEM{Certificate: other.Certificate, Anchors: good.Anchors}, "belong together"},
		"a cut bundle":        {PEM{Certificate: good.Certificate, Key: good.Key, Anchors: good.Anchors[:len(good.Anchors)/2]}, "trust anchors"},
		"no anchor any more":  {PEM{Certificate: good.Certificate, Key: good.Key}, "no trust anchor any more"},
		"no pair any more":    {PEM{Anchors: good.Anchors}, "no certificate any more"},
		"nothing":             {PEM{}, "neither"},
		"a bundle of letters": {PEM{Certificate: good.Certificate, Key: good.Key, Anchors: []byte("x")}, "trust anchors"},
	} {
		t.Run(name, func(t *testing.T) {
			s := sourceOf(t, good)
			before := s.current.Load()
			err := s.Take(tt.in)
			if !says(err, tt.want) || !says(s.Problem(), tt.want) {
				t.Errorf("%v, problem %v, want %q", err, s.Problem(), tt.want)
			}
			if s.current.Load() != before {
				t.Error("something else is loaded")
			}
			if err := s.Take(other); err != nil || s.Problem() != nil {
				t.Errorf("after it was put right: %v, problem %v", err, s.Problem())
			}
		})
	}
}

func TestLoadNeedsFiles(t *testing.T) {
	if _, err := Load(Files{Anchors: t.TempDir() + "/none"}); !says(err, "none: no such file") {
		t.Errorf("%v, want that there is no file", err)
	}
}

// api stores reports.
type api struct {
	mu      sync.Mutex
	reports []*v1alpha1.Acknowledgement
}

func (a *api) Acknowledge(_ context.Context, _ string, ack *v1alpha1.Acknowledgement, _ metav1.CreateOptions) (*v1alpha1.Acknowledgement, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.reports = append(a.reports, ack)
	out := ack.DeepCopy()
	out.Expires = &metav1.MicroTime{Time: time.Now().Add(10 * time.Minute)}
	return out, nil
}

func (a *api) all() []*v1alpha1.Acknowledgement {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.reports)
}

// TestFollowAcknowledgesWhatIsLoaded: what kubelet swaps is loaded and reported. What cannot be loaded is not
// reported.
func TestFollowAcknowledgesWhatIsLoaded(t *testing.T) {
	former, next := kubeletvolume.Authority(t, "former"), kubeletvolume.Authority(t, "next")
	secret, bundle := kubeletvolume.New(t), kubeletvolume.New(t)
	leaf := kubeletvolume.Leaf(t, former)
	secret.Swap(t, kubeletvolume.Secret(t, leaf))
	bundle.Swap(t, kubeletvolume.Bundle(former))
	files := Files{Certificate: secret.Path("tls.crt"), Key: secret.Path("tls.key"), Anchors: bundle.Path("ca-bundle.crt")}
	source, err := Load(files)
	if err != nil {
		t.Fatal(err)
	}
	// Make these outside of the bubble, whose time is before their validity.
	fresh := kubeletvolume.Leaf(t, next)
	mixed := kubeletvolume.Secret(t, fresh)
	mixed["tls.key"] = kubeletvolume.Secret(t, leaf)["tls.key"]
	synctest.Test(t, func(t *testing.T) {
		reports, member := &api{}, Member{Namespace: "ns", Signer: "signer", Party: "server", Name: "server-0", Instance: "uid"}
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { source.Follow(ctx, files) })
		running.Go(func() { source.Acknowledge(ctx, Server{API: reports}, member) })
		defer running.Wait()
		defer cancel()
		wait := func() {
			time.Sleep(2 * followInterval) //nolint:forbidigo // the clock of the bubble
			synctest.Wait()
		}
		last := func(want int) *v1alpha1.Acknowledgement {
			t.Helper()
			wait()
			all := reports.all()
			if len(all) != want {
				t.Fatalf("%d reports, want %d", len(all), want)
			}
			return all[len(all)-1]
		}
		if got := last(1); len(got.Trusts) != 1 || got.Member != "server-0" || got.Instance != "uid" || got.Party != "server" {
			t.Errorf("%+v, want one anchor", got)
		}
		bundle.Swap(t, kubeletvolume.Bundle(former, next))
		if got := last(2); !slices.Equal(got.Trusts, []string{string(former.Certificate.Fingerprint), string(next.Certificate.Fingerprint)}) {
			t.Errorf("trusts %v, want both", got.Trusts)
		}
		secret.Swap(t, mixed)
		if got := last(2); !slices.Equal(got.Presents, []string{string(leaf.Certificate.Fingerprint)}) || source.Problem() == nil {
			t.Errorf("presents %v, problem %v, want the former leaf and a problem", got.Presents, source.Problem())
		}
		secret.Swap(t, kubeletvolume.Secret(t, fresh))
		if got := last(3); !slices.Equal(got.Presents, []string{string(fresh.Certificate.Fingerprint)}) || source.Problem() != nil {
			t.Errorf("presents %v, problem %v, want the fresh leaf", got.Presents, source.Problem())
		}
	})
}
