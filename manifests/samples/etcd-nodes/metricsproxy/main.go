// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// The metrics proxy of the sample: it serves the metrics of the etcd beside it over TLS to clients that show a
// certificate of the metrics' trust domain. Like etcd it reads its leaf at each handshake and its trust when it starts.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/signal"
	"syscall"
	"time"
)

type options struct {
	listen, upstream                 string
	certFile, keyFile, trustedCAFile string
}

func main() {
	var o options
	flag.StringVar(&o.listen, "listen", "", "address:port to serve on")
	flag.StringVar(&o.upstream, "upstream", "", "URL of etcd's own metrics listener")
	flag.StringVar(&o.certFile, "cert-file", "", "serving certificate, read at each handshake")
	flag.StringVar(&o.keyFile, "key-file", "", "its key, read at each handshake")
	flag.StringVar(&o.trustedCAFile, "trusted-ca-file", "", "CAs of the clients, read at the start")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1) //nolint:gocritic // stop has nothing left to do
	}
}

func run(ctx context.Context, o options) error {
	upstream, err := url.Parse(o.upstream)
	if err != nil {
		return fmt.Errorf("parse --upstream: %w", err)
	}
	trusted, err := pool(o.trustedCAFile)
	if err != nil {
		return err
	}
	server := &http.Server{
		Addr:              o.listen,
		Handler:           httputil.NewSingleHostReverseProxy(upstream),
		ReadHeaderTimeout: 10 * time.Second,
		TLSConfig: &tls.Config{
			MinVersion: tls.VersionTLS12,
			ClientAuth: tls.RequireAndVerifyClientCert,
			ClientCAs:  trusted,
			GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
				pair, err := tls.LoadX509KeyPair(o.certFile, o.keyFile)
				return &pair, err
			},
		},
	}
	failed := make(chan error, 1)
	go func() { failed <- server.ListenAndServeTLS("", "") }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve %s: %w", o.listen, err)
	case <-ctx.Done():
	}
	draining, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := server.Shutdown(draining); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("drain %s: %w", o.listen, err)
	}
	return nil
}

func pool(file string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read --trusted-ca-file: %w", err)
	}
	trusted := x509.NewCertPool()
	if !trusted.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("--trusted-ca-file %s holds no certificate", file)
	}
	return trusted, nil
}
