// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"certrotation.dev/registry/survey"
)

// exitBadInput is the exit code of a check that could not read what it was given.
const exitBadInput = 2

type checkOptions struct {
	files          []string
	before         string
	server         bool
	within         time.Duration
	output, failOn string
}

func (p *plugin) newCheck() *cobra.Command {
	o := &checkOptions{}
	cmd := &cobra.Command{
		Use:   "check -f FILE|DIR...",
		Short: "Check certificates in files: Secrets, ConfigMaps, caBundles, kubeconfigs, PEM and DER",
		Long: `Check certificates in files, without a cluster and without a configuration: which CA signed what follows from signatures.
Files are Kubernetes objects in YAML or JSON, kubeconfigs, and certificates and keys in PEM or DER. Directories are read
with all below. With a RotationConfiguration among the objects, its problems are found too.

With --before, what the guard would deny of the change is found: of ConfigMaps first, then of Secrets, then of deletions.
Evidence is not in files, so what needs evidence counts as not proven. With --server, the guard of the cluster is asked:
each object is applied as a dry run.

Exit codes: 0 without findings of --fail-on, 1 with such findings, 2 if something could not be read.`,
		Example: `  # What a directory of manifests or kubeadm's /etc/kubernetes has
  kubectl certrotation check -f manifests/ -f /etc/kubernetes

  # A namespace
  kubectl get secrets,configmaps -n demo -o yaml | kubectl certrotation check -f -

  # Against a cluster, without a change of it
  kubectl certrotation check -f manifests/ --server

  # A pull request
  kubectl certrotation check -f after/ --before before/ -o sarif`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.check(cmd.Context(), o) },
	}
	flags := cmd.Flags()
	flags.StringArrayVarP(&o.files, "filename", "f", nil, "file or directory to check; - is standard input")
	flags.StringVar(&o.before, "before", "", "file or directory with the same objects before a change")
	flags.BoolVar(&o.server, "server", false, "ask the guard of the cluster, by a server-side apply of each object as a dry run")
	flags.DurationVar(&o.within, "within", 14*24*time.Hour, "warn of certificates that expire within this time")
	flags.StringVarP(&o.output, "output", "o", "text", "text, json, sarif or junit")
	flags.StringVar(&o.failOn, "fail-on", string(survey.Error), "severity that makes the command fail: error or warning")
	return cmd
}

func (o *checkOptions) validate() error {
	switch {
	case len(o.files) == 0:
		return errors.New("give files or directories with -f")
	case !slices.Contains([]string{"text", "json", "sarif", "junit"}, o.output):
		return fmt.Errorf("-o %s is not text, json, sarif or junit", oneLine(o.output))
	case !slices.Contains([]string{string(survey.Error), string(survey.Warning)}, o.failOn):
		return fmt.Errorf("--fail-on %s is not error or warning", oneLine(o.failOn))
	case o.within < 0:
		return errors.New("--within is negative")
	}
	return nil
}

func (p *plugin) check(ctx context.Context, o *checkOptions) error {
	if err := o.validate(); err != nil {
		return &exitError{exitBadInput, err}
	}
	now := p.Clock.Now()
	in := newCheckReader(survey.New(now, o.within), p.Streams.In)
	for _, file := range o.files {
		in.readNamed(file)
	}
	in.finish()
	problems := in.problems
	findings := configured(in, in.survey.Findings(), now)
	if o.before != "" {
		before := newCheckReader(survey.New(now, o.within), p.Streams.In)
		before.readNamed(o.before)
		problems = append(problems, before.problems...)
		refused, err := denied(ctx, before, in, p.Clock)
		if err != nil {
			return &exitError{exitBadInput, err}
		}
		findings = append(findings, refused...)
	}
	if o.server {
		refused, err := p.deniedByServer(ctx, in)
		if err != nil {
			return &exitError{exitBadInput, err}
		}
		findings = append(findings, refused...)
	}
	survey.Sort(findings)
	report := newCheckReport(in, findings)
	if err := report.print(p.Streams.Out, o.output); err != nil {
		return err
	}
	if in.skipped > 0 {
		fmt.Fprintf(p.Streams.ErrOut, "skipped %s that hold no PEM, DER or Kubernetes objects\n", plural(in.skipped, "file"))
	}
	if len(problems) > 0 {
		return &exitError{exitBadInput, errors.New(strings.Join(problems, "\n"))}
	}
	if report.Errors > 0 || o.failOn == string(survey.Warning) && report.Warnings > 0 {
		return &exitError{1, errors.New(report.counts())}
	}
	return nil
}
