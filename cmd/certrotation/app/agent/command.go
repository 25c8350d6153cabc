// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"github.com/spf13/cobra"

	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/cli/globalflag"
	"k8s.io/component-base/logs"
	"k8s.io/component-base/term"
	"k8s.io/component-base/version"
	"k8s.io/component-base/version/verflag"
	"k8s.io/klog/v2"

	"certrotation.dev/cmd/certrotation/app/process"
)

const long = `Acknowledge for a program of the same pod that does not do so itself: watch the files that both
have mounted, have the program reload them, look at what it really has loaded, and report that.
Run it as a native sidecar: an init container with restartPolicy Always.

With --prove it shakes hands with the program on localhost. What the program presents, and which
authorities it lists, is reported, and never what is merely mounted. A program without a TLS port
needs --reports-files: then what was mounted is reported after each reload that succeeded. That is
the weaker proof: it is as true as the program's answer to the reload, and a signal has no answer.

The pod's service account needs the verb create on certificaterotations/acknowledge of the signer.
POD_NAMESPACE, POD_NAME and POD_UID are set from the fields of the pod.

Wrong files, missing rights, a clock that is off, a program that does not answer: each is told in
the log, in /readyz and in certrotation_agent_problems, and the agent continues.`

// NewCommand returns the command. It runs until its context ends.
func NewCommand() *cobra.Command {
	command, _ := newCommand()
	return command
}

func newCommand() (*cobra.Command, *Options) {
	options := NewOptions()
	command := &cobra.Command{
		Use:          "agent",
		Short:        "Acknowledge for a program of the same pod (sidecar)",
		Long:         long,
		SilenceUsage: true,
		Args:         cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			verflag.PrintAndExitIfRequested()
			if err := process.ApplyLogging(options.Logs); err != nil {
				return err
			}
			if err := options.Validate(); err != nil {
				return err
			}
			klog.FromContext(cmd.Context()).Info("Starting", "command", "agent", "version", version.Get().String())
			config, err := options.Config(cmd.Context())
			if err != nil {
				return err
			}
			return config.Run(cmd.Context())
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
