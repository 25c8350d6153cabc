// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// Config says what to run and what to follow. Every field without a default is required.
type Config struct {
	// Dir holds what the supervisor writes (see the package comment).
	Dir string
	// SeedDir has etcd-ca-bundle.crt, etcd-client.crt and etcd-client.key for the first start.
	SeedDir string
	// Program is the path of kube-apiserver.
	Program string
	// Flags are the flags of each kube-apiserver, except those for its address and the etcd certificates. The last
	// value of a flag wins, so they can replace the defaults for a graceful stop (see flags.go).
	Flags []string
	// Servers are the API servers.
	Servers []Server
	// Listeners are where the balancer listens. The supervisor owns them from New on.
	Listeners []net.Listener
	// Control serves GET /status and POST /kill?name=, /restart?name=, /hold and /resume. Optional.
	Control net.Listener

	// Client is the configuration to reach the API. Its host must be the balancer, for the watches. For /readyz the
	// address of each server replaces it.
	Client *rest.Config
	// Bundle is the ConfigMap with the CAs that sign etcd's serving certificates.
	Bundle types.NamespacedName
	// BundleKey defaults to ca-bundle.crt.
	BundleKey string
	// Leaf is the Secret with the client pair.
	Leaf types.NamespacedName
	// Acknowledge lists the relying parties whose rotations wait for these API servers. Optional.
	Acknowledge []Target

	// CheckEvery is the pause between two requests of /readyz to an API server. Defaults to 200 ms.
	CheckEvery time.Duration
	// Patience is how long a new connection waits for a ready API server. Defaults to 15 s.
	Patience time.Duration
	// StopTimeout bounds the graceful stop of a server. Defaults to 45 s.
	StopTimeout time.Duration
	// ReadyPatience is how long steps wait for a server that is not ready. Defaults to 30 s.
	ReadyPatience time.Duration
	// ReportEvery is the pause after which an acknowledgement is repeated, because it ends with its lease and records
	// may be lost. Defaults to 1 min.
	ReportEvery time.Duration
}

// Server is one kube-apiserver.
type Server struct {
	// Name is the name of the process and of the member of relying parties, such as kube-apiserver-0.
	Name string
	// Address is the host:port where it listens for the balancer. The serving certificate must be valid for the host.
	Address string
	// Flags of this server alone follow Config.Flags: for example its own etcd servers.
	Flags []string
}

// Target is a relying party of a signer's trust domain that has the API servers as members.
type Target struct {
	// Signer is the CertificateRotation.
	Signer types.NamespacedName
	Party  string
}

func (t Target) String() string { return t.Signer.String() + "/" + t.Party }

func (c *Config) complete() error {
	for _, required := range []struct {
		name    string
		missing bool
	}{
		{"Dir", c.Dir == ""},
		{"SeedDir", c.SeedDir == ""},
		{"Program", c.Program == ""},
		{"Servers", len(c.Servers) == 0},
		{"Listeners", len(c.Listeners) == 0},
		{"Client", c.Client == nil},
		{"Bundle", c.Bundle.Namespace == "" || c.Bundle.Name == ""},
		{"Leaf", c.Leaf.Namespace == "" || c.Leaf.Name == ""},
	} {
		if required.missing {
			return fmt.Errorf("supervisor.Config.%s is missing", required.name)
		}
	}
	if c.BundleKey == "" {
		c.BundleKey = "ca-bundle.crt"
	}
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&c.CheckEvery, 200 * time.Millisecond},
		{&c.Patience, 15 * time.Second},
		{&c.StopTimeout, 45 * time.Second},
		{&c.ReadyPatience, 30 * time.Second},
		{&c.ReportEvery, time.Minute},
	} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	return c.checkServers()
}

// checkServers rejects names that would share files, and addresses that are used twice.
func (c *Config) checkServers() error {
	var names, addresses []string
	for _, server := range c.Servers {
		host, port, err := net.SplitHostPort(server.Address)
		if err != nil || host == "" || port == "" {
			return fmt.Errorf("server %q has the address %q; give host:port", server.Name, server.Address)
		}
		names, addresses = append(names, server.Name), append(addresses, server.Address)
	}
	if distinct(names) != len(names) || distinct(addresses) != len(addresses) || slices.Contains(names, "") {
		return errors.New("each server needs a name and an address of its own")
	}
	return nil
}

func distinct(in []string) int { return len(slices.Compact(slices.Sorted(slices.Values(in)))) }

// Keys of a Secret of the type kubernetes.io/tls.
const (
	leafCertificate = corev1.TLSCertKey
	leafKey         = corev1.TLSPrivateKeyKey
)
