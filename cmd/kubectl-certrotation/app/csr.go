// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/registry/pki"
)

func (p *plugin) newCSR() *cobra.Command {
	var o output
	cmd := &cobra.Command{
		Use:   "csr SIGNER",
		Short: "Print the request for the next CA of an intermediate",
		Long: `Print the certificate request for the next CA of a signer that is an intermediate, as PEM. Its rotation waits for the
certificate: have the owner of the root sign the request, offline if they like, and hand the certificate over with
install-ca. The private key stays in the signer's Secret.`,
		Example: `  # Begin the rotation, and take the request to the owner of the root
  kubectl certrotation rotate -n mtls-demo service-signer
  kubectl certrotation csr -n mtls-demo service-signer > service-signer.csr

  # Sign it with OpenSSL
  openssl x509 -req -in service-signer.csr -CA root.crt -CAkey root.key -days 1825 -copy_extensions copy -out service-signer.crt`,
		Args:              named,
		ValidArgsFunction: p.completesSigners(),
		RunE:              func(cmd *cobra.Command, args []string) error { return p.csr(cmd.Context(), o, args[0]) },
	}
	o = addObjectOutputFlags(cmd)
	return cmd
}

func (p *plugin) csr(ctx context.Context, o output, name string) error {
	if err := o.validate(); err != nil {
		return err
	}
	t, err := p.connect(name)
	if err != nil {
		return err
	}
	got, err := t.rotations().GetSigningRequest(ctx, name, metav1.GetOptions{})
	if err != nil {
		return fail(verbRead, t, err)
	}
	if o.requested() {
		return o.printReply(p.Streams.Out, t, "SigningRequest", got)
	}
	// What the server says is printed only if it is a request.
	request, err := pki.ParseRequest([]byte(got.Request))
	if err != nil {
		return fmt.Errorf("the request of %s: %w", t, err)
	}
	_, err = p.Streams.Out.Write(request.PEM())
	return err
}
