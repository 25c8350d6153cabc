// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package prune

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/nodedisk"
	"certrotation.dev/registry/revision"
)

// DefaultTimeout is how long all of it may take.
const DefaultTimeout = 2 * time.Minute

// Options of the command.
type Options struct {
	nodedisk.Layout
	// StaticPodName is the rollout's name and -pod, for those who are used to that flag.
	StaticPodName string
	MaxEligible   int
	// ProtectedRevisions as given, Protected as understood.
	ProtectedRevisions []string
	Protected          sets.Set[int]
	Timeout            time.Duration

	Logs *logsapi.LoggingConfiguration
}

// NewOptions returns the defaults.
func NewOptions() *Options {
	return &Options{
		Layout:  nodedisk.Layout{ResourceDirectory: configv1alpha1.DefaultResourceDirectory, ManifestDirectory: configv1alpha1.DefaultManifestDirectory},
		Timeout: DefaultTimeout,
		Logs:    logs.NewOptions(),
	}
}

// Flags returns the flags in sections, as --help shows them.
func (o *Options) Flags() cliflag.NamedFlagSets {
	var sections cliflag.NamedFlagSets
	fs := sections.FlagSet("prune")
	fs.StringVar(&o.Name, "rollout", o.Name, "The name of the rollout, such as etcd. Its static pod is NAME-pod on the disk.")
	fs.StringVar(&o.StaticPodName, "static-pod-name", o.StaticPodName, "The name of the rollout with the suffix -pod, such as etcd-pod. Either this flag or --rollout is required.")
	fs.IntVar(&o.MaxEligible, "max-eligible-revision", o.MaxEligible, "The highest revision that may be removed. Required.")
	fs.StringSliceVar(&o.ProtectedRevisions, "protected-revisions", o.ProtectedRevisions, "Comma-separated list of revisions that are kept.")
	fs.StringVar(&o.ResourceDirectory, "resource-dir", o.ResourceDirectory, "The directory that contains the directories NAME-pod-REVISION.")
	fs.StringVar(&o.ManifestDirectory, "manifest-dir", o.ManifestDirectory, "The directory in which kubelet finds static pods (its staticPodPath).")
	fs.DurationVar(&o.Timeout, "timeout", o.Timeout, "The time limit, including the wait for an installer on this node.")
	logsapi.AddFlags(o.Logs, sections.FlagSet("logs"))
	return sections
}

// Complete fills in what follows from other options; it fails if they contradict each other.
func (o *Options) Complete() error {
	if o.StaticPodName != "" {
		name, ok := strings.CutSuffix(o.StaticPodName, revision.PodName(""))
		if !ok || o.Name != "" && o.Name != name {
			return fmt.Errorf("--static-pod-name is %q, want the name of the rollout and %s", o.StaticPodName, revision.PodName(""))
		}
		o.Name = name
	}
	o.Protected = sets.New[int]()
	for _, text := range o.ProtectedRevisions {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		n, ok := revision.ParseNumber(text)
		if !ok {
			return fmt.Errorf("--protected-revisions has %q, want revisions, which are numbers from 1", text)
		}
		o.Protected.Insert(n)
	}
	return nil
}

// Validate returns everything that is wrong with the options.
func (o *Options) Validate() error {
	var errs []error
	refuse := func(wrong bool, format string, args ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	refuse(o.Name == "", "--rollout is required")
	refuse(o.MaxEligible < 1, "--max-eligible-revision is %d, want 1 or more", o.MaxEligible)
	refuse(!filepath.IsAbs(o.ResourceDirectory), "--resource-dir is %q, want an absolute path", o.ResourceDirectory)
	refuse(!filepath.IsAbs(o.ManifestDirectory), "--manifest-dir is %q, want an absolute path", o.ManifestDirectory)
	refuse(o.Timeout <= 0, "--timeout is %s, want more than 0", o.Timeout)
	return errors.Join(errs...)
}
