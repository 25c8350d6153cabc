// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/nodepod"
)

const (
	// Timeout is the default time limit of a command that writes, including the wait for another one.
	Timeout = 2 * time.Minute
	// PeerTimeout is the default time that a peer may take to answer.
	PeerTimeout = 5 * time.Second
)

// Layout returns the default location of the revisions of a rollout.
func Layout(rollout string) nodepod.Layout {
	return nodepod.Layout{
		Name: rollout, ManifestDirectory: configv1alpha1.DefaultManifestDirectory, ResourceDirectory: configv1alpha1.DefaultResourceDirectory,
	}
}

// AddName adds a flag for the name of the layout.
func AddName(flags *pflag.FlagSet, flag string, l *nodepod.Layout) {
	flags.StringVar(&l.Name, flag, l.Name, "The name of the rollout, such as etcd. Its manifest is NAME-pod.yaml, its directories are NAME-pod-REVISION.")
}

// AddDirectories adds flags for the directories and the manifest of the layout.
func AddDirectories(flags *pflag.FlagSet, l *nodepod.Layout) {
	flags.StringVar(&l.ResourceDirectory, "resource-dir", l.ResourceDirectory, "The directory that contains the directories NAME-pod-REVISION. Its path has to be the same here and on the node.")
	flags.StringVar(&l.ManifestDirectory, "manifest-dir", l.ManifestDirectory, "The directory in which kubelet finds static pods (its staticPodPath).")
	flags.StringVar(&l.ManifestFile, "manifest-file", l.ManifestFile, "The name of the manifest in that directory, such as etcd.yaml. Defaults to NAME-pod.yaml.")
}

// AddCompanions adds a flag for the other static pods of the node.
func AddCompanions(flags *pflag.FlagSet, l *nodepod.Layout) {
	flags.Var((*companions)(&l.Companions), "companion",
		"Another static pod of the node that a revision brings, as NAME=FILE with the name of its manifest. May be repeated.")
}

type companions []nodepod.Companion

// String implements pflag.Value.
func (c *companions) String() string {
	var out []string
	for _, companion := range *c {
		out = append(out, companion.Name+"="+companion.ManifestFile)
	}
	return strings.Join(out, ",")
}

// Set implements pflag.Value.
func (c *companions) Set(text string) error {
	name, file, ok := strings.Cut(text, "=")
	if !ok || name == "" || file == "" {
		return errors.New("want NAME=FILE")
	}
	*c = append(*c, nodepod.Companion{Name: name, ManifestFile: file})
	return nil
}

// Type implements pflag.Value.
func (c *companions) Type() string { return "NAME=FILE" }

// AddTimeout adds a flag for the time limit of a command that writes.
func AddTimeout(flags *pflag.FlagSet, timeout *time.Duration) {
	flags.DurationVar(timeout, "timeout", *timeout, "The time limit, including the wait for another installer or pruner on this node.")
}

// AddPeerTimeout adds a flag for the time that a peer may take to answer.
func AddPeerTimeout(flags *pflag.FlagSet, timeout *time.Duration) {
	flags.DurationVar(timeout, "peer-timeout", *timeout, "The time that a peer may take to answer.")
}

// Validate returns everything that is wrong with the flags of a command that writes.
func Validate(l *nodepod.Layout, timeout time.Duration) error {
	var errs []error
	if l.Name == "" {
		errs = append(errs, errors.New("--rollout is required"))
	}
	if !filepath.IsAbs(l.ResourceDirectory) {
		errs = append(errs, fmt.Errorf("--resource-dir is %q, want an absolute path", l.ResourceDirectory))
	}
	if !filepath.IsAbs(l.ManifestDirectory) {
		errs = append(errs, fmt.Errorf("--manifest-dir is %q, want an absolute path", l.ManifestDirectory))
	}
	if timeout <= 0 {
		errs = append(errs, fmt.Errorf("--timeout is %s, want more than 0", timeout))
	}
	return errors.Join(errs...)
}

// ValidatePeerTimeout returns an error unless the time limit for a peer is positive.
func ValidatePeerTimeout(timeout time.Duration) error {
	if timeout <= 0 {
		return fmt.Errorf("--peer-timeout %s must be more than zero", timeout)
	}
	return nil
}
