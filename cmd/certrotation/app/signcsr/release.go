// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package signcsr

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"k8s.io/utils/clock"

	"certrotation.dev/registry/csr"
)

func newReleaseCommand() *cobra.Command {
	var (
		dir, node string
		profiles  []string
	)
	command := &cobra.Command{
		Use:   "release",
		Short: "Permit a node to get certificates for a new key",
		Long: `Forget the key of a node, so that the signer signs for a new one.

The signer signs for one key of each node and profile: the first. A node whose disk was lost needs
a new key. Make sure that the requester is that node: the certificate for the first key stays valid
until it expires. The signer need not be stopped.`,
		SilenceUsage: true,
		Args:         cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if dir == "" || node == "" {
				return errors.New("--storage-dir and --node are required")
			}
			released := 0
			for _, profile := range profiles {
				if !slices.Contains(csr.Profiles(), csr.Profile(profile)) {
					return fmt.Errorf("--profile is %q, want one of %v", profile, csr.Profiles())
				}
				found, err := release(dir, node, csr.Profile(profile), clock.RealClock{}.Now())
				if err != nil {
					return err
				}
				if found {
					released++
					fmt.Fprintf(cmd.OutOrStdout(), "released node %s, profile %s\n", node, profile)
				}
			}
			if released == 0 {
				return fmt.Errorf("nothing was signed for node %s and the profiles %v: there is nothing to release", node, profiles)
			}
			return nil
		},
	}
	var all []string
	for _, profile := range csr.Profiles() {
		all = append(all, string(profile))
	}
	command.Flags().StringVar(&dir, "storage-dir", "", "The --storage-dir of the signer. Required.")
	command.Flags().StringVar(&node, "node", "", "The name of the node. Required.")
	command.Flags().StringSliceVar(&profiles, "profile", all, "List of profiles whose key is forgotten.")
	return command
}
