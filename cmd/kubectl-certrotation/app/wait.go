// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type waitOptions struct {
	until   string
	timeout time.Duration
}

func (p *plugin) newWait() *cobra.Command {
	o := &waitOptions{}
	cmd := &cobra.Command{
		Use:   "wait NAME",
		Short: "Wait for a stage or a condition, and show the progress",
		Long: `Wait until a certificate reaches a stage of its trust domain's rotation or has a condition, and show the progress until
then. It asks for nothing: the rights get, list and watch on certificaterotations are enough.

stage=Stable is reached when no rotation is in flight and none that was asked for is yet to begin.`,
		Example: `  # Follow a rotation that somebody else has begun
  kubectl certrotation wait -n mtls-demo service-signer

  # Wait until a leaf is usable
  kubectl certrotation wait -n mtls-demo service-server --for condition=Ready --timeout 1m`,
		Args: named,
		RunE: func(cmd *cobra.Command, args []string) error { return p.wait(cmd.Context(), o, args[0]) },
	}
	cmd.Flags().StringVar(&o.until, "for", "stage=Stable", "What to wait for: stage=STAGE, condition=TYPE or condition=TYPE=STATUS.")
	addTimeoutFlag(cmd, &o.timeout)
	return cmd
}

func (p *plugin) wait(ctx context.Context, o *waitOptions, name string) error {
	goal, err := parseGoal(o.until)
	if err != nil {
		return err
	}
	if err := checkTimeout(o.timeout); err != nil {
		return err
	}
	t, err := p.connect(name)
	if err != nil {
		return err
	}
	now, err := t.rotations().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return fail(verbRead, t, err)
	}
	return p.follow(ctx, t, goal, now, p.Clock.Now(), o.timeout)
}
