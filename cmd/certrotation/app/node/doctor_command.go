// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"k8s.io/utils/clock"

	"certrotation.dev/registry/nodepod"
)

// Exit codes.
const (
	exitFindings = 1
	exitFailed   = 1
	exitUsage    = 2
)

const doctorLong = `Say what on the disk of this node does not fit together, and what a botched rotation needs.

It needs no API server: it reads the manifest and the generations of certificates of the static pod, and asks the
peers by a handshake whether they accept this member's leaf and whether its trust verifies theirs. It never writes, and
prints no secret.

Exit code 0: nothing is an error. 1: something is, or the disk cannot be read. 2: the command line is wrong.`

// NewDoctorCommand returns the command.
func NewDoctorCommand() *cobra.Command { return NewDoctorCommandFor(clock.RealClock{}, os.Exit) }

// NewDoctorCommandFor returns the command with a clock and a function that ends the process.
func NewDoctorCommandFor(clock clock.PassiveClock, exit func(code int)) *cobra.Command {
	options := NewDoctorOptions()
	command := &cobra.Command{
		Use:          "doctor",
		Short:        "Say what is wrong with the certificates of a static pod on this node",
		Long:         doctorLong,
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
			if nodepod.Worst(findings) == nodepod.Error {
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
