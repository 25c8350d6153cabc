// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-base/version"

	"certrotation.dev/apis/certrotation/v1alpha1"
	"certrotation.dev/cmd/kubectl-certrotation/picture"
)

type reportOptions struct {
	allNamespaces bool
	format        string
}

func (p *plugin) newReport() *cobra.Command {
	o := &reportOptions{}
	cmd := &cobra.Command{
		Use:   "report [NAME]",
		Short: "Write a page about trust domains, for a ticket or an auditor",
		Long: `Write one HTML page: who trusts whom, what expires when, what blocks a rotation, the evidence of each member, and what
a rotation would do. The page has no script and needs nothing from elsewhere.

The rights get and list on certificaterotations and bundlestatuses are enough. What a rotation would do needs the
right to create certificaterotations/rotate: the server is asked in a dry run. Without it the page says so.`,
		Example: `  # The trust domains of a namespace
  kubectl certrotation report -n mtls-demo > report.html

  # All trust domains
  kubectl certrotation report -A > report.html`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.report(cmd.Context(), o, strings.Join(args, ""))
		},
	}
	addAllNamespacesFlag(cmd.Flags(), &o.allNamespaces)
	cmd.Flags().StringVarP(&o.format, "output", "o", "html", "Output format. html is the only one.")
	return cmd
}

func (p *plugin) report(ctx context.Context, o *reportOptions, name string) error {
	if o.format != "html" {
		return fmt.Errorf("unknown output format %q: use html, or tree -o json for a program", o.format)
	}
	t, tree, err := p.readTree(ctx, o.allNamespaces, name)
	if err != nil {
		return err
	}
	if len(tree.Domains) == 0 {
		fmt.Fprintln(p.Streams.ErrOut, nothingFound(t.namespace))
		return nil
	}
	now := p.Clock.Now()
	r := picture.Report{
		Scope: t.String(), Cluster: p.cluster(), Time: now.UTC().Format(time.RFC3339), Version: version.Get().GitVersion,
	}
	for i := range tree.Domains {
		d := &tree.Domains[i]
		section := newSection(d, now)
		if section.Plan, err = t.planOf(ctx, d, now); err != nil {
			return err
		}
		r.Domains = append(r.Domains, section)
	}
	return r.WriteHTML(p.Streams.Out)
}

// cluster names the cluster as the kubeconfig does.
func (p *plugin) cluster() string {
	if *p.flags.Context != "" {
		return oneLine(*p.flags.Context)
	}
	config, err := p.flags.ToRawKubeConfigLoader().RawConfig()
	if err != nil || config.CurrentContext == "" {
		return "unknown context"
	}
	return oneLine(config.CurrentContext)
}

// planOf asks what a rotation of the signer would do. An answer that refuses becomes a note of the report.
func (t *target) planOf(ctx context.Context, d *Domain, now time.Time) (picture.Plan, error) {
	request := &v1alpha1.RotationRequest{}
	signer := &target{client: t.client, namespace: d.Namespace, name: d.Signer.Name}
	plan, err := signer.rotations().Rotate(ctx, signer.name, request, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	var status apierrors.APIStatus
	switch {
	case apierrors.IsForbidden(err):
		return picture.Plan{Note: "No plan: the report was made without the right to create certificaterotations/rotate in the namespace " +
			oneLine(d.Namespace) + "."}, nil
	case errors.As(err, &status):
		return picture.Plan{Note: "No plan: " + oneLine(statusText(err))}, nil
	case err != nil:
		return picture.Plan{}, fail(verbRotate, signer, err)
	}
	return newPlan(plan, now), nil
}
