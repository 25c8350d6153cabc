// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"github.com/spf13/cobra"

	"k8s.io/component-base/version/verflag"

	"certrotation.dev/cmd/certrotation/app/agent"
	controllercmd "certrotation.dev/cmd/certrotation/app/controller"
	"certrotation.dev/cmd/certrotation/app/node"
	"certrotation.dev/cmd/certrotation/app/render"
	"certrotation.dev/cmd/certrotation/app/serve"
	"certrotation.dev/cmd/certrotation/app/signcsr"
)

// NewCommand returns the command certrotation with all its subcommands.
func NewCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "certrotation",
		Short: "Rotate certificate authorities inside Kubernetes without a failed handshake",
		Long: "certrotation shows where each rotation of a certificate authority stands, refuses edits that would break a PKI, " +
			"and performs rotations that wait for evidence instead of guessing.",
		SilenceUsage: true,
		Args:         cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			verflag.PrintAndExitIfRequested()
			return cmd.Help()
		},
	}
	verflag.AddFlags(root.Flags())
	root.AddCommand(serve.NewCommand(), newVersionCommand(), controllercmd.NewCommand(), signcsr.NewCommand(), render.NewCommand(), render.NewKubeadmCommand())
	root.AddCommand(node.NewDoctorCommand(), node.NewRecoverCommand())
	root.AddCommand(node.NewInstallerCommand(), node.NewPruneCommand())
	root.AddCommand(agent.NewWaitCommand(), agent.NewCommand())
	return root
}
