// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"certrotation.dev/controller/dial"
)

// Bounds of requests.
const (
	// requestTimeout bounds a request with its answer.
	requestTimeout = 10 * time.Second
	// maxAnswer bounds an answer in bytes. The largest object has little more than 1 MiB.
	maxAnswer = 4 << 20
	// maxHeaders bounds the headers of an answer in bytes.
	maxHeaders = 64 << 10
)

// FirstPause and LastPause bound how long a cluster that did not answer is left alone.
const (
	FirstPause = 5 * time.Second
	LastPause  = 5 * time.Minute
)

// SilentError says that a cluster does not answer. It is safe to show, and the same at each attempt for the same cause.
type SilentError struct {
	Cluster string
	Since   time.Time
	Cause   string
	// Until is when it is tried again.
	Until time.Time
}

// Error implements error.
func (e *SilentError) Error() string {
	return fmt.Sprintf("cluster %s does not answer since %s: %s", e.Cluster, e.Since.UTC().Format(time.RFC3339), e.Cause)
}

// SilentOf returns the SilentError within an error, nil if there is none.
func SilentOf(err error) *SilentError {
	silent, _ := errors.AsType[*SilentError](err)
	return silent
}

// transport sends requests to the server of a kubeconfig.
type transport struct {
	clusters *Clusters
	cluster  string
	server   *url.URL
	token    string
	next     *http.Transport

	mu       sync.Mutex
	silent   *SilentError
	failures int
}

func newTransport(c *Clusters, cluster string, a *access) *transport {
	return &transport{
		clusters: c, cluster: cluster, server: a.server, token: a.token,
		next: &http.Transport{
			DialContext: c.cfg.Dial, TLSClientConfig: a.tls, TLSHandshakeTimeout: requestTimeout, ResponseHeaderTimeout: requestTimeout,
			MaxResponseHeaderBytes: maxHeaders, MaxConnsPerHost: 2, IdleConnTimeout: time.Minute, DisableCompression: true,
		},
	}
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	release, silent := t.permit()
	if silent != nil {
		return nil, silent
	}
	defer release()
	ctx, cancel := context.WithTimeout(request.Context(), requestTimeout)
	response, err := t.next.RoundTrip(t.addressed(request.WithContext(ctx)))
	if err != nil {
		defer cancel()
		return nil, t.failed(request.Context(), ctx, err)
	}
	t.answered()
	if response.StatusCode >= http.StatusMultipleChoices {
		defer cancel()
		return t.refusal(request, response), nil
	}
	response.Body = &answer{body: response.Body, left: maxAnswer, cancel: cancel, failed: func(err error) error {
		return t.failed(request.Context(), ctx, err)
	}}
	return response, nil
}

// addressed is a request with the server and the token of the kubeconfig.
func (t *transport) addressed(request *http.Request) *http.Request {
	request = request.Clone(request.Context())
	request.URL.Scheme, request.URL.Host = t.server.Scheme, t.server.Host
	request.URL.Path = strings.TrimSuffix(t.server.Path, "/") + request.URL.Path
	request.Host = ""
	if t.token != "" {
		request.Header.Set("Authorization", "Bearer "+t.token)
	}
	return request
}

// permit waits for nothing: it refuses a request while the cluster is left alone, or while too many others that did not
// answer are tried.
func (t *transport) permit() (release func(), _ *SilentError) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.silent == nil {
		return func() {}, nil
	}
	now := t.clusters.cfg.Clock.Now()
	if now.Before(t.silent.Until) {
		return nil, t.silent
	}
	select {
	case t.clusters.retries <- struct{}{}:
		return func() { <-t.clusters.retries }, nil
	default:
		again := *t.silent
		again.Until = now.Add(FirstPause)
		return nil, &again
	}
}

// paused is why the cluster is left alone now, nil if it is not.
func (t *transport) paused() *SilentError {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.silent == nil || !t.clusters.cfg.Clock.Now().Before(t.silent.Until) {
		return nil
	}
	return t.silent
}

// since is when the cluster stopped answering, zero if it answers.
func (t *transport) since() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.silent == nil {
		return time.Time{}
	}
	return t.silent.Since
}

// failed notes that a request got no answer, unless its caller has given up. ctx bounded the attempt.
func (t *transport) failed(caller, ctx context.Context, err error) error {
	if gone := caller.Err(); gone != nil {
		return gone
	}
	told, logged := causeOf(ctx, err)
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.clusters.cfg.Clock.Now()
	if t.silent == nil {
		klog.FromContext(ctx).Info("A cluster does not answer", "cluster", t.cluster, "cause", logged)
	}
	t.failures++
	failed := &SilentError{Cluster: t.cluster, Since: now, Cause: told, Until: now.Add(pause(t.failures))}
	if t.silent != nil {
		failed.Since = t.silent.Since
	}
	t.silent = failed
	return failed
}

func (t *transport) answered() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.silent, t.failures = nil, 0
}

// causeOf returns the public text about a failed attempt, and that for the log. The public one is no port scanner: it is
// the same whatever listens there, as for probes (dial.Told). Neither has the address or the name of the server.
func causeOf(ctx context.Context, err error) (told, logged string) {
	if denied, ok := errors.AsType[*dial.Refusal](err); ok {
		told = "its address is not dialled: it is " + denied.Range
		return told, told
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		if told = "its host name cannot be resolved"; dns.IsNotFound {
			told = "its host name is not known"
		}
		return told, told
	}
	return "no server that its kubeconfig trusts answers in time; the log of the controller has the cause", dial.Failure(ctx, err)
}

// refusal replaces a failed answer by one with our own text. It keeps the status, on which client-go decides.
func (t *transport) refusal(request *http.Request, response *http.Response) *http.Response {
	_ = response.Body.Close()
	text := fmt.Sprintf("cluster %s answers %d %s to %s", t.cluster, response.StatusCode, http.StatusText(response.StatusCode), request.Method)
	return &http.Response{
		Status: response.Status, StatusCode: response.StatusCode, Proto: response.Proto, ProtoMajor: response.ProtoMajor, ProtoMinor: response.ProtoMinor,
		Header: http.Header{"Content-Type": {"text/plain"}}, Body: io.NopCloser(strings.NewReader(text)), ContentLength: int64(len(text)), Request: request,
	}
}

// answer is a bounded body. It ends the context of its request when it is closed.
type answer struct {
	body   io.ReadCloser
	left   int64
	cancel context.CancelFunc
	failed func(error) error
}

var errTooLong = errors.New("the answer is too long")

// Read implements io.Reader.
func (a *answer) Read(into []byte) (int, error) {
	if a.left <= 0 {
		return 0, a.failed(errTooLong)
	}
	n, err := a.body.Read(into[:min(int64(len(into)), a.left)])
	a.left -= int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		err = a.failed(err)
	}
	return n, err
}

// Close implements io.Closer.
func (a *answer) Close() error {
	defer a.cancel()
	return a.body.Close()
}
