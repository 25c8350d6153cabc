// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/version"
	"k8s.io/utils/clock"

	"certrotation.dev/apis/certrotation/install"
	"certrotation.dev/cmd/certrotation/app/process"
	"certrotation.dev/generated/openapi"
	"certrotation.dev/registry/view"
)

// Config is the configuration of a Server.
type Config struct {
	Generic *genericapiserver.RecommendedConfig
	Extra   ExtraConfig
}

// ExtraConfig is the configuration beyond a generic API server's.
type ExtraConfig struct {
	ServeAPI, ServeWebhook bool
	// Webhook is the webhook's listener for client certificates, nil without one.
	Webhook *genericapiserver.SecureServingInfo
	// WebhookClientNames are the common names that may call the webhook; if empty, all clients may.
	WebhookClientNames []string
	// Certificate is the certificate of both listeners.
	Certificate *servingCertificate
	// Replica names the Lease of this replica.
	Replica replica
	// RecordWriters are the users whose RotationRecords the guard accepts.
	RecordWriters []string
	// Namespaces are the managed ones, from --namespaces; if empty, those that have opted in by their label.
	Namespaces []string
}

type completedConfig struct {
	generic genericapiserver.CompletedConfig
	extra   ExtraConfig
	client  *rest.Config
}

// CompletedConfig comes only from Config.Complete.
type CompletedConfig struct {
	*completedConfig
}

// Complete derives what depends on the rest of the configuration.
func (c *Config) Complete() CompletedConfig {
	return CompletedConfig{&completedConfig{
		generic: c.Generic.Complete(),
		extra:   c.Extra,
		client:  clientConfig(c.Generic.ClientConfig),
	}}
}

// Config turns validated options into a configuration. It opens the ports.
func (o *Options) Config() (*Config, error) {
	certificate, err := o.certificate()
	if err != nil {
		return nil, err
	}
	generic, err := o.genericConfig()
	if err != nil {
		return nil, err
	}
	if generic.ClientConfig == nil {
		return nil, errors.New("a client of the API server is needed: give --kubeconfig outside of a cluster")
	}
	if err := certificate.connect(generic); err != nil {
		return nil, err
	}
	config := &Config{Generic: generic, Extra: ExtraConfig{
		ServeAPI:      o.ServeAPI,
		ServeWebhook:  o.ServeWebhook,
		Certificate:   certificate,
		Replica:       o.replica(),
		RecordWriters: o.RecordWriters,
		Namespaces:    o.Namespaces,

		WebhookClientNames: o.WebhookClientNames,
	}}
	if o.ServeWebhook && o.WebhookClientCAFile != "" {
		if config.Extra.Webhook, err = o.webhookListener(generic.SecureServing); err != nil {
			return nil, err
		}
	}
	return config, nil
}

func (o *Options) genericConfig() (*genericapiserver.RecommendedConfig, error) {
	scheme := install.NewScheme()
	codecs := install.NewCodecs(scheme)
	config := genericapiserver.NewRecommendedConfig(codecs)
	config.Serializer = install.NewNegotiatedSerializer(codecs)

	namer := openapinamer.NewDefinitionNamer(scheme)
	config.OpenAPIConfig = genericapiserver.DefaultOpenAPIConfig(openapi.GetOpenAPIDefinitions, namer)
	config.OpenAPIConfig.Info.Title = "certrotation"
	config.OpenAPIConfig.Info.Version = version.Get().GitVersion
	config.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(openapi.GetOpenAPIDefinitions, namer)
	config.OpenAPIV3Config.Info.Title = "certrotation"
	config.OpenAPIV3Config.Info.Version = version.Get().GitVersion

	if err := o.ServerRun.ApplyTo(&config.Config); err != nil {
		return nil, fmt.Errorf("apply the options of the server: %w", err)
	}
	if err := o.Recommended.ApplyTo(config); err != nil {
		return nil, fmt.Errorf("apply the recommended options: %w", err)
	}
	config.Authentication.Authenticator = process.Authenticator(config.Authentication.Authenticator)
	config.Authorization.Authorizer = process.Authorizer(config.Authorization.Authorizer)
	o.Metrics.Apply()
	return config, nil
}

// webhookListener listens with the TLS settings of the secure port, and requests client certificates.
func (o *Options) webhookListener(secure *genericapiserver.SecureServingInfo) (*genericapiserver.SecureServingInfo, error) {
	clients, err := dynamiccertificates.NewDynamicCAContentFromFile("webhook-client-ca", o.WebhookClientCAFile)
	if err != nil {
		return nil, fmt.Errorf("read --webhook-client-ca-file: %w", err)
	}
	address := net.JoinHostPort(o.Recommended.SecureServing.BindAddress.String(), strconv.Itoa(o.WebhookPort))
	listener, _, err := genericoptions.CreateListener("tcp", address, net.ListenConfig{})
	if err != nil {
		return nil, fmt.Errorf("listen for the webhook on %s: %w", address, err)
	}
	return &genericapiserver.SecureServingInfo{
		Listener:                     listener,
		Cert:                         secure.Cert,
		ClientCA:                     clients,
		MinTLSVersion:                secure.MinTLSVersion,
		CipherSuites:                 secure.CipherSuites,
		CurvePreferences:             secure.CurvePreferences,
		HTTP2MaxStreamsPerConnection: secure.HTTP2MaxStreamsPerConnection,
		DisableHTTP2:                 secure.DisableHTTP2,
	}, nil
}

// replica identifies this process among its peers.
type replica struct {
	namespace, identity string
	owners              []metav1.OwnerReference
}

func (o *Options) replica() replica {
	r := replica{namespace: o.SystemNamespace, identity: o.Identity}
	if name := os.Getenv(envPodName); name != "" && o.PodUID != "" {
		// The Lease is useless without its Pod, so the garbage collector deletes it with the Pod.
		r.owners = []metav1.OwnerReference{{
			APIVersion: corev1.SchemeGroupVersion.String(), Kind: "Pod", Name: name, UID: types.UID(o.PodUID),
		}}
	}
	return r
}

func leaseName(identity string) string { return "certrotation-serve-" + identity }

// epochs returns the source of epochs, which writes to this replica's own Lease.
func (r replica) epochs(client kubernetes.Interface, clk clock.PassiveClock) *view.LeaseEpochs {
	leases := client.CoordinationV1().Leases(r.namespace)
	return view.NewLeaseEpochs(leases, leaseName(r.identity), r.identity, clk, r.owners...)
}
