// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"

	"github.com/spf13/pflag"
)

func addReasonFlag(flags *pflag.FlagSet, reason *string) {
	flags.StringVar(reason, "reason", "", "Why, for events and for people. At most 256 characters.")
}

func addMemberFlags(flags *pflag.FlagSet, party, member *string) {
	flags.StringVar(party, "party", "", "The relying party.")
	flags.StringVar(member, "member", "", "The member of the party. Defaults to the name of the party.")
}

func addAllNamespacesFlag(flags *pflag.FlagSet, all *bool) {
	flags.BoolVarP(all, "all-namespaces", "A", false, "The trust domains of all namespaces.")
}

// dryRunServer is the value of --dry-run that has the server check a request without changing anything.
const dryRunServer = "server"

func addDryRunFlag(flags *pflag.FlagSet, dryRun *string) {
	flags.StringVar(dryRun, "dry-run", "none", `"none", or "server" to have the request checked and change nothing.`)
}

func checkDryRun(dryRun string) error {
	if dryRun != "none" && dryRun != dryRunServer {
		return fmt.Errorf("unknown value %q of --dry-run: use none or server", dryRun)
	}
	return nil
}
