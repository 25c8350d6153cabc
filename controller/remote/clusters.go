// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// UserAgent of the requests to other clusters.
const UserAgent = "certrotation-copies"

// DefaultRetries is the default of Config.Retries.
const DefaultRetries = 16

// Config of Clusters.
type Config struct {
	// Client reads the kubeconfigs.
	Client kubernetes.Interface
	// Dial connects to the servers.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Retries bounds the concurrent requests to clusters that did not answer last time. Defaults to DefaultRetries.
	Retries int
	// Clock defaults to the real one. Deadlines of requests are real time in any case.
	Clock clock.PassiveClock
}

// Clusters are the clients of other clusters. Make one with New.
type Clusters struct {
	cfg     Config
	retries chan struct{}

	mu sync.Mutex
	// connections by the namespace of the configuration and the name of the cluster.
	connections map[types.NamespacedName]*connection
}

// connection is a client, or why there is none, made of one version of a Secret.
type connection struct {
	configuration, secretName, version string

	client    kubernetes.Interface
	transport *transport
	unusable  *UnusableError
}

// UnusableError is why no client can be made, until a person acts. It is safe to show.
type UnusableError struct {
	Text string
	// Missing says that the Secret does not exist.
	Missing bool
}

// Error implements error.
func (e *UnusableError) Error() string { return e.Text }

// New returns Clusters without connections.
func New(cfg Config) (*Clusters, error) {
	if cfg.Client == nil || cfg.Dial == nil {
		return nil, errors.New("remote clusters: client and dial are required")
	}
	if cfg.Retries <= 0 {
		cfg.Retries = DefaultRetries
	}
	if cfg.Clock == nil {
		cfg.Clock = clock.RealClock{}
	}
	return &Clusters{cfg: cfg, retries: make(chan struct{}, cfg.Retries), connections: map[types.NamespacedName]*connection{}}, nil
}

// Client returns the client of a cluster of a namespace. It reads the Secret unless the client is made of the version
// that of has. The error is an *UnusableError, a *SilentError, or why the Secret could not be read.
func (c *Clusters) Client(ctx context.Context, namespace string, of *inventory.Cluster) (kubernetes.Interface, error) {
	id := types.NamespacedName{Namespace: namespace, Name: of.Name}
	c.mu.Lock()
	known := c.connections[id]
	c.mu.Unlock()
	if known == nil || of.Version == "" || *known.source() != *sourceOf(of, of.Version) {
		var err error
		if known, err = c.connect(ctx, id, of); err != nil {
			return nil, err
		}
	}
	if known.unusable != nil {
		return nil, known.unusable
	}
	if silent := known.transport.paused(); silent != nil {
		return nil, silent
	}
	return known.client, nil
}

// source identifies what a connection is made of.
type source struct{ configuration, secretName, version string }

func (c *connection) source() *source { return &source{c.configuration, c.secretName, c.version} }

func sourceOf(of *inventory.Cluster, version string) *source {
	return &source{of.Configuration, of.SecretName, version}
}

// connect reads the Secret, and replaces the connection unless it was made of the same version.
func (c *Clusters) connect(ctx context.Context, id types.NamespacedName, of *inventory.Cluster) (*connection, error) {
	made := &connection{configuration: of.Configuration, secretName: of.SecretName}
	secret, err := c.cfg.Client.CoreV1().Secrets(id.Namespace).Get(ctx, of.SecretName, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		made.unusable = &UnusableError{Missing: true, Text: fmt.Sprintf("Secret/%s does not exist: it has the kubeconfig of cluster %s", of.SecretName, of.Name)}
	case err != nil:
		return nil, fmt.Errorf("read the kubeconfig of cluster %s: %w", of.Name, err)
	default:
		made.version = secret.ResourceVersion
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.connections[id]; known != nil {
		if *known.source() == *made.source() {
			return known, nil
		}
		known.close()
	}
	if made.unusable == nil {
		made.open(c, id.Namespace, of, secret.Annotations, secret.Data[KubeconfigKey])
	}
	c.connections[id] = made
	return made, nil
}

// open makes the client, or says why there is none.
func (c *connection) open(clusters *Clusters, namespace string, of *inventory.Cluster, annotations map[string]string, kubeconfig []byte) {
	refuse := func(format string, args ...any) { c.unusable = &UnusableError{Text: fmt.Sprintf(format, args...)} }
	if !trust.Consents(annotations, of.Configuration) {
		refuse("Secret/%s does not say that it may be used; look at it, and then: kubectl certrotation adopt -n %s %s",
			of.SecretName, namespace, of.Configuration)
		return
	}
	if len(kubeconfig) == 0 {
		refuse("Secret/%s has no key %s, the kubeconfig of cluster %s", of.SecretName, KubeconfigKey, of.Name)
		return
	}
	access, why := parse(kubeconfig)
	if why != "" {
		refuse("the kubeconfig of Secret/%s %s; write another one for cluster %s", of.SecretName, why, of.Name)
		return
	}
	c.transport = newTransport(clusters, of.Name, access)
	// The host is the name of the cluster, so that no error has the address. The transport replaces it.
	client, err := kubernetes.NewForConfigAndClient(
		&rest.Config{Host: "https://" + of.Name, UserAgent: UserAgent, QPS: -1, WarningHandler: rest.NoWarnings{}, ContentConfig: rest.ContentConfig{
			ContentType: runtime.ContentTypeJSON, AcceptContentTypes: runtime.ContentTypeJSON,
		}},
		&http.Client{Transport: c.transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }})
	if err != nil {
		refuse("cluster %s has a name of which no client can be made", of.Name)
		return
	}
	c.client = client
}

func (c *connection) close() {
	if c.transport != nil {
		c.transport.next.CloseIdleConnections()
	}
}

// Keep drops the clients of a namespace whose clusters are not named.
func (c *Clusters) Keep(namespace string, named func(cluster string) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, known := range c.connections {
		if id.Namespace == namespace && !named(id.Name) {
			known.close()
			delete(c.connections, id)
		}
	}
}

// Silent counts, by namespace, the connected clusters that did not answer last time.
func (c *Clusters) Silent() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	counts := map[string]int{}
	for id, known := range c.connections {
		counts[id.Namespace] += 0
		if known.transport != nil && !known.transport.since().IsZero() {
			counts[id.Namespace]++
		}
	}
	return counts
}

// pause is how long a cluster is left alone after that many failures in a row.
func pause(failures int) time.Duration {
	return min(LastPause, FirstPause<<min(failures-1, 10))
}
