// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/controller/recovery"
	"certrotation.dev/registry/nodedisk"
)

// Options of the command.
type Options struct {
	nodedisk.Layout
	Peers       []string
	SkipPeers   bool
	PeerTimeout time.Duration
	Output      string
	// DryRun is accepted so that doctor and recover can be called alike.
	DryRun bool
}

// NewOptions returns the defaults.
func NewOptions() *Options {
	return &Options{
		Layout: nodedisk.Layout{
			Name: "etcd", ManifestDirectory: configv1alpha1.DefaultManifestDirectory, ResourceDirectory: configv1alpha1.DefaultResourceDirectory,
		},
		PeerTimeout: 5 * time.Second,
	}
}

// AddFlags adds the flags of the command.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.Name, "name", o.Name, "The name of the static pod. Its manifest is NAME-pod.yaml, its directories are NAME-pod-REVISION.")
	flags.StringVar(&o.ManifestDirectory, "manifest-dir", o.ManifestDirectory, "The directory in which kubelet finds static pods.")
	flags.StringVar(&o.ResourceDirectory, "resource-dir", o.ResourceDirectory, "The directory that contains the directories of the static pod.")
	flags.StringSliceVar(&o.Peers, "peers", o.Peers,
		"The other members, as NAME=https://HOST:2380, HOST:PORT or HOST. If not set, they are read from --initial-cluster in the manifest.")
	flags.BoolVar(&o.SkipPeers, "skip-peers", o.SkipPeers, "If true, only check the disk.")
	flags.DurationVar(&o.PeerTimeout, "peer-timeout", o.PeerTimeout, "The time that a peer may take to answer.")
	flags.StringVarP(&o.Output, "output", "o", o.Output, "Output format: empty for a table, or json.")
	flags.BoolVar(&o.DryRun, "dry-run", o.DryRun, "Accepted for symmetry with recover; doctor never writes.")
}

// Validate finds what is wrong with the command line.
func (o *Options) Validate() error {
	var errs []error
	if o.Name == "" {
		errs = append(errs, errors.New("--name is empty"))
	}
	if o.Output != "" && o.Output != "json" {
		errs = append(errs, fmt.Errorf("--output %q must be empty or json", o.Output))
	}
	if o.PeerTimeout <= 0 {
		errs = append(errs, fmt.Errorf("--peer-timeout %s must be more than zero", o.PeerTimeout))
	}
	if _, err := recovery.ParsePeers(o.Peers); err != nil {
		errs = append(errs, fmt.Errorf("--peers: %w", err))
	}
	return errors.Join(errs...)
}

// peers are those of the command line, nil if it names none.
func (o *Options) peers() ([]nodedisk.Member, error) {
	if o.Peers == nil {
		return nil, nil
	}
	return recovery.ParsePeers(o.Peers)
}
