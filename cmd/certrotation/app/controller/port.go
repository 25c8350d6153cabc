// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"net"
	"net/http"

	"k8s.io/apimachinery/pkg/util/sets"
	genericapifilters "k8s.io/apiserver/pkg/endpoints/filters"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	genericfilters "k8s.io/apiserver/pkg/server/filters"
	"k8s.io/client-go/kubernetes/scheme"
	certutil "k8s.io/client-go/util/cert"

	"certrotation.dev/cmd/certrotation/app/process"
)

// inFlight bounds the requests for health and metrics.
const inFlight = 20

// Port serves health and metrics, and authenticates and authorizes their clients.
type Port struct {
	serving        *genericapiserver.SecureServingInfo
	authentication genericapiserver.AuthenticationInfo
	authorization  genericapiserver.AuthorizationInfo
}

// Addr is the address that the port listens on.
func (p *Port) Addr() net.Addr { return p.serving.Listener.Addr() }

func (o *Options) port() (*Port, error) {
	certificate, err := o.certificate()
	if err != nil {
		return nil, err
	}
	authentication, authorization := *o.Authentication, *o.Authorization
	for _, kubeconfig := range []*string{&authentication.RemoteKubeConfigFile, &authorization.RemoteKubeConfigFile} {
		if *kubeconfig == "" {
			*kubeconfig = o.Kubeconfig
		}
	}
	listener, err := net.Listen("tcp", o.BindAddress) //nolint:noctx // it does not wait
	if err != nil {
		return nil, fmt.Errorf("listen on --metrics-bind-address: %w", err)
	}
	p := &Port{serving: &genericapiserver.SecureServingInfo{Listener: listener, Cert: certificate}}
	if err := authentication.ApplyTo(&p.authentication, p.serving, nil); err != nil {
		return nil, fmt.Errorf("apply the options of authentication: %w", err)
	}
	if err := authorization.ApplyTo(&p.authorization); err != nil {
		return nil, fmt.Errorf("apply the options of authorization: %w", err)
	}
	return p, nil
}

// certificate returns the certificate of the files, or a self-signed one that no client can verify. A client must not
// send a token to a server that it cannot verify, so set the files where tokens are used.
func (o *Options) certificate() (dynamiccertificates.CertKeyContentProvider, error) {
	if o.CertFile != "" {
		files, err := dynamiccertificates.NewDynamicServingContentFromFiles("serving-cert", o.CertFile, o.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("read --tls-cert-file and --tls-private-key-file: %w", err)
		}
		return files, nil
	}
	cert, key, err := certutil.GenerateSelfSignedCertKey("localhost", []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}, []string{component})
	if err != nil {
		return nil, fmt.Errorf("make a certificate for --metrics-bind-address: %w", err)
	}
	made, err := dynamiccertificates.NewStaticCertKeyContent("self-signed", cert, key)
	if err != nil {
		return nil, fmt.Errorf("load the certificate for --metrics-bind-address: %w", err)
	}
	return made, nil
}

// guard authenticates and authorizes clients, as any API server does.
func (p *Port) guard(inner http.Handler) http.Handler {
	info := &genericapirequest.RequestInfoFactory{APIPrefixes: sets.NewString(), GrouplessAPIPrefixes: sets.NewString()}
	handler := genericapifilters.WithAuthorization(inner, process.Authorizer(p.authorization.Authorizer), scheme.Codecs)
	handler = genericfilters.WithMaxInFlightLimit(handler, inFlight, inFlight, neverLong)
	handler = genericapifilters.WithAuthentication(handler, process.Authenticator(p.authentication.Authenticator),
		genericapifilters.Unauthorized(scheme.Codecs), nil, p.authentication.RequestHeaderConfig)
	handler = genericapifilters.WithRequestInfo(handler, info)
	handler = genericapifilters.WithCacheControl(handler)
	handler = genericfilters.WithPanicRecovery(handler, info)
	return genericapifilters.WithAuditInit(handler)
}

func neverLong(*http.Request, *genericapirequest.RequestInfo) bool { return false }
