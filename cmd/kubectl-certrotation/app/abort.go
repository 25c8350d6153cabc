// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/apis/certrotation/v1alpha1"
)

const verbAbort = "abort"

type abortOptions struct {
	reason  string
	wait    bool
	timeout time.Duration
	output  output
}

func (p *plugin) newAbort() *cobra.Command {
	o := &abortOptions{}
	cmd := &cobra.Command{
		Use:   "abort NAME",
		Short: "Undo the rotation of a signer before its new CA has signed",
		Long: `Ask that the rotation of a signer in flight be undone: the new CA's key is destroyed and its anchor leaves the bundle.
This is possible only while no leaf is signed by the new CA; afterwards the server refuses, and the way out is to let
the rotation end and to rotate again.`,
		Example: `  # Stop distributing a new CA
  kubectl certrotation abort -n mtls-demo service-signer --reason "wrong change window" --wait`,
		Args:              named,
		ValidArgsFunction: p.completesSigners(),
		RunE:              func(cmd *cobra.Command, args []string) error { return p.abort(cmd.Context(), o, args[0]) },
	}
	addReasonFlag(cmd.Flags(), &o.reason)
	cmd.Flags().BoolVar(&o.wait, "wait", false, "Wait until the domain is Stable again, and show the progress.")
	addTimeoutFlag(cmd, &o.timeout)
	o.output = addObjectOutputFlags(cmd)
	return cmd
}

func (p *plugin) abort(ctx context.Context, o *abortOptions, name string) error {
	if err := checkTimeout(o.timeout); err != nil {
		return err
	}
	if err := checkWaitOutput(o.wait, o.output); err != nil {
		return err
	}
	t, err := p.connect(name)
	if err != nil {
		return err
	}
	var before *v1alpha1.CertificateRotation
	if o.wait {
		if before, err = t.rotations().Get(ctx, name, metav1.GetOptions{}); err != nil {
			return fail(verbRead, t, err)
		}
	}
	begun := p.Clock.Now()
	plan, err := t.rotations().Abort(ctx, name, &v1alpha1.AbortRequest{Reason: o.reason}, metav1.CreateOptions{})
	if err != nil {
		return fail(verbAbort, t, err)
	}
	if o.output.requested() {
		return o.output.printReply(p.Streams.Out, t, "RotationPlan", plan)
	}
	p.printSummary(t, "abort requested", plan, false)
	if !o.wait {
		return nil
	}
	return p.follow(ctx, t, aborted(before), before, begun, o.timeout)
}
