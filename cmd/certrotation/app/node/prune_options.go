// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"

	"certrotation.dev/registry/nodepod"
)

// PruneOptions of the command.
type PruneOptions struct {
	nodepod.Layout
	// StaticPodName is the rollout's name with the suffix -pod, for users who know that flag.
	StaticPodName string
	MaxEligible   int
	// ProtectedRevisions as given, Protected as parsed.
	ProtectedRevisions []string
	Protected          sets.Set[int]
	Timeout            time.Duration

	Logs *logsapi.LoggingConfiguration
}

// NewPruneOptions returns the defaults.
func NewPruneOptions() *PruneOptions {
	return &PruneOptions{
		Layout:  Layout(""),
		Timeout: Timeout,
		Logs:    logs.NewOptions(),
	}
}

// Flags returns the flags in sections, as --help shows them.
func (o *PruneOptions) Flags() cliflag.NamedFlagSets {
	var sections cliflag.NamedFlagSets
	fs := sections.FlagSet("prune")
	AddName(fs, "rollout", &o.Layout)
	fs.StringVar(&o.StaticPodName, "static-pod-name", o.StaticPodName, "The name of the rollout with the suffix -pod, such as etcd-pod. Either this flag or --rollout is required.")
	fs.IntVar(&o.MaxEligible, "max-eligible-revision", o.MaxEligible, "The highest revision that may be removed. Required.")
	fs.StringSliceVar(&o.ProtectedRevisions, "protected-revisions", o.ProtectedRevisions, "Comma-separated list of revisions that are kept.")
	AddDirectories(fs, &o.Layout)
	AddCompanions(fs, &o.Layout)
	AddTimeout(fs, &o.Timeout)
	logsapi.AddFlags(o.Logs, sections.FlagSet("logs"))
	return sections
}

// Complete derives options from other options. It fails if they contradict each other.
func (o *PruneOptions) Complete() error {
	if o.StaticPodName != "" {
		name, ok := strings.CutSuffix(o.StaticPodName, nodepod.TemplateName(""))
		if !ok || o.Name != "" && o.Name != name {
			return fmt.Errorf("--static-pod-name is %q, want the name of the rollout and %s", o.StaticPodName, nodepod.TemplateName(""))
		}
		o.Name = name
	}
	o.Protected = sets.New[int]()
	for _, text := range o.ProtectedRevisions {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		n, ok := nodepod.ParseNumber(text)
		if !ok {
			return fmt.Errorf("--protected-revisions has %q, want revisions, which are numbers from 1", text)
		}
		o.Protected.Insert(n)
	}
	return nil
}

// Validate returns everything that is wrong with the options.
func (o *PruneOptions) Validate() error {
	err := Validate(&o.Layout, o.Timeout)
	if o.MaxEligible < 1 {
		err = errors.Join(err, fmt.Errorf("--max-eligible-revision is %d, want 1 or more", o.MaxEligible))
	}
	return err
}
