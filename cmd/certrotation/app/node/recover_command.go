// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"k8s.io/utils/clock"

	"certrotation.dev/controller/recovery"
)

const recoverLong = `Bring a static pod back whose certificates do not work, on this node, without an API server.

Where a generation on this disk works now, it makes the newest one current that a quorum of members accepts: it asks the
peers by a handshake. If no peer answers, --revision has to name it.

Where everything has expired, it reissues this node's leaves with the key that made them, which it reads from etcd's own
data while etcd is stopped, or from --secret-file. A signer that has expired itself is re-signed: same key, same subject,
a new validity. So every node can do this alone, and all accept each other afterwards. What the API server needs to start,
and the Secrets to apply when it serves, are written to --output-dir.

Nothing is destroyed: what is replaced is kept in NAME-pod-set-aside-TIME. Running it again does no harm.

Exit code 0: done, or nothing to do. 1: it could not. 2: the command line is wrong.`

// NewRecoverCommand returns the command.
func NewRecoverCommand() *cobra.Command { return NewRecoverCommandFor(clock.RealClock{}, os.Exit) }

// NewRecoverCommandFor returns the command with a clock and a function that ends the process.
func NewRecoverCommandFor(clock clock.PassiveClock, exit func(code int)) *cobra.Command {
	options := NewRecoverOptions()
	command := &cobra.Command{
		Use:          "recover",
		Short:        "Bring a static pod back whose certificates do not work",
		Long:         recoverLong,
		SilenceUsage: true,
		Args:         cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			complete, err := options.Complete(clock)
			if err != nil {
				fmt.Fprintf(cmd.ErrOrStderr(), "Error: %v\n", err)
				exit(exitUsage)
				return nil
			}
			plan, err := recovery.New(cmd.Context(), complete)
			if err == nil {
				err = perform(cmd.OutOrStdout(), plan, options.DryRun)
			}
			if err != nil {
				fmt.Fprintf(cmd.ErrOrStderr(), "Error: %v\n", err)
				exit(exitFailed)
			}
			return nil
		},
	}
	command.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		fmt.Fprintf(cmd.ErrOrStderr(), "Error: %v\nSee `certrotation recover --help`.\n", err)
		exit(exitUsage)
		return err
	})
	options.AddFlags(command.Flags())
	return command
}

func perform(out io.Writer, plan *recovery.Plan, dryRun bool) error {
	if !plan.NothingToDo() {
		list(out, "Plan:", plan.Steps)
		if dryRun {
			fmt.Fprintln(out, "Nothing was written (--dry-run).")
		} else if err := plan.Execute(); err != nil {
			return err
		} else {
			fmt.Fprintln(out, "Done.")
		}
	}
	list(out, "Next:", plan.NextSteps)
	return nil
}

func list(out io.Writer, title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintln(out, title)
	for i, line := range lines {
		fmt.Fprintf(out, "%3d. %s\n", i+1, line)
	}
}
