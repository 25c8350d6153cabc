// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	aggregator "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"

	"certrotation.dev/test/cluster/installation"
)

// registration is how kube-apiserver verifies a listener of serve.
type registration struct {
	name     string
	address  string
	caBundle []byte
}

// registrations returns the objects whose CA bundle certrotation maintains. That is the APIService, which also
// carries admission reviews.
func (s *system) registrations(ctx context.Context) ([]registration, error) {
	agg, err := aggregator.NewForConfig(s.Cluster.AdminConfig())
	if err != nil {
		return nil, err
	}
	service, err := agg.ApiregistrationV1().APIServices().Get(ctx, "v1alpha1.certrotation.dev", metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return []registration{{
		name: "APIService", address: fmt.Sprintf("127.0.0.1:%d", *service.Spec.Service.Port), caBundle: service.Spec.CABundle,
	}}, nil
}

// tls returns the configuration of a client that knows only the registration.
func (r *registration) tls() *tls.Config {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(r.caBundle)
	return &tls.Config{RootCAs: roots, ServerName: "localhost", MinVersion: tls.VersionTLS12}
}

// dial opens a new connection and returns the verified chain, leaf first.
func (r *registration) dial(ctx context.Context) ([]*x509.Certificate, error) {
	conn, err := (&tls.Dialer{Config: r.tls()}).DialContext(ctx, "tcp", r.address)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	return conn.(*tls.Conn).ConnectionState().VerifiedChains[0], nil
}

func (s *system) serveMetrics(ctx context.Context, t *testing.T) string {
	t.Helper()
	registrations, err := s.registrations(ctx)
	if err != nil {
		t.Fatal(err)
	}
	admin, err := rest.TLSConfigFor(s.Cluster.AdminConfig())
	if err != nil {
		t.Fatal(err)
	}
	config := registrations[0].tls()
	config.Certificates, config.GetClientCertificate = admin.Certificates, admin.GetClientCertificate
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+registrations[0].address+"/metrics", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatalf("scrape serve: %v", err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("scrape serve: %s %v", response.Status, err)
	}
	return string(body)
}

func (s *system) controllerMetrics(t *testing.T) string {
	t.Helper()
	metrics, err := installation.Scrape(t.Context(), s.Cluster.AdminConfig(), s.ControllerURL()+"/metrics")
	if err != nil {
		t.Fatal(err)
	}
	return metrics
}
