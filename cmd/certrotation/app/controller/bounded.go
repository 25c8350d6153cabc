// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"io"
	"net/http"
	"time"
)

// requestTimeout bounds each request to the API server, except watches. An API server may never answer if its etcd
// restarts, or if it was killed behind a load balancer. Such a request must not block a worker.
const requestTimeout = 20 * time.Second

// bounded gives each request its own deadline, except watches.
type bounded struct{ next http.RoundTripper }

func (b bounded) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Query().Has("watch") {
		return b.next.RoundTrip(request)
	}
	ctx, cancel := context.WithTimeout(request.Context(), requestTimeout)
	response, err := b.next.RoundTrip(request.WithContext(ctx))
	if err != nil {
		cancel()
		return nil, err
	}
	response.Body = &cancelling{ReadCloser: response.Body, cancel: cancel}
	return response, nil
}

// WrappedRoundTripper lets client-go find the underlying transport.
func (b bounded) WrappedRoundTripper() http.RoundTripper { return b.next }

// cancelling ends the request's context when its body is closed.
type cancelling struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (c *cancelling) Close() error {
	defer c.cancel()
	return c.ReadCloser.Close()
}
