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
	DefaultSecurePort      = 8443
	DefaultWebhookPort     = 9443
	DefaultSystemNamespace = "certrotation-system"
	DefaultSignerSecret    = "certrotation-signer" //nolint:gosec // the name of a Secret, not its content
	DefaultServiceName     = "certrotation"
)

// Environment variables that a Pod gets from the downward API. They are defaults of what cannot be known otherwise.
const (
	envPodName      = "POD_NAME"
	envPodNamespace = "POD_NAMESPACE"
	envPodUID       = "POD_UID"
)

// Options are what the command line says.
type Options struct {
	Recommended *genericoptions.RecommendedOptions
	ServerRun   *genericoptions.ServerRunOptions
	Registry    basecompatibility.ComponentGlobalsRegistry
	Logs        *logsapi.LoggingConfiguration
	Metrics     *metrics.Options

	// ServeAPI and ServeWebhook choose the faces of this process; at least one.
	ServeAPI, ServeWebhook bool
	// WebhookPort is the port of the webhook's own listener, on the same address as the secure port. It is opened only if
	// WebhookClientCAFile says who may call there.
	WebhookPort         int
	WebhookClientCAFile string
	// WebhookClientNames are the common names of client certificates that may call there, all of the CA if it is empty.
	WebhookClientNames []string
	// Namespaces that are managed because they are named; none for those that have opted in by their label.
	Namespaces []string
	// RecordWriters are the users whose RotationRecords the guard accepts.
	RecordWriters []string
	// SystemNamespace holds the Leases of the replicas and the signer of the serving certificate.
	SystemNamespace string
	// SignerSecret is the signer that the serving certificate is minted from.
	SignerSecret string
	// ServiceName and ServingNames make up the names of the serving certificate.
	ServiceName  string
	ServingNames []string
	// Identity of this replica, which its Lease is named after.
	Identity string
	// PodUID makes the Lease go with its Pod. May be empty.
	PodUID string
}

// NewOptions returns the defaults.
func NewOptions() *Options {
	registry := newRegistry()
	o := &Options{
		// There is no storage prefix and no codec: nothing is stored.
		Recommended:     genericoptions.NewRecommendedOptions("", nil),
		ServerRun:       genericoptions.NewServerRunOptionsForComponent(basecompatibility.DefaultKubeComponent, registry),
		Registry:        registry,
		Logs:            logs.NewOptions(),
		Metrics:         metrics.NewOptions(),
		ServeAPI:        true,
		ServeWebhook:    true,
		WebhookPort:     DefaultWebhookPort,
		SystemNamespace: DefaultSystemNamespace,
		SignerSecret:    DefaultSignerSecret,
		ServiceName:     DefaultServiceName,
		PodUID:          os.Getenv(envPodUID),
	}
	if namespace := os.Getenv(envPodNamespace); namespace != "" {
		o.SystemNamespace = namespace
	}
	o.recommend()
	return o
}

// recommend drops the options of a generic API server that have no meaning here.
func (o *Options) recommend() {
	r := o.Recommended
	// The resources are virtual: there is nothing to store.
	r.Etcd = nil
	// The only peer is the API server itself, which is reached directly.
	r.EgressSelector = nil
	// Nothing that passes here is stored. What the subresources write goes to the API server as a RotationRecord and passes
	// its whole admission chain, policies and webhooks included; also in a dry run.
	r.Admission = nil
	r.FeatureGate = utilfeature.DefaultFeatureGate
	r.SecureServing.BindPort = DefaultSecurePort
	// The certificate is minted in memory; no directory is needed, and the root file system may be read-only.
	r.SecureServing.ServerCert.CertDirectory = ""
	r.SecureServing.ServerCert.PairName = ""
	// Without it a user's UID is lost behind the front proxy.
	r.Authentication.RequestHeader.UIDHeaders = []string{"X-Remote-Uid"}
	// Priority and fairness needs to watch the flow schemas of the cluster, or this server never gets ready. The limits
	// on requests in flight do for one small server whose callers the API server has queued already.
	r.Features.EnablePriorityAndFairness = false
	// Profiles and flags that are set while it runs are for who asks for them.
	r.Features.EnableProfiling = false
}

// newRegistry makes the registry of this process. The feature gates are those of the Kubernetes libraries, so the
// version that they depend on is the libraries' and not that of this binary.
func newRegistry() basecompatibility.ComponentGlobalsRegistry {
	registry := basecompatibility.NewComponentGlobalsRegistry()
	release := version.DefaultKubeBinaryVersion
	effective := basecompatibility.NewEffectiveVersionFromString(release, release, "")
	utilruntime.Must(registry.Register(basecompatibility.DefaultKubeComponent, effective, utilfeature.DefaultMutableFeatureGate))
	return registry
}

// Complete fills in what depends on other options and on the machine.
func (o *Options) Complete() error {
	if err := o.ServerRun.Complete(); err != nil {
		return fmt.Errorf("complete the options of the server: %w", err)
	}
	// One kubeconfig is enough; outside of a cluster there is nothing else to fall back to.
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

// defaultIdentity is the Pod's name. Elsewhere it is random: a host may run several replicas.
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
