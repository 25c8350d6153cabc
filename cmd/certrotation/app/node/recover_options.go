// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/pflag"

	"k8s.io/utils/clock"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/controller/recovery"
)

// RecoverOptions of the command.
type RecoverOptions struct {
	recovery.Options
	Peers     []string
	SignerDir string
	DryRun    bool
}

// NewRecoverOptions returns the defaults.
func NewRecoverOptions() *RecoverOptions {
	return &RecoverOptions{Options: recovery.Options{
		Layout:          Layout("etcd"),
		PeerTimeout:     PeerTimeout,
		EtcdPrefix:      "/registry",
		Namespace:       "openshift-etcd",
		ClientSecrets:   []string{"etcd-client", "etcd-metric-client"},
		OutputDirectory: configv1alpha1.DefaultResourceDirectory + "/recovered",
	}}
}

// AddFlags adds the flags of the command.
func (o *RecoverOptions) AddFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&o.DryRun, "dry-run", o.DryRun, "If true, print what would be done, and write nothing.")
	AddName(flags, "name", &o.Layout)
	AddDirectories(flags, &o.Layout)
	flags.StringSliceVar(&o.Peers, "peers", o.Peers, "The other members, as NAME=https://HOST:2380, HOST:PORT or HOST; --peers= for a single member. "+
		"If not set, they are read from --initial-cluster in the manifest, or from the data of etcd.")
	AddPeerTimeout(flags, &o.PeerTimeout)
	flags.StringVar(&o.Revision, "revision", o.Revision, "The generation to restore, as certrotation doctor names it: REVISION/NUMBER, or NUMBER.")
	flags.BoolVar(&o.Reissue, "reissue", o.Reissue, "If true, reissue what has expired, even if an older generation would work.")
	flags.StringVar(&o.DataDirectory, "data-dir", o.DataDirectory, "The data directory of etcd. If empty, the one in the manifest is used.")
	flags.StringSliceVar(&o.SecretFiles, "secret-file", o.SecretFiles, "File containing the Secrets of the signers, from a backup or from certrotation render; used instead of the data of etcd.")
	flags.StringVar(&o.SignerDir, "signer-dir", o.SignerDir, "Directory containing such files.")
	flags.StringVar(&o.EtcdPrefix, "etcd-prefix", o.EtcdPrefix, "The kube-apiserver's --etcd-prefix; on OpenShift /kubernetes.io.")
	flags.StringVar(&o.Namespace, "namespace", o.Namespace, "The namespace of the Secrets.")
	flags.StringSliceVar(&o.ClientSecrets, "client-secret", o.ClientSecrets, "The Secret of a client of etcd whose certificate is reissued into --output-dir.")
	flags.StringVar(&o.OutputDirectory, "output-dir", o.OutputDirectory, "The directory for the files that the API server needs after a reissue. If empty, they are not written.")
}

// Complete validates the flags and returns the options of the recovery.
func (o *RecoverOptions) Complete(now clock.PassiveClock) (recovery.Options, error) {
	if err := o.validate(); err != nil {
		return recovery.Options{}, err
	}
	out := o.Options
	out.Clock = now
	if o.SignerDir != "" {
		out.SecretFiles = append([]string{o.SignerDir}, out.SecretFiles...)
	}
	if o.Peers != nil {
		peers, err := recovery.ParsePeers(o.Peers)
		if err != nil {
			return recovery.Options{}, fmt.Errorf("--peers: %w", err)
		}
		out.Peers = peers
	}
	return out, nil
}

func (o *RecoverOptions) validate() error {
	errs := []error{ValidatePeerTimeout(o.PeerTimeout)}
	for flag, value := range map[string]string{"--name": o.Name, "--namespace": o.Namespace, "--etcd-prefix": o.EtcdPrefix} {
		if value == "" {
			errs = append(errs, fmt.Errorf("%s is empty", flag))
		}
	}
	if o.Revision != "" && o.Reissue {
		errs = append(errs, errors.New("--revision and --reissue exclude each other: one brings back, the other makes anew"))
	}
	if o.OutputDirectory != "" && !filepath.IsAbs(o.OutputDirectory) {
		errs = append(errs, fmt.Errorf("--output-dir %q must be an absolute path", o.OutputDirectory))
	}
	return errors.Join(errs...)
}
