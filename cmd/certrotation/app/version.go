// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"k8s.io/component-base/version"
)

func newVersionCommand() *cobra.Command {
	var output string
	command := &cobra.Command{
		Use:   "version",
		Short: "Print the version of this binary",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			info := version.Get()
			switch output {
			case "":
				_, err := fmt.Fprintf(cmd.OutOrStdout(), "certrotation %s (commit %s, %s, %s)\n",
					info.GitVersion, info.GitCommit, info.GoVersion, info.Platform)
				return err
			case "json":
				encoder := json.NewEncoder(cmd.OutOrStdout())
				encoder.SetIndent("", "  ")
				return encoder.Encode(info)
			}
			return fmt.Errorf("--output %q must be empty or json", output)
		},
	}
	command.Flags().StringVarP(&output, "output", "o", "", "Output format: empty for a line of text, or json.")
	return command
}
