// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/apis/certrotation/v1alpha1"
	"certrotation.dev/registry/trust"
)

const verbWaive = "waive"

type waiveOptions struct {
	party, member string
	reason        string
	lasts         time.Duration
	until         string
	withdraw      bool
	dryRun        string
	output        output
}

func (p *plugin) newWaive() *cobra.Command {
	o := &waiveOptions{}
	cmd := &cobra.Command{
		Use:   "waive SIGNER",
		Short: "Let rotations continue without the evidence of one member",
		Long: `Decide that the rotations of a signer need not wait for one member of a relying party, for a time. This is the way out
where no evidence can show that a member is gone, or that it has loaded what it must. A member that runs after all, and does
not trust the new CA, is cut off.

A waiver has a reason and an end, at most 30 days from now. It is shown with the member, in the plan and in an event. A
further one takes the place of the former; --withdraw ends it at once. It is a right of its own, the verb create on
certificaterotations/waive.`,
		Example: `  # A host has burned down, and no evidence can show that
  kubectl certrotation waive -n mtls-demo service-signer --party clients --member client-b --reason "INC-7: host is gone" --for 24h

  # It has come back from the repair
  kubectl certrotation waive -n mtls-demo service-signer --party clients --member client-b --reason "it is back" --withdraw`,
		Args:              named,
		ValidArgsFunction: p.completesSigners(),
		RunE:              func(cmd *cobra.Command, args []string) error { return p.waive(cmd.Context(), o, args[0]) },
	}
	flags := cmd.Flags()
	p.addMemberFlags(cmd, &o.party, &o.member)
	addReasonFlag(flags, &o.reason)
	flags.DurationVar(&o.lasts, "for", 0, "How long the waiver lasts, at most 720h.")
	flags.StringVar(&o.until, "until", "", "When the waiver ends, in RFC 3339.")
	flags.BoolVar(&o.withdraw, "withdraw", false, "End the waiver at once.")
	addDryRunFlag(flags, &o.dryRun)
	o.output = addObjectOutputFlags(cmd)
	// The flags exist: they were added above.
	_ = cmd.MarkFlagRequired("party")
	_ = cmd.MarkFlagRequired("reason")
	cmd.MarkFlagsOneRequired("for", "until", "withdraw")
	cmd.MarkFlagsMutuallyExclusive("for", "until", "withdraw")
	return cmd
}

func (p *plugin) waive(ctx context.Context, o *waiveOptions, name string) error {
	if err := o.output.validate(); err != nil {
		return err
	}
	waiver, err := o.waiver(p.Clock.Now())
	if err != nil {
		return err
	}
	t, err := p.connect(name)
	if err != nil {
		return err
	}
	opts, suffix := metav1.CreateOptions{}, ""
	if o.dryRun == "server" {
		opts.DryRun, suffix = []string{metav1.DryRunAll}, " (server dry run)"
	}
	given, err := t.rotations().Waive(ctx, name, waiver, opts)
	if err != nil {
		return fail(verbWaive, t, err)
	}
	if o.output.requested() {
		return o.output.printReply(p.Streams.Out, t, "Waiver", given)
	}
	who := oneLine(trust.MemberName(given.Party, given.Member))
	if o.withdraw {
		_, err = fmt.Fprintf(p.Streams.Out, "certificaterotation.%s/%s: the waiver of %s is withdrawn%s\n", v1alpha1.GroupName, name, who, suffix)
		return err
	}
	until := "its end"
	if given.Expires != nil {
		until = given.Expires.UTC().Format(time.RFC3339)
	}
	_, err = fmt.Fprintf(p.Streams.Out, "certificaterotation.%s/%s: %s is waived until %s%s\n", v1alpha1.GroupName, name, who, until, suffix)
	return err
}

func (o *waiveOptions) waiver(now time.Time) (*v1alpha1.Waiver, error) {
	if err := checkDryRun(o.dryRun); err != nil {
		return nil, err
	}
	out := &v1alpha1.Waiver{Party: o.party, Member: o.member, Reason: o.reason}
	switch {
	case o.withdraw:
		out.ExpiresAfter = &metav1.Duration{}
	case o.until != "":
		until, err := timeFlag("until", o.until, now)
		if err != nil {
			return nil, err
		}
		if !until.After(now) {
			return nil, errors.New("--until is in the past: to end a waiver use --withdraw")
		}
		out.Expires = &metav1.Time{Time: until.Time}
	case o.lasts <= 0:
		return nil, errors.New("--for must be a positive duration, such as 24h: to end a waiver use --withdraw")
	default:
		out.ExpiresAfter = &metav1.Duration{Duration: o.lasts}
	}
	return out, nil
}
