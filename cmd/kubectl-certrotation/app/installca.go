// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/apis/certrotation/v1alpha1"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/record"
)

const verbInstall = "install"

type installOptions struct {
	reason, dryRun string
	output         output
}

func (p *plugin) newInstallCA() *cobra.Command {
	o := &installOptions{}
	cmd := &cobra.Command{
		Use:   "install-ca SIGNER FILE",
		Short: "Hand over the CA that a signer has requested",
		Long: `Hand over the certificate that was made for the request of a signer (see csr). FILE is PEM, - for stdin: the CA and
its issuers up to the self-signed root, in any order; issuers that the signer has already may be left out.

The server checks that the CA is for the requested key, that all verifiers accept it by its root, and that it may sign every
leaf. Then the rotation takes its course: a new root is distributed before the CA signs, a root that is an anchor already
needs no distribution. The right is the verb create on certificaterotations/install.`,
		Example: `  kubectl certrotation install-ca -n mtls-demo service-signer service-signer.crt

  # With a new root
  cat service-signer.crt root-2.crt | kubectl certrotation install-ca -n mtls-demo service-signer -`,
		Args:              signerAndFile,
		ValidArgsFunction: p.completesSigners(),
		RunE:              func(cmd *cobra.Command, args []string) error { return p.installCA(cmd.Context(), o, args[0], args[1]) },
	}
	addReasonFlag(cmd.Flags(), &o.reason)
	addDryRunFlag(cmd.Flags(), &o.dryRun)
	o.output = addObjectOutputFlags(cmd)
	return cmd
}

func signerAndFile(cmd *cobra.Command, args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("%s takes the name of a signer and a file, got %d arguments; see %[1]s --help", cmd.CommandPath(), len(args))
	}
	return nil
}

func (p *plugin) installCA(ctx context.Context, o *installOptions, name, file string) error {
	if err := checkDryRun(o.dryRun); err != nil {
		return err
	}
	if err := o.output.validate(); err != nil {
		return err
	}
	certs, err := p.readCertificates(file)
	if err != nil {
		return err
	}
	t, err := p.connect(name)
	if err != nil {
		return err
	}
	opts := metav1.CreateOptions{}
	if o.dryRun == dryRunServer {
		opts.DryRun = []string{metav1.DryRunAll}
	}
	// Only certificates are sent: a file may hold a key, or text.
	request := &v1alpha1.AuthorityInstallation{Certificates: string(pki.EncodeCertificates(certs...)), Reason: o.reason}
	plan, err := t.rotations().Install(ctx, name, request, opts)
	if err != nil {
		return fail(verbInstall, t, err)
	}
	if o.output.requested() {
		return o.output.printReply(p.Streams.Out, t, "RotationPlan", plan)
	}
	p.printSummary(t, "CA handed over", plan, o.dryRun == dryRunServer)
	if o.dryRun != dryRunServer {
		_, err = fmt.Fprintf(p.Streams.Out, "Follow it: %s\n", t.command("wait"))
	}
	return err
}

// readCertificates reads a file, or stdin if it is "-".
func (p *plugin) readCertificates(file string) ([]*pki.Certificate, error) {
	in := p.Streams.In
	if file != "-" {
		opened, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer opened.Close()
		in = opened
	}
	data, err := io.ReadAll(io.LimitReader(in, record.MaxCertificates+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	if len(data) > record.MaxCertificates {
		return nil, fmt.Errorf("read %s: it has more than %d bytes", file, record.MaxCertificates)
	}
	certs, err := pki.ParseChain(data)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	return pki.Distinct(certs), nil
}
