// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// counters are what /stats answers.
type counters struct {
	// Handshakes that succeeded, and Failures, since the program started.
	Handshakes int64 `json:"handshakes"`
	Failures   int64 `json:"failures"`
	// Writes that were acknowledged and looked for since, and those of them that were Lost.
	Writes int64 `json:"writes"`
	Lost   int64 `json:"lost"`
	// Reasons of the failures.
	Reasons map[string]int64 `json:"reasons"`
	// Unreachable are the peers whose counters are missing from the totals.
	Unreachable []string `json:"unreachable,omitempty"`
}

func (c *counters) add(other counters) {
	c.Handshakes += other.Handshakes
	c.Failures += other.Failures
	c.Writes += other.Writes
	c.Lost += other.Lost
	for reason, n := range other.Reasons {
		c.Reasons[reason] += n
	}
}

// stats counts, and adds up what its peers count.
type stats struct {
	peers []string

	mu    sync.Mutex
	count counters
}

func newStats(peers []string) *stats {
	return &stats{peers: peers, count: counters{Reasons: map[string]int64{}}}
}

func (s *stats) succeeded() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count.Handshakes++
}

func (s *stats) failed(err error) {
	log.Printf("handshake failed: %v", err)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count.Failures++
	s.count.Reasons[reason(err)]++
}

// wrote counts writes whose end is known.
func (s *stats) wrote(acknowledged, lost int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count.Writes += int64(acknowledged)
	s.count.Lost += int64(lost)
}

// reason classifies a failure: what certificates have to do with begins with "certificate: ".
func reason(err error) string {
	var authority x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	var hostname x509.HostnameError
	var network *net.OpError
	var answer apierrors.APIStatus
	switch {
	case errors.As(err, &authority):
		return "certificate: unknown authority"
	case errors.As(err, &invalid):
		return "certificate: invalid"
	case errors.As(err, &hostname):
		return "certificate: wrong name"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return "timeout"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "network: closed"
	case errors.As(err, &network) && (network.Op == "local error" || network.Op == "remote error"):
		// An alert of TLS was sent, or received.
		return "certificate: " + network.Err.Error()
	case errors.As(err, &network):
		return "network: " + network.Op
	case errors.As(err, &answer):
		return reasonOf(answer.Status())
	}
	return "other"
}

// reasonOf classifies an answer of an API server, which may be about a webhook that it has called.
func reasonOf(status metav1.Status) string {
	switch {
	case strings.Contains(status.Message, "x509: "), strings.Contains(status.Message, "tls: "):
		return "certificate: of a webhook"
	case strings.Contains(status.Message, context.DeadlineExceeded.Error()):
		return "timeout"
	}
	return "API server: " + string(status.Reason)
}

// own are the counters of this program.
func (s *stats) own() counters {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := counters{Reasons: map[string]int64{}}
	own.add(s.count)
	return own
}

// total adds the counters of the peers.
func (s *stats) total(ctx context.Context) counters {
	total := s.own()
	for _, url := range s.peers {
		peer, err := fetch(ctx, url)
		if err != nil {
			total.Unreachable = append(total.Unreachable, url)
			continue
		}
		total.add(peer)
	}
	return total
}

func fetch(ctx context.Context, url string) (counters, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var c counters
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return c, fmt.Errorf("ask %s: %w", url, err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return c, fmt.Errorf("ask %s: %w", url, err)
	}
	defer func() { _ = response.Body.Close() }()
	if err := json.NewDecoder(response.Body).Decode(&c); err != nil {
		return c, fmt.Errorf("decode the answer of %s: %w", url, err)
	}
	return c, nil
}

// serveStats answers /stats in the background until the context ends, and /hold and /resume where there is something to load.
func serveStats(ctx context.Context, address string, s *stats, l *loader) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", address, err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /stats", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(s.total(r.Context())); err != nil {
			log.Printf("answer /stats: %v", err)
		}
	})
	if l != nil {
		mux.HandleFunc("POST /hold", func(http.ResponseWriter, *http.Request) { l.pause() })
		mux.HandleFunc("POST /resume", func(http.ResponseWriter, *http.Request) { l.resume() })
	}
	server := &http.Server{Handler: mux, ReadHeaderTimeout: patience}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Printf("stop serving counters: %v", err)
		}
	}()
	return nil
}
