// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"

	"github.com/spf13/cobra"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/cli/globalflag"
	"k8s.io/component-base/logs"
	"k8s.io/component-base/term"
	"k8s.io/component-base/version"
	"k8s.io/component-base/version/verflag"
	"k8s.io/klog/v2"

	"certrotation.dev/cmd/certrotation/app/process"
)

// NewCommand returns the command.
func NewCommand() *cobra.Command { return newCommand(NewOptions()) }

func newCommand(options *Options) *cobra.Command {
	command := &cobra.Command{
		Use:   "serve",
		Short: "Serve the aggregated API and the admission webhook",
		Long: "Serve the virtual resources CertificateRotation and BundleStatus as an aggregated API server, and the validating " +
			"admission webhook that refuses edits which would break a PKI, over one shared view of the cluster.",
		SilenceUsage: true,
		Args:         cobra.NoArgs,
		PersistentPreRunE: func(*cobra.Command, []string) error {
			// The feature gates of the libraries must be set before anything reads one.
			return options.Registry.Set()
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			verflag.PrintAndExitIfRequested()
			return run(cmd.Context(), options)
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

func run(ctx context.Context, options *Options) error {
	if err := process.ApplyLogging(options.Logs); err != nil {
		return err
	}
	if err := options.Complete(); err != nil {
		return err
	}
	if errs := options.Validate(); len(errs) > 0 {
		return utilerrors.NewAggregate(errs)
	}
	klog.FromContext(ctx).Info("Starting", "command", "serve", "version", version.Get().String())
	config, err := options.Config()
	if err != nil {
		return err
	}
	server, err := config.Complete().New()
	if err != nil {
		return err
	}
	return server.Run(ctx)
}
