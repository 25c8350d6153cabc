// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"certrotation.dev/apis/certrotation/v1alpha1"
)

func addReasonFlag(flags *pflag.FlagSet, reason *string) {
	flags.StringVar(reason, "reason", "", "Why, for events and for people. At most 256 characters.")
}

func (p *plugin) addMemberFlags(cmd *cobra.Command, party, member *string) {
	flags := cmd.Flags()
	flags.StringVar(party, "party", "", "The relying party.")
	flags.StringVar(member, "member", "", "The member of the party. Defaults to the name of the party.")
	// The flags exist: they were added above.
	_ = cmd.RegisterFlagCompletionFunc("party", p.completes(func(ctx context.Context, t *target, args []string) ([]string, error) {
		return t.memberNames(ctx, args, func(m *v1alpha1.MemberStatus) string { return m.Party })
	}))
	_ = cmd.RegisterFlagCompletionFunc("member", p.completes(func(ctx context.Context, t *target, args []string) ([]string, error) {
		return t.memberNames(ctx, args, func(m *v1alpha1.MemberStatus) string {
			if *party != "" && m.Party != *party {
				return ""
			}
			return m.Member
		})
	}))
}

func addAllNamespacesFlag(flags *pflag.FlagSet, all *bool) {
	flags.BoolVarP(all, "all-namespaces", "A", false, "The trust domains of all namespaces.")
}

// dryRunServer is the value of --dry-run that has the server check a request without changing anything.
const dryRunServer = "server"

func addDryRunFlag(flags *pflag.FlagSet, dryRun *string) {
	flags.StringVar(dryRun, "dry-run", "none", `"none", or "server" to have the request checked and change nothing.`)
}

// checkWaitOutput refuses progress for people in the middle of output for programs.
func checkWaitOutput(wait bool, o output) error {
	if wait && o.requested() {
		return errors.New("--wait and --output cannot be combined: wait with kubectl certrotation wait")
	}
	return o.validate()
}

func checkDryRun(dryRun string) error {
	if dryRun != "none" && dryRun != dryRunServer {
		return fmt.Errorf("unknown value %q of --dry-run: use none or server", dryRun)
	}
	return nil
}
