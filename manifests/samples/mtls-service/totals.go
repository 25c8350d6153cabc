// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"
)

// envTotals names the environment variable with the default of --totals.
const envTotals = "TOTALS_URL"

// reportInterval is how often a program sends its counters; one that is killed loses what it has counted since.
const reportInterval = time.Second

// message is what a program has counted since it started.
type message struct {
	// ID is of one process: a container that starts again begins to count anew.
	ID string `json:"id"`
	counters
}

// report sends the counters until the context ends, and then once more.
func (s *stats) report(ctx context.Context, url string) {
	host, err := os.Hostname()
	if err != nil {
		log.Printf("name this process: %v", err)
	}
	id := fmt.Sprintf("%s-%d", host, time.Now().UnixNano())
	ticker := time.NewTicker(reportInterval)
	defer ticker.Stop()
	for last := false; !last; {
		select {
		case <-ctx.Done():
			last = true
		case <-ticker.C:
		}
		if err := send(context.WithoutCancel(ctx), url, message{ID: id, counters: s.own()}); err != nil {
			log.Printf("counters are not added up: %v", err)
		}
	}
}

func send(ctx context.Context, url string, m message) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	body, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("encode counters: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("send counters to %s: %w", url, err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("send counters to %s: %w", url, err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("send counters to %s: %s", url, response.Status)
	}
	return nil
}

func newTotalsCommand() *cobra.Command {
	var listen string
	cmd := &cobra.Command{
		Use:   "totals",
		Short: "Add up what the programs count, those that have ended too",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return serveTotals(cmd.Context(), listen) },
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:8090", "address of /stats, to which programs send (POST) and which tells the totals (GET)")
	return cmd
}

// totals has the newest counters of each process.
type totals struct {
	mu sync.Mutex
	by map[string]counters
}

func serveTotals(ctx context.Context, listen string) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", listen)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", listen, err)
	}
	t := &totals{by: map[string]counters{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /stats", t.take)
	mux.HandleFunc("GET /stats", t.tell)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: patience}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve totals: %w", err)
	}
	return nil
}

func (t *totals) take(w http.ResponseWriter, r *http.Request) {
	var m message
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16)).Decode(&m); err != nil || m.ID == "" {
		http.Error(w, "counters with an id are expected", http.StatusBadRequest)
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.by[m.ID] = m.counters
}

func (t *totals) tell(w http.ResponseWriter, _ *http.Request) {
	sum := counters{Reasons: map[string]int64{}}
	t.mu.Lock()
	for _, c := range t.by {
		sum.add(c)
	}
	t.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(sum); err != nil {
		log.Printf("answer /stats: %v", err)
	}
}
