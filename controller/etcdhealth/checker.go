// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package etcdhealth

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/controller/dial"
	"certrotation.dev/registry/quorum"
	"certrotation.dev/registry/view/inventory"
)

// fallbackTimeout applies to a configuration without a timeout. identityTimeout bounds the reads of the client leaf
// and the bundle. Members are asked concurrently, so a check takes at most identityTimeout plus the timeout of a
// member. refusalTimeout is how long a member may take to refuse a client after the handshake.
const (
	fallbackTimeout = 10 * time.Second
	identityTimeout = 20 * time.Second
	refusalTimeout  = time.Second
)

// Config of a Checker.
type Config struct {
	Client kubernetes.Interface
	// Clock defaults to the real one. Timeouts of connections are real time in any case.
	Clock clock.PassiveClock
	// Dial defaults to DialContext of the zero dial.Dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Failures counts failed connections. It may be nil.
	Failures *dial.Failures
	// Metrics is where the metrics are registered. It may be nil.
	Metrics Registry
}

// Checker asks the members of etcd clusters. Make one with New.
type Checker struct {
	client kubernetes.Interface
	clock  clock.PassiveClock
	dial   dialFunc
	// failures may be nil.
	failures       *dial.Failures
	refusalTimeout time.Duration
	meters         *meters
	flights        flights
}

type dialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

// New returns a Checker. It connects to no member before Check.
func New(cfg Config) (*Checker, error) {
	if cfg.Client == nil {
		return nil, errors.New("quorum checker: client is required")
	}
	if cfg.Clock == nil {
		cfg.Clock = clock.RealClock{}
	}
	if cfg.Dial == nil {
		cfg.Dial = (&dial.Dialer{}).DialContext
	}
	c := &Checker{
		client: cfg.Client, clock: cfg.Clock, dial: cfg.Dial, failures: cfg.Failures, refusalTimeout: refusalTimeout,
		meters: newMeters(), flights: flights{keys: map[string]*line{}},
	}
	if cfg.Metrics != nil {
		c.meters.register(cfg.Metrics)
	}
	return c, nil
}

// Check asks the members on all nodes now. The client leaf and the bundle must consent to the configuration. It fails
// only if the members cannot be asked: the leaf or the bundle is unreadable, or ctx has ended.
func (c *Checker) Check(ctx context.Context, namespace, configuration string, q *configv1alpha1.Quorum, nodes []*inventory.Node) (quorum.Observation, error) {
	if q == nil {
		return quorum.Observation{}, fmt.Errorf("check quorum in namespace %s: no quorum is configured", namespace)
	}
	return c.share(ctx, namespace, configuration, q, onNodes(nodes))
}

// CheckPods is Check for members that are pods.
func (c *Checker) CheckPods(ctx context.Context, namespace, configuration string, q *configv1alpha1.Quorum, pods []*corev1.Pod) (quorum.Observation, error) {
	return c.share(ctx, namespace, configuration, q, ofPods(pods))
}

func (c *Checker) share(ctx context.Context, namespace, configuration string, q *configv1alpha1.Quorum, places []place) (quorum.Observation, error) {
	return c.flights.share(ctx, key(namespace, configuration, q, places), func(ctx context.Context) (quorum.Observation, error) {
		return c.check(ctx, namespace, configuration, q, places)
	})
}

// Forget removes the metrics of a namespace that no longer has a cluster.
func (c *Checker) Forget(namespace string) { c.meters.forget(namespace) }

// key identifies a question: equal keys may share a check.
func key(namespace, configuration string, q *configv1alpha1.Quorum, places []place) string {
	parts := []string{namespace, configuration, q.Endpoint, q.ServerName, q.ClientLeaf, q.BundleConfigMapName, timeout(q).String()}
	of := len(parts)
	for _, p := range places {
		parts = append(parts, p.name+"="+string(p.uid)+"="+p.address+"="+strings.Join(p.known, ","))
	}
	slices.Sort(parts[of:])
	return strings.Join(parts, "\n")
}

func timeout(q *configv1alpha1.Quorum) time.Duration {
	if q.Timeout == nil || q.Timeout.Duration <= 0 {
		return fallbackTimeout
	}
	return q.Timeout.Duration
}

func (c *Checker) check(ctx context.Context, namespace, configuration string, q *configv1alpha1.Quorum, places []place) (quorum.Observation, error) {
	started := c.clock.Now()
	identity, err := c.readIdentity(ctx, namespace, configuration, q)
	if err != nil {
		return quorum.Observation{}, err
	}
	answers := make([]quorum.Answer, len(places))
	var members sync.WaitGroup
	for i := range places {
		members.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, timeout(q))
			defer cancel()
			answers[i] = c.ask(ctx, &places[i], places[i].endpoint(q.Endpoint), identity)
		})
	}
	members.Wait()
	if err := ctx.Err(); err != nil {
		return quorum.Observation{}, fmt.Errorf("check quorum in namespace %s: %w", namespace, err)
	}
	o := quorum.Observe(answers)
	c.meters.checked(namespace, o, c.clock.Since(started))
	return o, nil
}

// readIdentity reads the client leaf and the bundle. It has its own timeout because a shared check has no caller's
// deadline.
func (c *Checker) readIdentity(ctx context.Context, namespace, configuration string, q *configv1alpha1.Quorum) (*tls.Config, error) {
	reading, cancel := context.WithTimeout(ctx, identityTimeout)
	defer cancel()
	identity, err := c.identity(reading, namespace, configuration, q)
	if err != nil && reading.Err() != nil && ctx.Err() == nil {
		return nil, fmt.Errorf("not read after %s: %w", identityTimeout, err)
	}
	return identity, err
}
