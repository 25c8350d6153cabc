// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"net/http"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/util/flowcontrol"
	componentconfig "k8s.io/component-base/config"
	"k8s.io/component-base/metrics"
	"k8s.io/utils/clock"

	"certrotation.dev/controller/clockskew"
	"certrotation.dev/controller/dial"
	"certrotation.dev/generated/clientset/versioned"
	"certrotation.dev/registry/address"
	"certrotation.dev/registry/view/inventory"
)

const component = "certrotation-controller"

// Config holds what a run needs. Options or a test make it.
type Config struct {
	Client   kubernetes.Interface
	Metadata metadata.Interface
	// Own reads configurations, and reads and writes records.
	Own versioned.Interface
	// Reads are the clients of the inventory, without a rate limit. Each managed namespace starts several watches at
	// once: a limit would delay the work, and the API server has its own.
	Reads inventory.Clients
	// Dynamic reads and writes the objects that have a caBundle, and the Certificates of cert-manager.
	Dynamic dynamic.Interface
	// Inject maintains the caBundle of our own APIService, EveryTarget the caBundle of every object that requests
	// one. CertManagerAnnotations accepts requests by the annotation of cert-manager too.
	Inject, EveryTarget, CertManagerAnnotations bool
	// RestartWorkloads enables restarts of the workloads that a configuration names for that.
	RestartWorkloads bool
	// Lock is nil without leader election: then this process leads.
	Lock           resourcelock.Interface
	LeaderElection componentconfig.LeaderElectionConfiguration
	// Port of health and metrics, nil for none. Run closes its listener.
	Port    *Port
	Metrics metrics.KubeRegistry
	Workers int
	Probes  int
	// HandshakesPerSecond bounds the handshakes with all members together.
	HandshakesPerSecond int
	// Namespaces are the managed ones; if empty, those that have opted in by their label.
	Namespaces []string
	// Installation is the namespace of this installation, which has its lease.
	Installation string
	// Dialer connects to addresses that a configuration names.
	Dialer *dial.Dialer
	// Clock measures the skew of this machine's clock.
	Clock *clockskew.Witness
}

// Config opens the port, for which it reads the client CAs that kube-apiserver trusts. It makes no other connection
// yet.
func (o *Options) Config() (*Config, error) {
	rest, err := clientcmd.BuildConfigFromFlags("", o.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read client configuration %q: %w", o.Kubeconfig, err)
	}
	restclient.AddUserAgent(rest, component)
	// A compressed watch holds 40 KiB for as long as it lasts, and each namespace has several.
	rest.DisableCompression = true
	meter := clockskew.NewMeter(clock.RealClock{})
	rest.Wrap(meter.Wrap)
	rest.Wrap(func(next http.RoundTripper) http.RoundTripper { return bounded{next} })
	// Clients share one limit, except those of the inventory and the lease.
	rest.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(o.QPS, o.Burst)
	allowed, err := address.ParseRanges(o.AllowedCIDRs)
	if err != nil {
		return nil, fmt.Errorf("--allowed-cidrs: %w", err)
	}
	denied, err := address.ParseRanges(o.DeniedCIDRs)
	if err != nil {
		return nil, fmt.Errorf("--denied-cidrs: %w", err)
	}
	config := &Config{
		LeaderElection: o.LeaderElection, Metrics: metrics.NewKubeRegistry(), Workers: o.Workers, Probes: o.Probes, HandshakesPerSecond: o.Handshakes,
		Namespaces: o.Namespaces, Dialer: dial.New(allowed, denied),
		Inject: o.InjectCA || o.InjectCABundles, EveryTarget: o.InjectCABundles, CertManagerAnnotations: o.CertManagerAnnotations,
		RestartWorkloads: o.RestartWorkloads, Installation: o.LeaderElection.ResourceNamespace,
	}
	if err := config.connect(rest, o); err != nil {
		return nil, err
	}
	config.Clock = clockskew.NewWitness(config.Client, clock.RealClock{}, meter)
	if o.BindAddress != "" {
		if config.Port, err = o.port(); err != nil {
			return nil, err
		}
	}
	return config, nil
}

func (c *Config) connect(rest *restclient.Config, o *Options) error {
	var err error
	protobuf := restclient.CopyConfig(rest)
	protobuf.ContentType = runtime.ContentTypeProtobuf
	protobuf.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	if c.Client, err = kubernetes.NewForConfig(protobuf); err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	if c.Metadata, err = metadata.NewForConfig(metadata.ConfigFor(rest)); err != nil {
		return fmt.Errorf("make metadata client: %w", err)
	}
	if c.Own, err = versioned.NewForConfig(rest); err != nil {
		return fmt.Errorf("make client of our own resources: %w", err)
	}
	if err := c.connectReads(rest, protobuf); err != nil {
		return err
	}
	if c.Dynamic, err = dynamic.NewForConfig(rest); err != nil {
		return fmt.Errorf("make the dynamic client: %w", err)
	}
	if !o.LeaderElection.LeaderElect {
		return nil
	}
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("make an identity: %w", err)
	}
	// The lease has its own client, so that a burst of work cannot delay its renewal.
	lease := restclient.CopyConfig(protobuf)
	lease.RateLimiter = nil
	c.Lock, err = resourcelock.NewFromKubeconfig(o.LeaderElection.ResourceLock, o.LeaderElection.ResourceNamespace,
		o.LeaderElection.ResourceName, resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID())},
		lease, o.LeaderElection.RenewDeadline.Duration)
	if err != nil {
		return fmt.Errorf("make lease client: %w", err)
	}
	return nil
}

func (c *Config) connectReads(rest, protobuf *restclient.Config) error {
	unlimited := func(config *restclient.Config) *restclient.Config {
		config = restclient.CopyConfig(config)
		config.RateLimiter, config.QPS = nil, -1
		return config
	}
	var err error
	if c.Reads.Core, err = kubernetes.NewForConfig(unlimited(protobuf)); err != nil {
		return fmt.Errorf("make the client of what is watched: %w", err)
	}
	if c.Reads.Metadata, err = metadata.NewForConfig(metadata.ConfigFor(unlimited(rest))); err != nil {
		return fmt.Errorf("make the metadata client of what is watched: %w", err)
	}
	if c.Reads.Config, err = versioned.NewForConfig(unlimited(rest)); err != nil {
		return fmt.Errorf("make the client of our own resources that are watched: %w", err)
	}
	return nil
}

func (c *Config) electionConfig(callbacks leaderelection.LeaderCallbacks, watchdog *leaderelection.HealthzAdaptor) leaderelection.LeaderElectionConfig {
	return leaderelection.LeaderElectionConfig{
		Lock:            c.Lock,
		LeaseDuration:   c.LeaderElection.LeaseDuration.Duration,
		RenewDeadline:   c.LeaderElection.RenewDeadline.Duration,
		RetryPeriod:     c.LeaderElection.RetryPeriod.Duration,
		ReleaseOnCancel: true,
		Name:            component,
		WatchDog:        watchdog,
		Callbacks:       callbacks,
	}
}
