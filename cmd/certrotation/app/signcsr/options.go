// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package signcsr

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"

	"certrotation.dev/registry/csr"
)

const defaultValidity = 365 * 24 * time.Hour

// Options of the command.
type Options struct {
	BindAddress       string
	HealthBindAddress string
	// ServingCerts and ServingKeys are paired by position.
	ServingCerts, ServingKeys []string

	CACert, CAKey             string
	MetricCACert, MetricCAKey string
	PeerValidity              time.Duration
	ServerValidity            time.Duration
	MetricValidity            time.Duration

	// Nodes are NAME=ADDRESS,... each; NodesFile adds more.
	Nodes       []string
	SharedNames []string
	NodesFile   string

	TokenFile    string
	ClientCAFile string
	StorageDir   string

	Logs *logsapi.LoggingConfiguration
}

// NewOptions returns the defaults.
func NewOptions() *Options {
	return &Options{
		BindAddress:       "0.0.0.0:6443",
		HealthBindAddress: "127.0.0.1:6440",
		PeerValidity:      defaultValidity,
		ServerValidity:    defaultValidity,
		MetricValidity:    defaultValidity,
		SharedNames:       []string{"localhost", "127.0.0.1", "::1"},
		Logs:              logs.NewOptions(),
	}
}

// Flags returns the flags in sections, as --help shows them.
func (o *Options) Flags() cliflag.NamedFlagSets {
	var sections cliflag.NamedFlagSets
	fs := sections.FlagSet("serving")
	fs.StringVar(&o.BindAddress, "bind-address", o.BindAddress, "The address and port on which to serve HTTPS.")
	fs.StringVar(&o.HealthBindAddress, "insecure-health-bind-address", o.HealthBindAddress,
		"The address and port on which to serve /readyz over plain HTTP. If empty, it is not served. The answer only tells whether the signer is ready.")
	fs.StringArrayVar(&o.ServingCerts, "tls-cert-file", nil,
		"File containing a serving certificate and its chain. May be repeated, with a --tls-private-key-file for each. The first certificate that matches the server name sent by the client is presented.")
	fs.StringArrayVar(&o.ServingKeys, "tls-private-key-file", nil, "File containing the private key of the serving certificate at the same position.")

	fs = sections.FlagSet("signing")
	fs.StringVar(&o.CACert, "ca-cert-file", "", "File containing the CA certificate for the profiles EtcdPeer and EtcdServer.")
	fs.StringVar(&o.CAKey, "ca-key-file", "", "File containing the private key of --ca-cert-file.")
	fs.StringVar(&o.MetricCACert, "metric-ca-cert-file", "", "File containing the CA certificate for the profile EtcdMetric. One of the two CAs is sufficient; requests for the profiles of the other are then refused.")
	fs.StringVar(&o.MetricCAKey, "metric-ca-key-file", "", "File containing the private key of --metric-ca-cert-file.")
	fs.DurationVar(&o.PeerValidity, "peer-validity", o.PeerValidity, "The maximum and default validity of peer certificates. A certificate never outlives its CA.")
	fs.DurationVar(&o.ServerValidity, "server-validity", o.ServerValidity, "The maximum and default validity of server certificates.")
	fs.DurationVar(&o.MetricValidity, "metric-validity", o.MetricValidity, "The maximum and default validity of metric certificates.")
	fs.StringArrayVar(&o.Nodes, "node", nil,
		"A node for which certificates are signed, as NAME=ADDRESS,... with the DNS names and IP addresses that its certificates may carry besides its name. May be repeated.")
	fs.StringSliceVar(&o.SharedNames, "shared-names", o.SharedNames, "List of DNS names and IP addresses that the certificates of every node may carry.")
	fs.StringVar(&o.NodesFile, "nodes-file", "",
		"YAML file containing additional nodes, read at each request: nodes: [{name, dnsNames, ipAddresses}], shared: {dnsNames, ipAddresses}.")
	fs.StringVar(&o.StorageDir, "storage-dir", "", "The directory in which every signed and denied request and decisions.log are stored. It is created if it does not exist. Required.")

	fs = sections.FlagSet("authentication")
	fs.StringVar(&o.TokenFile, "token-file", "",
		"File containing the bootstrap token, on one line of at least 20 characters, readable by its owner only. Whoever holds the token may request certificates for every configured node.")
	fs.StringVar(&o.ClientCAFile, "client-ca-file", "",
		"File containing the certificate authorities of client certificates. A client of the organization "+csr.GroupBootstrappers+
			" may request certificates for every configured node, a kubelet (organization system:nodes) for its own node.")
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
	refuse(!isAddress(o.BindAddress), "--bind-address is %q, want host:port", o.BindAddress)
	refuse(o.HealthBindAddress != "" && !isAddress(o.HealthBindAddress), "--insecure-health-bind-address is %q, want host:port", o.HealthBindAddress)
	refuse(len(o.ServingCerts) == 0, "--tls-cert-file is required")
	refuse(len(o.ServingCerts) != len(o.ServingKeys), "there are %d --tls-cert-file and %d --tls-private-key-file, want as many of each",
		len(o.ServingCerts), len(o.ServingKeys))
	refuse(o.CACert == "" && o.MetricCACert == "", "a CA is required: --ca-cert-file and --ca-key-file, or the two of the metric CA, or all four")
	refuse((o.CACert == "") != (o.CAKey == ""), "--ca-cert-file and --ca-key-file go together")
	refuse((o.MetricCACert == "") != (o.MetricCAKey == ""), "--metric-ca-cert-file and --metric-ca-key-file go together")
	for profile, validity := range o.validities() {
		refuse(validity < 10*time.Minute, "the validity of the profile %s is %s, want at least 10m", profile, validity)
	}
	refuse(o.TokenFile == "" && o.ClientCAFile == "", "--token-file or --client-ca-file is required: callers must be authenticated")
	refuse(o.StorageDir == "", "--storage-dir is required")
	if _, err := o.flaggedNodes(); err != nil {
		errs = append(errs, err)
	}
	refuse(len(o.Nodes) == 0 && o.NodesFile == "", "--node or --nodes-file is required: nothing is signed for a node that is not configured")
	return errors.Join(errs...)
}

func (o *Options) validities() map[csr.Profile]time.Duration {
	return map[csr.Profile]time.Duration{csr.EtcdPeer: o.PeerValidity, csr.EtcdServer: o.ServerValidity, csr.EtcdMetric: o.MetricValidity}
}

// flaggedNodes returns the nodes of --node with the names of --shared-names.
func (o *Options) flaggedNodes() (*csr.Nodes, error) {
	nodes := &csr.Nodes{}
	for _, name := range o.SharedNames {
		nodes.Shared.AddName(name)
	}
	for _, text := range o.Nodes {
		name, addresses, found := strings.Cut(text, "=")
		if !found || name == "" {
			return nil, fmt.Errorf("--node is %q, want NAME=ADDRESS and more addresses after commas", text)
		}
		node := csr.Node{Name: name}
		for address := range strings.SplitSeq(addresses, ",") {
			if address != "" {
				node.AddName(address)
			}
		}
		nodes.Nodes = append(nodes.Nodes, node)
	}
	return nodes, nil
}

func isAddress(text string) bool {
	_, _, err := net.SplitHostPort(text)
	return err == nil
}
