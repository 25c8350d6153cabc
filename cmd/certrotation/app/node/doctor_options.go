// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"certrotation.dev/controller/recovery"
	"certrotation.dev/registry/nodepod"
)

// DoctorOptions of the command.
type DoctorOptions struct {
	nodepod.Layout
	Peers       []string
	SkipPeers   bool
	PeerTimeout time.Duration
	Output      string
	// DryRun is accepted so that doctor and recover take the same flags.
	DryRun bool
}

// NewDoctorOptions returns the defaults.
func NewDoctorOptions() *DoctorOptions {
	return &DoctorOptions{
		Layout:      Layout("etcd"),
		PeerTimeout: PeerTimeout,
	}
}

// AddFlags adds the flags of the command.
func (o *DoctorOptions) AddFlags(flags *pflag.FlagSet) {
	AddName(flags, "name", &o.Layout)
	AddDirectories(flags, &o.Layout)
	flags.StringSliceVar(&o.Peers, "peers", o.Peers,
		"The other members, as NAME=https://HOST:2380, HOST:PORT or HOST. If not set, they are read from --initial-cluster in the manifest.")
	flags.BoolVar(&o.SkipPeers, "skip-peers", o.SkipPeers, "If true, only check the disk.")
	AddPeerTimeout(flags, &o.PeerTimeout)
	flags.StringVarP(&o.Output, "output", "o", o.Output, "Output format: empty for a table, or json.")
	flags.BoolVar(&o.DryRun, "dry-run", o.DryRun, "Accepted for symmetry with recover; doctor never writes.")
}

// Validate returns everything that is wrong with the command line.
func (o *DoctorOptions) Validate() error {
	errs := []error{ValidatePeerTimeout(o.PeerTimeout)}
	if o.Name == "" {
		errs = append(errs, errors.New("--name is empty"))
	}
	if o.Output != "" && o.Output != "json" {
		errs = append(errs, fmt.Errorf("--output is %q, want json or nothing for a table", o.Output))
	}
	if _, err := recovery.ParsePeers(o.Peers); err != nil {
		errs = append(errs, fmt.Errorf("--peers: %w", err))
	}
	return errors.Join(errs...)
}

// peers returns the peers of the command line, nil if it names none.
func (o *DoctorOptions) peers() ([]nodepod.Member, error) {
	if o.Peers == nil {
		return nil, nil
	}
	return recovery.ParsePeers(o.Peers)
}
