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

const installerLong = `Install one revision of a static pod on this node. The controller runs it in a pod that mounts
the objects of the revision; it needs no API server.

If the pod template and all that the static pod reads only at its start are those of the running
manifest, the revision becomes one more generation in the directory of that manifest, and the
pointer "current" is swapped to it: nothing restarts. Otherwise the revision gets a directory of
its own and the manifest is replaced: kubelet restarts the pod.

Before anything is written, certificates and keys have to match, each leaf has to be signed by a
trust anchor of the same revision, and the node may not have a later revision. After an error, a
SIGTERM or a loss of power the node has the old revision or the new one, as a whole; running the
same command again completes the new one.

The exit code is 0 if the revision is on the node, and 1 if not. The last line, also in the
termination message of the container, is JSON:
  {"revision":7,"changed":true,"restart":false}
  {"revision":7,"reason":"Newer","error":"a more recent revision is on this node: ..."}
Reasons are Newer (nothing to do), Refused (no use in trying again), Busy (another installer did
not end), Interrupted and Failed (try again).`

// NewInstallerCommand returns the command.
func NewInstallerCommand() *cobra.Command {
	command, _ := newInstallerCommand()
	return command
}

func newInstallerCommand() (*cobra.Command, *InstallerOptions) {
	options := NewInstallerOptions()
	command := &cobra.Command{
		Use:          "installer",
		Short:        "Install one revision of a static pod on this node",
		Long:         installerLong,
		SilenceUsage: true,
		Args:         cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			verflag.PrintAndExitIfRequested()
			if err := process.ApplyLogging(options.Logs); err != nil {
				return err
			}
			options.Complete()
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
