// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/apis/certrotation/v1alpha1"
)

const defaultTimeout = 10 * time.Minute

type rotateOptions struct {
	reason      string
	compromised bool
	wait        bool
	timeout     time.Duration
	dryRun      string
	output      output
}

func (p *plugin) newRotate() *cobra.Command {
	o := &rotateOptions{}
	cmd := &cobra.Command{
		Use:   "rotate NAME",
		Short: "Ask for the rotation of a signer or a leaf, and follow it",
		Long: `Ask for the rotation of the certificate in a Secret. A signer goes through the stages Distributing, Reissuing,
Draining and Retiring until it is Stable again; a leaf is issued anew.

With --wait the progress is shown until the rotation has ended: on a terminal as a status that is redrawn, in a pipe
as one line for each change. An interrupt (Ctrl-C) stops the waiting only. The rotation is the controller's work and
continues.`,
		Example: `  # Rotate a CA and watch it happen
  kubectl certrotation rotate -n mtls-demo service-signer --wait

  # Rotate a CA whose key has leaked
  kubectl certrotation rotate -n mtls-demo service-signer --compromised --reason "INC-1234: key in a backup"

  # Reissue one leaf
  kubectl certrotation rotate -n mtls-demo service-server --wait --timeout 2m`,
		Args:              named,
		ValidArgsFunction: p.completesCertificates(),
		RunE:              func(cmd *cobra.Command, args []string) error { return p.rotate(cmd.Context(), o, args[0]) },
	}
	flags := cmd.Flags()
	addReasonFlag(flags, &o.reason)
	flags.BoolVar(&o.compromised, "compromised", false, "The key must not be trusted any longer than needed.")
	flags.BoolVar(&o.wait, "wait", false, "Wait until the rotation has ended, and show its progress.")
	addTimeoutFlag(cmd, &o.timeout)
	addDryRunFlag(flags, &o.dryRun)
	o.output = addObjectOutputFlags(cmd)
	return cmd
}

func addTimeoutFlag(cmd *cobra.Command, timeout *time.Duration) {
	cmd.Flags().DurationVar(timeout, "timeout", defaultTimeout, "How long to wait. 0 waits without a limit.")
}

func (o *rotateOptions) validate() error {
	if err := checkDryRun(o.dryRun); err != nil {
		return err
	}
	if o.dryRun == dryRunServer && o.wait {
		return fmt.Errorf("--wait and --dry-run=server cannot be combined: a dry run starts nothing to wait for")
	}
	if err := checkWaitOutput(o.wait, o.output); err != nil {
		return err
	}
	return checkTimeout(o.timeout)
}

func checkTimeout(timeout time.Duration) error {
	if timeout < 0 {
		return fmt.Errorf("--timeout is %s: it must not be negative", timeout)
	}
	return nil
}

func (p *plugin) rotate(ctx context.Context, o *rotateOptions, name string) error {
	if err := o.validate(); err != nil {
		return err
	}
	t, err := p.connect(name)
	if err != nil {
		return err
	}
	// The former certificate decides later whether the certificate is new.
	var before *v1alpha1.CertificateRotation
	if o.wait {
		if before, err = t.rotations().Get(ctx, name, metav1.GetOptions{}); err != nil {
			return fail(verbRead, t, err)
		}
	}
	opts := metav1.CreateOptions{}
	if o.dryRun == "server" {
		opts.DryRun = []string{metav1.DryRunAll}
	}
	begun := p.Clock.Now()
	request := &v1alpha1.RotationRequest{Reason: o.reason, Compromised: o.compromised}
	plan, err := t.rotations().Rotate(ctx, name, request, opts)
	if err != nil {
		return fail(verbRotate, t, err)
	}
	if o.output.requested() {
		return o.output.printReply(p.Streams.Out, t, "RotationPlan", plan)
	}
	p.printSummary(t, "rotation requested", plan, o.dryRun == "server")
	if !o.wait {
		if o.dryRun == "none" {
			fmt.Fprintf(p.Streams.Out, "Follow it: %s\n", t.command("wait"))
		}
		return nil
	}
	return p.follow(ctx, t, rotated(before), before, begun, o.timeout)
}

// printSummary prints the requested rotation: its blockers and the number of steps of each stage.
func (p *plugin) printSummary(t *target, done string, plan *v1alpha1.RotationPlan, dryRun bool) {
	suffix := ""
	if dryRun {
		suffix = " (server dry run)"
	}
	out := p.Streams.Out
	fmt.Fprintf(out, "certificaterotation.%s/%s %s%s, plan %s", v1alpha1.GroupName, t.name, done, suffix, oneLine(short(plan.Hash)))
	others := plan.Blockers
	if len(others) > 0 {
		fmt.Fprintf(out, "; it %s", waits(others))
		others = others[1:]
	}
	fmt.Fprintf(out, "\n  %s: %s\n", plural(len(plan.Steps), "step"), stepsByStage(plan.Steps))
	for i := range others {
		fmt.Fprintf(out, "  waits for %s\n", blockerText(&others[i]))
	}
}

func stepsByStage(steps []v1alpha1.PlanStep) string {
	var parts []string
	for i := 0; i < len(steps); {
		end := i
		for end < len(steps) && steps[end].Stage == steps[i].Stage {
			end++
		}
		parts = append(parts, fmt.Sprintf("%s %d", oneLine(string(steps[i].Stage)), end-i))
		i = end
	}
	if len(parts) == 0 {
		return "nothing to do"
	}
	return strings.Join(parts, ", ")
}
