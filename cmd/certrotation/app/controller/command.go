// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

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

// NewCommand returns the command. It runs until its context ends.
func NewCommand() *cobra.Command {
	options := NewOptions()
	command := &cobra.Command{
		Use:   "controller",
		Short: "Perform rotations",
		Long: "Watch the Secrets and ConfigMaps of every namespace that has a RotationConfiguration, and perform the rotations " +
			"of its certificate authorities, one safe write at a time.",
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
			klog.FromContext(cmd.Context()).Info("Starting", "command", "controller", "version", version.Get().String())
			config, err := options.Config()
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
	return command
}
