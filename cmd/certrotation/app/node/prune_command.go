// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"github.com/spf13/cobra"

	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/cli/globalflag"
	"k8s.io/component-base/logs"
	"k8s.io/component-base/term"
	"k8s.io/component-base/version/verflag"

	"certrotation.dev/cmd/certrotation/app/process"
)

const pruneLong = `Remove from this node what nothing needs of the revisions of a static pod: the directories of
revisions up to --max-eligible-revision that are not protected, and in the directories that stay
the generations of such revisions. The controller runs it in a pod; it needs no API server.

Whatever the flags say, it keeps what the manifest of kubelet and the pointers of kept directories
name, and directories that hold a protected generation. While there is no manifest it removes
nothing. What has no revision in its name is left alone and reported.

The exit code is 0 if everything that was to go is gone. After an error or a SIGTERM run it again.`

// NewPruneCommand returns the command.
func NewPruneCommand() *cobra.Command {
	command, _ := newPruneCommand()
	return command
}

func newPruneCommand() (*cobra.Command, *PruneOptions) {
	options := NewPruneOptions()
	command := &cobra.Command{
		Use:          "prune",
		Short:        "Remove revisions of a static pod that nothing needs from this node",
		Long:         pruneLong,
		SilenceUsage: true,
		Args:         cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			verflag.PrintAndExitIfRequested()
			if err := process.ApplyLogging(options.Logs); err != nil {
				return err
			}
			if err := options.Complete(); err != nil {
				return err
			}
			if err := options.Validate(); err != nil {
				return err
			}
			return options.Run(cmd.Context())
		},
	}
	sections := options.Flags()
	verflag.AddFlags(sections.FlagSet("global"))
	globalflag.AddGlobalFlags(sections.FlagSet("global"), command.Name(), logs.SkipLoggingConfigurationFlags())
	for _, section := range sections.FlagSets {
		command.Flags().AddFlagSet(section)
	}
	columns, _, _ := term.TerminalSize(command.OutOrStdout())
	cliflag.SetUsageAndHelpFunc(command, sections, columns)
	return command, options
}
