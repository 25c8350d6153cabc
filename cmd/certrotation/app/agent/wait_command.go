// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"github.com/spf13/cobra"

	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/cli/globalflag"
	"k8s.io/component-base/logs"
	"k8s.io/component-base/term"
	"k8s.io/component-base/version/verflag"

	"certrotation.dev/cmd/certrotation/app/process"
)

const waitLong = `Wait until a directory shows the content that --for-content names, or a later one. It is for an
init container of a pod whose template carries the hash of a Secret or ConfigMap: kubelet may first
mount an older version that it has cached, and programs that read their files only at start would
keep it.

  certrotation wait --for-content=$(CONTENT_HASH) /trust

The directory is the mount of one Secret or ConfigMap, whole and without subPath. A content is later
if it names the other one under the key superseded-contents, as bundles do that certrotation writes.
` + "`kubectl certrotation content-hash`" + ` prints the hash of an object.

The exit code is 0 if the content is there, and not 0 if --timeout has passed; kubelet then starts
the container again as its restartPolicy says.`

// NewWaitCommand returns the command.
func NewWaitCommand() *cobra.Command {
	command, _ := newWaitCommand()
	return command
}

func newWaitCommand() (*cobra.Command, *WaitOptions) {
	options := NewWaitOptions()
	command := &cobra.Command{
		Use:          "wait --for-content=HASH DIR",
		Short:        "Wait until a mounted Secret or ConfigMap has the content that is named",
		Long:         waitLong,
		SilenceUsage: true,
		Args:         cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			verflag.PrintAndExitIfRequested()
			if err := process.ApplyLogging(options.Logs); err != nil {
				return err
			}
			options.Directory = args[0]
			if err := options.Validate(); err != nil {
				return err
			}
			return options.Config().Run(cmd.Context())
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
