// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"fmt"
	"os"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	basecompatibility "k8s.io/component-base/compatibility"
	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/version"
)

// Defaults of the flags.
const (
	defaultSecurePort      = 8443
	defaultWebhookPort     = 9443
	defaultSystemNamespace = "certrotation-system"
	defaultSignerSecret    = "certrotation-signer" //nolint:gosec // the name of a Secret, not its content
	defaultServiceName     = "certrotation"
)

// Environment variables that a Pod sets from the downward API. They default values that the process cannot detect
// otherwise.
const (
	envPodName      = "POD_NAME"
	envPodNamespace = "POD_NAMESPACE"
	envPodUID       = "POD_UID"
)

// Options are the settings of the command line.
type Options struct {
	Recommended *genericoptions.RecommendedOptions
	ServerRun   *genericoptions.ServerRunOptions
	Registry    basecompatibility.ComponentGlobalsRegistry
	Logs        *logsapi.LoggingConfiguration
	Metrics     *metrics.Options

	// ServeAPI and ServeWebhook choose what this process serves; at least one must be set.
	ServeAPI, ServeWebhook bool
	// WebhookPort is the port of the webhook's own listener, on the address of the secure port. It opens only with
	// WebhookClientCAFile.
	WebhookPort         int
	WebhookClientCAFile string
	// WebhookClientNames are the common names of client certificates that may call the listener; if empty, all of the
	// CA may.
	WebhookClientNames []string
	// Namespaces are the managed ones; if empty, those that have opted in by their label.
	Namespaces []string
	// RecordWriters are the users whose RotationRecords the guard accepts.
	RecordWriters []string
	// SystemNamespace holds the Leases of the replicas and the signer of the serving certificate.
	SystemNamespace string
	// SignerSecret is the signer that issues the serving certificate.
	SignerSecret string
	// ServiceName and ServingNames determine the names of the serving certificate.
	ServiceName  string
	ServingNames []string
	// Identity of this replica. Its Lease is named after it.
	Identity string
	// PodUID makes the Pod the owner of the Lease. May be empty.
	PodUID string
}

// NewOptions returns the defaults.
func NewOptions() *Options {
	registry := newRegistry()
	o := &Options{
		// Neither storage prefix nor codec: this server stores nothing.
		Recommended:     genericoptions.NewRecommendedOptions("", nil),
		ServerRun:       genericoptions.NewServerRunOptionsForComponent(basecompatibility.DefaultKubeComponent, registry),
		Registry:        registry,
		Logs:            logs.NewOptions(),
		Metrics:         metrics.NewOptions(),
		ServeAPI:        true,
		ServeWebhook:    true,
		WebhookPort:     defaultWebhookPort,
		SystemNamespace: defaultSystemNamespace,
		SignerSecret:    defaultSignerSecret,
		ServiceName:     defaultServiceName,
		PodUID:          os.Getenv(envPodUID),
	}
	if namespace := os.Getenv(envPodNamespace); namespace != "" {
		o.SystemNamespace = namespace
	}
	o.recommend()
	return o
}

// recommend drops the options of a generic API server that do not apply here.
func (o *Options) recommend() {
	r := o.Recommended
	// The resources are virtual and need no storage.
	r.Etcd = nil
	// The only peer is the API server, which is reached directly.
	r.EgressSelector = nil
	// This server stores nothing. The subresources write RotationRecords to the API server, whose whole admission
	// chain applies, including policies and webhooks, also in a dry run.
	r.Admission = nil
	r.FeatureGate = utilfeature.DefaultFeatureGate
	r.SecureServing.BindPort = defaultSecurePort
	// The certificate stays in memory: no directory is needed, and the root file system may be read-only.
	r.SecureServing.ServerCert.CertDirectory = ""
	r.SecureServing.ServerCert.PairName = ""
	// The front proxy forwards the user's UID only with this header.
	r.Authentication.RequestHeader.UIDHeaders = []string{"X-Remote-Uid"}
	// Priority and fairness would need to watch the cluster's flow schemas before this server is ready. Limits on
	// requests in flight suffice for a small server whose requests the API server has already queued.
	r.Features.EnablePriorityAndFairness = false
	// Profiling, and setting flags of a running process, require --profiling.
	r.Features.EnableProfiling = false
}

// newRegistry returns the registry of component versions of this process. The feature gates belong to the Kubernetes
// libraries, so they depend on the version of the libraries, not of this binary.
func newRegistry() basecompatibility.ComponentGlobalsRegistry {
	registry := basecompatibility.NewComponentGlobalsRegistry()
	release := version.DefaultKubeBinaryVersion
	effective := basecompatibility.NewEffectiveVersionFromString(release, release, "")
	utilruntime.Must(registry.Register(basecompatibility.DefaultKubeComponent, effective, utilfeature.DefaultMutableFeatureGate))
	return registry
}

// Complete derives options from other options and from the machine.
func (o *Options) Complete() error {
	if err := o.ServerRun.Complete(); err != nil {
		return fmt.Errorf("complete the options of the server: %w", err)
	}
	// --kubeconfig is the default for the other kubeconfigs; outside a cluster there is no other default.
	kubeconfig := o.Recommended.CoreAPI.CoreAPIKubeconfigPath
	if o.Recommended.Authentication.RemoteKubeConfigFile == "" {
		o.Recommended.Authentication.RemoteKubeConfigFile = kubeconfig
	}
	if o.Recommended.Authorization.RemoteKubeConfigFile == "" {
		o.Recommended.Authorization.RemoteKubeConfigFile = kubeconfig
	}
	if len(o.RecordWriters) == 0 {
		for _, name := range []string{"certrotation-controller", "certrotation-serve"} {
			o.RecordWriters = append(o.RecordWriters, serviceaccount.MakeUsername(o.SystemNamespace, name))
		}
	}
	if o.Identity == "" {
		identity, err := defaultIdentity()
		if err != nil {
			return err
		}
		o.Identity = identity
	}
	return nil
}

// defaultIdentity returns the Pod's name. Outside a Pod it is random, because a host may run several replicas.
func defaultIdentity() (string, error) {
	if name := os.Getenv(envPodName); name != "" {
		return name, nil
	}
	host, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("read the host name for the identity of this replica: %w", err)
	}
	return host + "-" + string(uuid.NewUUID())[:8], nil
}
