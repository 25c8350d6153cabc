// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/config"
	"k8s.io/component-base/config/options"
	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"

	"certrotation.dev/controller/evidence"
	"certrotation.dev/registry/address"
)

// DefaultBindAddress of health and metrics.
const DefaultBindAddress = "127.0.0.1:10270"

// maxHandshakes per second is more than one machine can make.
const maxHandshakes = 100_000

// Options of the command.
type Options struct {
	// Kubeconfig is a file, "" for the configuration of the pod.
	Kubeconfig string
	// BindAddress is host:port of health and metrics; "" serves neither.
	BindAddress string
	// QPS and Burst bound the requests to the API server, except those of the lease and the inventory.
	QPS   float32
	Burst int
	// Workers is the number of trust domains that are processed concurrently.
	Workers int
	// Probes is the number of members that are probed concurrently.
	Probes int
	// Handshakes bounds the handshakes in a second, with all members together.
	Handshakes int
	// Namespaces are the managed ones; if empty, those that have opted in by their label.
	Namespaces []string
	// AllowedCIDRs may be dialled although the dialer denies them by default. DeniedCIDRs are never dialled.
	AllowedCIDRs, DeniedCIDRs []string
	// InjectCA injects the CA bundle into our own APIService, InjectCABundles into every object that requests one.
	// CertManagerAnnotations accepts requests by the annotation of cert-manager too.
	InjectCA, InjectCABundles, CertManagerAnnotations bool
	// RestartWorkloads enables restarts of the workloads that a configuration names for that.
	RestartWorkloads bool

	// Authentication and Authorization of the clients that read metrics.
	Authentication *genericoptions.DelegatingAuthenticationOptions
	Authorization  *genericoptions.DelegatingAuthorizationOptions
	// CertFile and KeyFile are the serving certificate; without them it is made in memory.
	CertFile, KeyFile string

	LeaderElection config.LeaderElectionConfiguration
	Logs           *logsapi.LoggingConfiguration
}

// NewOptions returns the defaults.
func NewOptions() *Options {
	o := &Options{
		BindAddress: DefaultBindAddress,
		QPS:         200,
		Burst:       400,
		Workers:     4,
		Probes:      16,
		Handshakes:  evidence.DefaultHandshakesPerSecond,
		InjectCA:    true,
		LeaderElection: config.LeaderElectionConfiguration{
			LeaderElect:       true,
			LeaseDuration:     metav1.Duration{Duration: 15 * time.Second},
			RenewDeadline:     metav1.Duration{Duration: 10 * time.Second},
			RetryPeriod:       metav1.Duration{Duration: 2 * time.Second},
			ResourceLock:      resourcelock.LeasesResourceLock,
			ResourceName:      "certrotation-controller",
			ResourceNamespace: "certrotation-system",
		},
		Logs: logs.NewOptions(),

		Authentication: genericoptions.NewDelegatingAuthenticationOptions(),
		Authorization:  genericoptions.NewDelegatingAuthorizationOptions(),
	}
	// Rotations go on where clients cannot be authenticated or authorized: then no client gets metrics.
	o.Authentication.TolerateInClusterLookupFailure = true
	o.Authentication.RemoteKubeConfigFileOptional = true
	o.Authorization.RemoteKubeConfigFileOptional = true
	return o
}

// Flags returns the flags in sections, as --help shows them.
func (o *Options) Flags() cliflag.NamedFlagSets {
	var sections cliflag.NamedFlagSets
	fs := sections.FlagSet("certrotation")
	fs.StringVar(&o.Kubeconfig, "kubeconfig", o.Kubeconfig, "Path to a kubeconfig file. If empty, the in-cluster configuration is used.")
	fs.Float32Var(&o.QPS, "kube-api-qps", o.QPS, "QPS to use while talking with the API server.")
	fs.IntVar(&o.Burst, "kube-api-burst", o.Burst, "Burst to use while talking with the API server.")
	fs.IntVar(&o.Workers, "workers", o.Workers, "The number of trust domains that are processed concurrently.")
	fs.IntVar(&o.Probes, "concurrent-probes", o.Probes, "The number of relying parties that are probed concurrently.")
	fs.IntVar(&o.Handshakes, "handshakes-per-second", o.Handshakes,
		"The number of TLS handshakes that are made with relying parties in a second, all together. At least 3 for each of --concurrent-probes.")
	fs.StringSliceVar(&o.Namespaces, "namespaces", o.Namespaces,
		"List of namespaces to act in. Namespaces are not watched then, and a Role in each of them is sufficient. If empty, all namespaces with the label certrotation.dev/managed=true are managed.")
	fs.StringSliceVar(&o.AllowedCIDRs, "allowed-cidrs", o.AllowedCIDRs,
		"List of CIDRs in which relying parties and members of etcd are dialled although they are loopback, link-local or otherwise not owned by one machine, such as 127.0.0.0/8.")
	fs.StringSliceVar(&o.DeniedCIDRs, "denied-cidrs", o.DeniedCIDRs,
		"List of CIDRs in which nothing is dialled, whatever a configuration names, such as the management network of the machines. Takes precedence over --allowed-cidrs.")
	fs.BoolVar(&o.InjectCA, "inject-ca", o.InjectCA,
		"If true, write the CA bundle of certrotation's own servers into its APIService.")
	fs.BoolVar(&o.InjectCABundles, "inject-ca-bundles", o.InjectCABundles,
		"If true, write CA bundles into the ValidatingWebhookConfigurations, MutatingWebhookConfigurations, APIServices, CustomResourceDefinitions and ClusterTrustBundles that are annotated with certrotation.dev/inject-ca-from and listed in injectInto of the bundle. Requires the ClusterRole certrotation-ca-bundles.")
	fs.BoolVar(&o.CertManagerAnnotations, "cert-manager-annotations", o.CertManagerAnnotations,
		"If true, the annotation cert-manager.io/inject-ca-from: NAMESPACE/NAME also requests a CA bundle, where NAME is that of the ConfigMap of a bundle. Only with --inject-ca-bundles.")
	fs.BoolVar(&o.RestartWorkloads, "restart-workloads", o.RestartWorkloads,
		"If true, restart the Deployments, StatefulSets and DaemonSets that are listed in the workloads of a relying party when a rotation waits for their pods, by annotations of the pod template. Requires the ClusterRole certrotation-rollout-workloads in each namespace with such workloads.")
	fs.StringVar(&o.BindAddress, "metrics-bind-address", o.BindAddress,
		"The address and port on which to serve /livez, /readyz and /metrics over TLS, the latter to authorized clients only. If empty, nothing is served.")
	fs.StringVar(&o.CertFile, "tls-cert-file", o.CertFile,
		"File containing the serving certificate, followed by its CAs. If empty, a self-signed certificate is generated in memory.")
	fs.StringVar(&o.KeyFile, "tls-private-key-file", o.KeyFile, "File containing the private key of --tls-cert-file.")
	o.Authentication.AddFlags(sections.FlagSet("authentication"))
	o.Authorization.AddFlags(sections.FlagSet("authorization"))
	options.BindLeaderElectionFlags(&o.LeaderElection, sections.FlagSet("leader election"))
	logsapi.AddFlags(o.Logs, sections.FlagSet("logs"))
	return sections
}

// Validate returns everything that is wrong with the options.
func (o *Options) Validate() error {
	var errs []error
	refuse := func(wrong bool, format string, args ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	refuse(o.QPS <= 0, "--kube-api-qps is %g, want more than 0", o.QPS)
	refuse(o.Burst < 1, "--kube-api-burst is %d, want at least 1", o.Burst)
	refuse(o.Workers < 1, "--workers is %d, want at least 1", o.Workers)
	refuse(o.Probes < 1, "--concurrent-probes is %d, want at least 1", o.Probes)
	// With fewer, probes of members that all reload at once might not complete within the time for one of them.
	refuse(o.Handshakes < 3*o.Probes || o.Handshakes > maxHandshakes,
		"--handshakes-per-second is %d, want at least %d, which is 3 for each of --concurrent-probes, and at most %d", o.Handshakes, 3*o.Probes, maxHandshakes)
	for _, namespace := range o.Namespaces {
		wrong := validation.IsDNS1123Label(namespace)
		refuse(len(wrong) > 0, "--namespaces has %q: %s", namespace, strings.Join(wrong, ", "))
	}
	for flag, texts := range map[string][]string{"allowed-cidrs": o.AllowedCIDRs, "denied-cidrs": o.DeniedCIDRs} {
		_, err := address.ParseRanges(texts)
		refuse(err != nil, "--%s: %v", flag, err)
	}
	if o.BindAddress != "" {
		_, _, err := net.SplitHostPort(o.BindAddress)
		refuse(err != nil, "--metrics-bind-address is %q, want host:port", o.BindAddress)
	}
	refuse(o.CertManagerAnnotations && !o.InjectCABundles, "--cert-manager-annotations needs --inject-ca-bundles")
	refuse((o.CertFile == "") != (o.KeyFile == ""), "--tls-cert-file and --tls-private-key-file need each other")
	errs = append(errs, o.Authentication.Validate()...)
	errs = append(errs, o.Authorization.Validate()...)
	if le := o.LeaderElection; le.LeaderElect {
		refuse(le.ResourceLock != resourcelock.LeasesResourceLock,
			"--leader-elect-resource-lock is %q, want %q", le.ResourceLock, resourcelock.LeasesResourceLock)
		refuse(le.ResourceName == "" || le.ResourceNamespace == "", "the lease of the leader election needs a name and a namespace")
		refuse(le.LeaseDuration.Duration <= le.RenewDeadline.Duration,
			"--leader-elect-lease-duration must be longer than --leader-elect-renew-deadline")
		refuse(le.RetryPeriod.Duration <= 0 || le.RenewDeadline.Duration <= le.RetryPeriod.Duration*6/5,
			"--leader-elect-renew-deadline must be longer than 1.2 times --leader-elect-retry-period")
	}
	return errors.Join(errs...)
}
