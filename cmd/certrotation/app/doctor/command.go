// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"k8s.io/utils/clock"

	"certrotation.dev/registry/diagnosis"
)

// Exit codes.
const (
	exitFindings = 1
	exitUsage    = 2
)

const long = `Say what on the disk of this node does not fit together, and what a botched rotation needs.

It needs no API server: it reads the manifest and the generations of certificates of the static pod, and asks the
peers by a handshake whether they accept this member's leaf and whether its trust verifies theirs. It never writes, and
prints no secret.

Exit code 0: nothing is an error. 1: something is, or the disk cannot be read. 2: the command line is wrong.`

// NewCommand returns the command.
func NewCommand() *cobra.Command { return NewCommandFor(clock.RealClock{}, os.Exit) }

// NewCommandFor returns the command with a clock and a function that ends the process.
func NewCommandFor(clock clock.PassiveClock, exit func(code int)) *cobra.Command {
	options := NewOptions()
	command := &cobra.Command{
		Use:          "doctor",
		Short:        "Say what is wrong with the certificates of a static pod on this node",
		Long:         long,
		SilenceUsage: true,
		Args:         cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := options.Validate(); err != nil {
				fmt.Fprintf(cmd.ErrOrStderr(), "Error: %v\n", err)
				exit(exitUsage)
				return nil
			}
			findings, err := options.examine(cmd.Context(), clock.Now())
			if err != nil {
				fmt.Fprintf(cmd.ErrOrStderr(), "Error: %v\n", err)
				exit(exitFindings)
				return nil
			}
			show := printTable
			if options.Output == "json" {
				show = printJSON
			}
			if err := show(cmd.OutOrStdout(), findings); err != nil {
				return err
			}
			if diagnosis.Worst(findings) == diagnosis.Error {
				exit(exitFindings)
			}
			return nil
		},
	}
	command.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		fmt.Fprintf(cmd.ErrOrStderr(), "Error: %v\nSee `certrotation doctor --help`.\n", err)
		exit(exitUsage)
		return err
	})
	options.AddFlags(command.Flags())
	return command
}
