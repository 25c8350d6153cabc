// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"certrotation.dev/controller/bootstrap"
)

const long = `Render the first nodes of a cluster, before there is an API server.

--config has the objects that would be applied to the cluster: the namespace, the
RotationConfiguration, the StaticPodClass that it names, the ConfigMap with the template of the
static pod, and the first Nodes with their labels and InternalIPs. A Secret with a CA may be among them; it is used instead of a new one.
manifests/samples/etcd-nodes has an example. The same controller that will rotate the certificates
later makes them now, against an API in memory, and cuts revision 1.

  OUTPUT/manifests/*.yaml                every object: kubectl create -f OUTPUT/manifests, once the API
                                         server is up and serves the definitions of manifests/crds, and
                                         before the controller starts
  OUTPUT/nodes/NODE/etc/kubernetes/...   copy this to each node, before its kubelet starts
  OUTPUT/tls/*                           certificates and trust of the first kube-apiserver (etcd-client,
                                         etcd-ca-bundle) and of other clients

The output holds the keys of the CAs: files have mode 0600, directories 0700. Remove it when everything
has been copied and created. The controller then finds revision 1 as it is on the disks and changes
nothing.`

// NewCommand returns the command.
func NewCommand() *cobra.Command {
	options := &Options{}
	command := &cobra.Command{
		Use:          "render",
		Short:        "Render certificates, manifests and disks of the first nodes, offline",
		Long:         long,
		SilenceUsage: true,
		Args:         cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := options.Validate(); err != nil {
				return err
			}
			return Run(cmd.Context(), options, cmd.InOrStdin(), cmd.OutOrStdout(), time.Now())
		},
	}
	options.AddFlags(command.Flags())
	return command
}

// Run reads, renders, writes and checks. At the end it prints a summary to out.
func Run(ctx context.Context, options *Options, in io.Reader, out io.Writer, now time.Time) (err error) {
	data, err := options.read(in)
	if err != nil {
		return err
	}
	input, err := bootstrap.Parse(data)
	if err != nil {
		return err
	}
	result, err := bootstrap.Render(ctx, input, now)
	if err != nil {
		return err
	}
	stage, err := newStaging(options.OutputDir)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, stage.discard())
		}
	}()
	if err := stage.write(ctx, result); err != nil {
		return err
	}
	if err := stage.verify(ctx, input, result, now); err != nil {
		return fmt.Errorf("what was rendered is not sound, and was removed: %w", err)
	}
	if err := stage.finish(); err != nil {
		return err
	}
	return report(out, stage.output, result)
}

func report(out io.Writer, dir string, result *bootstrap.Result) error {
	for _, node := range result.Nodes {
		if _, err := fmt.Fprintf(out, "%s/nodes/%s: revision %d of %s, restart hash %.12s\n", dir, node.Name, node.Revision, node.Rollout, node.RestartHash); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(out, "%s/manifests: %d objects\n%s/tls: %d files\n", dir, len(result.Manifests), dir, len(result.TLS))
	return err
}
