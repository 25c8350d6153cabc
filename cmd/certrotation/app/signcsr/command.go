// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package signcsr

import (
	"github.com/spf13/cobra"

	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/cli/globalflag"
	"k8s.io/component-base/logs"
	"k8s.io/component-base/term"
	"k8s.io/component-base/version"
	"k8s.io/component-base/version/verflag"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"certrotation.dev/cmd/certrotation/app/process"
)

const long = `Sign the first certificates of etcd members, before there is a kube-apiserver.

The server speaks certificates.k8s.io/v1: POST of a CertificateSigningRequest to
/apis/certificates.k8s.io/v1/certificatesigningrequests signs it at once and answers with the
object, status.certificate and the condition Approved, or refuses it with a Status of 4xx that
says what to change. A denial is recorded too, as the condition Denied of the object that
GET .../NAME returns. The same request with the same name is answered with the same certificate;
a different request with a name that was signed is refused with 409.

  signerName                     organization           common name               signed by
  certrotation.dev/etcd-peer     system:etcd-peers      system:etcd-peer:NODE     --ca-cert-file
  certrotation.dev/etcd-server   system:etcd-servers    system:etcd-server:NODE   --ca-cert-file
  certrotation.dev/etcd-metric   system:etcd-metrics    system:etcd-metric:NODE   --metric-ca-cert-file

NODE must be a configured node, and every alternative name must be configured for it. For each node
and profile only the first key is signed; to permit a new one see sign-csr release.

Every request has to be authenticated, by a bootstrap token (Authorization: Bearer, --token-file)
or a client certificate (--client-ca-file); at least one of the two flags is required. Stop the
signer as soon as the API server is up, so that its CAs can be kept offline.

All files are read again at each request or handshake; replacing one needs no restart.`

// NewCommand returns the command. It runs until its context ends.
func NewCommand() *cobra.Command {
	options := NewOptions()
	command := &cobra.Command{
		Use:          "sign-csr",
		Short:        "Sign the first certificates of etcd members, before there is a kube-apiserver",
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
			klog.FromContext(cmd.Context()).Info("Starting", "command", "sign-csr", "version", version.Get().String())
			server, err := New(cmd.Context(), options, clock.RealClock{})
			if err != nil {
				return err
			}
			return server.Run(cmd.Context())
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
	command.AddCommand(newReleaseCommand())
	return command
}
