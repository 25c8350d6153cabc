// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"

	"github.com/spf13/cobra"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// heaviest is what a parcel may weigh. tooHeavy is the answer to who wants more.
const (
	heaviest = 30
	tooHeavy = "no parcel weighs more than 30"
)

// parcel is what the webhook guards.
type parcel struct {
	Spec struct {
		Weight int64 `json:"weight"`
	} `json:"spec"`
}

func newWebhookCommand(o *options) *cobra.Command {
	var listen string
	cmd := &cobra.Command{
		Use:   "webhook",
		Short: "Review parcels for kube-apiserver",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.run(cmd.Context(), newStats(nil), func(ctx context.Context, p *program) error { return p.serveReviews(ctx, listen) })
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:9443", "address to listen on")
	return cmd
}

// serveReviews answers until the context ends, and then those who have asked. No connection is used twice, so that each call is a
// handshake with what is loaded at that moment.
func (p *program) serveReviews(ctx context.Context, address string) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", address, err)
	}
	server := &http.Server{
		Handler: http.HandlerFunc(review), ReadHeaderTimeout: patience,
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){},
	}
	server.SetKeepAlivesEnabled(false)
	served := make(chan error, 1)
	go func() {
		served <- server.Serve(tls.NewListener(listener, p.source.ServerConfig(&tls.Config{MinVersion: tls.VersionTLS12})))
	}()
	select {
	case err := <-served:
		return fmt.Errorf("serve reviews: %w", err)
	case <-ctx.Done():
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	if err := errors.Join(server.Shutdown(ending), ignoreClosed(<-served)); err != nil {
		return fmt.Errorf("end the reviews: %w", err)
	}
	return nil
}

func ignoreClosed(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// review admits a parcel that is not too heavy.
func review(w http.ResponseWriter, r *http.Request) {
	var asked admissionv1.AdmissionReview
	var p parcel
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&asked); err != nil || asked.Request == nil {
		http.Error(w, "an AdmissionReview is expected", http.StatusBadRequest)
		return
	}
	answer := &admissionv1.AdmissionResponse{UID: asked.Request.UID, Allowed: true}
	switch err := json.Unmarshal(asked.Request.Object.Raw, &p); {
	case err != nil:
		answer.Allowed, answer.Result = false, &metav1.Status{Message: "the parcel cannot be read"}
	case p.Spec.Weight > heaviest:
		answer.Allowed, answer.Result = false, &metav1.Status{Message: tooHeavy}
	}
	asked.Request, asked.Response = nil, answer
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(&asked); err != nil {
		log.Printf("answer a review: %v", err)
	}
}
