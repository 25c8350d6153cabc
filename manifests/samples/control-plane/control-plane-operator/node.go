// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
)

const (
	// nodePort is where a node serves, as kubelets do.
	nodePort = 10250
	// maxReview is the largest request that a webhook reads.
	maxReview = 8 << 20
	// lastRequests is how long a node that ends finishes requests.
	lastRequests = 10 * time.Second
)

// newServeNode makes the command that takes the part of a node of a control plane: of its kubelet, which gives logs to
// kube-apiserver alone, and of a webhook.
func newServeNode() *cobra.Command {
	var certificate, trust string
	cmd := &cobra.Command{
		Use:           "serve-node",
		Short:         "Serve logs to kube-apiserver, and a webhook, as a node does",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := nodeTLS(certificate, trust)
			if err != nil {
				return err
			}
			return serveNode(cmd.Context(), &http.Server{
				Addr: fmt.Sprintf(":%d", nodePort), Handler: nodeHandler(), TLSConfig: config, ReadHeaderTimeout: lastRequests,
			})
		},
	}
	cmd.Flags().StringVar(&certificate, "certificate", "/server", "directory of tls.crt and tls.key")
	cmd.Flags().StringVar(&trust, "trust", "/trust/bundle.crt", "file of the CAs that kube-apiserver is verified by")
	return cmd
}

// nodeTLS is read once: pods are replaced when their Secrets change.
func nodeTLS(certificate, trust string) (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(filepath.Join(certificate, corev1.TLSCertKey), filepath.Join(certificate, corev1.TLSPrivateKeyKey))
	if err != nil {
		return nil, fmt.Errorf("load the certificate of %s: %w", certificate, err)
	}
	bundle, err := os.ReadFile(trust)
	if err != nil {
		return nil, fmt.Errorf("load CAs: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(bundle) {
		return nil, fmt.Errorf("%s has no CA", trust)
	}
	return &tls.Config{
		Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: tls.VerifyClientCertIfGiven, MinVersion: tls.VersionTLS12,
	}, nil
}

// serveNode serves until ctx ends, and then finishes what has begun.
func serveNode(ctx context.Context, server *http.Server) error {
	served := make(chan error, 1)
	go func() { served <- server.ListenAndServeTLS("", "") }()
	select {
	case err := <-served:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastRequests)
	defer cancel()
	if err := server.Shutdown(end); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("end the server: %w", err)
	}
	return nil
}

func nodeHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", func(w http.ResponseWriter, r *http.Request) {
		if r.TLS == nil || len(r.TLS.VerifiedChains) == 0 {
			http.Error(w, "only kube-apiserver gets logs", http.StatusForbidden)
			return
		}
		io.WriteString(w, "one line\n") //nolint:errcheck // The client has gone.
	})
	mux.HandleFunc("POST /validate", func(w http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(io.LimitReader(r.Body, maxReview)).Decode(&review); err != nil || review.Request == nil {
			http.Error(w, "not an AdmissionReview", http.StatusBadRequest)
			return
		}
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
		review.Request = nil
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(&review) //nolint:errcheck // The client has gone.
	})
	return mux
}
