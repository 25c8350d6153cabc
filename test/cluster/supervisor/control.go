// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"k8s.io/klog/v2"
)

const controlTimeout = 5 * time.Second

// control is the HTTP server for tests and people. It has no authentication: serve it on a local address only.
func (s *Supervisor) control() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /status", s.serveStatus)
	mux.HandleFunc("POST /kill", func(w http.ResponseWriter, r *http.Request) {
		s.act(w, r, func(server *apiServer) error {
			pid, err := server.kill()
			if err == nil {
				_, err = fmt.Fprintf(w, "killed %s (pid %d)\n", server.Name, pid)
			}
			return err
		})
	})
	mux.HandleFunc("POST /restart", func(w http.ResponseWriter, r *http.Request) {
		s.act(w, r, func(server *apiServer) error { return s.rollout.askRestart(server.Name) })
	})
	mux.HandleFunc("POST /hold", func(http.ResponseWriter, *http.Request) { s.rollout.hold(true) })
	mux.HandleFunc("POST /resume", func(http.ResponseWriter, *http.Request) { s.rollout.hold(false) })
	return mux
}

// act applies do to the server of the query parameter name.
func (s *Supervisor) act(w http.ResponseWriter, r *http.Request, do func(*apiServer) error) {
	name := r.FormValue("name")
	server := s.rollout.find(name)
	if server == nil {
		http.Error(w, fmt.Sprintf("name=%q: %v", name, errUnknownServer), http.StatusNotFound)
		return
	}
	if err := do(server); err != nil {
		http.Error(w, err.Error(), http.StatusConflict)
	}
}

func (s *Supervisor) serveStatus(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(s.Status()); err != nil {
		klog.FromContext(r.Context()).Error(err, "Cannot answer /status")
	}
}

func (s *Supervisor) serveControl(ctx context.Context, listener net.Listener) {
	server := &http.Server{Handler: s.control(), ReadHeaderTimeout: controlTimeout}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		klog.FromContext(ctx).Error(err, "The control address is not served any more")
	}
}
