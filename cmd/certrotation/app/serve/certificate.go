// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"errors"
	"fmt"
	"net"

	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/kubernetes"
	certutil "k8s.io/client-go/util/cert"

	"certrotation.dev/controller/selfcert"
)

// servingCertificate is the certificate of both listeners: issued by the signer, or self-signed while the signer does
// not exist. No client trusts the latter; it allows health checks meanwhile.
//
// minted is nil if flags name certificate files. Interfaces are deliberately not embedded: each of the two listeners
// would run a provider that has a method Run.
type servingCertificate struct {
	options           selfcert.Options
	minted            *selfcert.Provider
	fallback, fallkey []byte
}

var _ dynamiccertificates.CertKeyContentProvider = (*servingCertificate)(nil)

// certificate prepares the certificate of the listeners. If flags name certificate files, it is empty.
func (o *Options) certificate() (*servingCertificate, error) {
	serving := o.Recommended.SecureServing
	if serving.ServerCert.CertKey.CertFile != "" || serving.ServerCert.CertKey.KeyFile != "" {
		return &servingCertificate{}, nil
	}
	names, addresses := o.servingNames()
	fallback, key, err := certutil.GenerateSelfSignedCertKey("localhost", addresses, names)
	if err != nil {
		return nil, fmt.Errorf("make the certificate to start with: %w", err)
	}
	c := &servingCertificate{
		options: selfcert.Options{
			Namespace:    o.SystemNamespace,
			SignerSecret: o.SignerSecret,
			DNSNames:     names,
			IPs:          addresses,
		},
		fallback: fallback,
		fallkey:  key,
	}
	serving.ServerCert.GeneratedCert = c
	return c, nil
}

// servingNames are the names under which kube-apiserver and users reach this server.
func (o *Options) servingNames() ([]string, []net.IP) {
	service := o.ServiceName + "." + o.SystemNamespace
	names := []string{o.ServiceName, service, service + ".svc", "localhost"}
	addresses := []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	for _, name := range o.ServingNames {
		if address := net.ParseIP(name); address != nil {
			addresses = append(addresses, address)
			continue
		}
		names = append(names, name)
	}
	return names, addresses
}

// connect makes the provider, which needs a client of the API server.
func (c *servingCertificate) connect(config *genericapiserver.RecommendedConfig) error {
	if c.fallback == nil {
		return nil
	}
	client, err := kubernetes.NewForConfig(clientConfig(config.ClientConfig))
	if err != nil {
		return fmt.Errorf("make the client for the serving certificate: %w", err)
	}
	if c.minted, err = selfcert.New(client, c.options); err != nil {
		return fmt.Errorf("prepare the serving certificate: %w", err)
	}
	return nil
}

func (c *servingCertificate) run(ctx context.Context) {
	if c.minted != nil {
		c.minted.Run(ctx, 1)
	}
}

// ready fails while only the self-signed certificate is available.
func (c *servingCertificate) ready() error {
	switch {
	case c.fallback == nil:
		return nil
	case c.minted == nil:
		return errors.New("the serving certificate is not connected to its signer")
	}
	return c.minted.Ready()
}

// Name implements dynamiccertificates.CertKeyContentProvider.
func (c *servingCertificate) Name() string { return "certrotation serving certificate" }

// CurrentCertKeyContent implements dynamiccertificates.CertKeyContentProvider.
func (c *servingCertificate) CurrentCertKeyContent() (cert, key []byte) {
	if c.minted != nil {
		if cert, key = c.minted.CurrentCertKeyContent(); len(cert) > 0 && len(key) > 0 {
			return cert, key
		}
	}
	return c.fallback, c.fallkey
}

// AddListener implements dynamiccertificates.Notifier.
func (c *servingCertificate) AddListener(listener dynamiccertificates.Listener) {
	if c.minted != nil {
		c.minted.AddListener(listener)
	}
}
