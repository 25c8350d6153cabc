// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"io"
	"net/http"
	"time"
)

// requestTimeout bounds each request to the API server that is no watch. An API server whose etcd restarts, or that was
// killed behind a load balancer, may never answer; a worker must not wait for it while others would.
const requestTimeout = 20 * time.Second

// bounded gives each request its own deadline.
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

// WrappedRoundTripper lets client-go find what carries the requests.
func (b bounded) WrappedRoundTripper() http.RoundTripper { return b.next }

// cancelling ends the request's context with its body.
type cancelling struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (c *cancelling) Close() error {
	defer c.cancel()
	return c.ReadCloser.Close()
}
