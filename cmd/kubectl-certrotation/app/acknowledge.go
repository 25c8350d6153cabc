// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/apis/certrotation/v1alpha1"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
)

const verbAcknowledge = "acknowledge"

type acknowledgeOptions struct {
	party, member    string
	trusts, presents []string
	bundle           string
	leaves           []string
	instance         string
	startedAt        string
	observedAt       string
	output           output
}

func (p *plugin) newAcknowledge() *cobra.Command {
	o := &acknowledgeOptions{}
	cmd := &cobra.Command{
		Use:   "acknowledge SIGNER",
		Short: "Report what a process of a relying party has loaded",
		Long: `Report which trust anchors a process of a relying party has loaded, and which leaf it presents. This is the evidence of
parties of the kind "acknowledgement": a program, a sidecar, or a person for an external party.

A member counts as far as all of its processes do, so each replica reports for itself, under an --instance of its own. A
report of the same instance with a later start takes the place of the former one. Reports end: the answer says when, and
a process that lives reports again before that while a rotation is in flight.

A member that is a pod reports for itself alone: from inside the pod, with the token of its service account that kubelet
mounts there, and with its UID as --instance. From anywhere else the server refuses.

Report only what the running process has loaded. A file that was written is no evidence: the rotation relies on
what is reported here, and a member that does not trust the new CA after all is cut off.

Anchors and leaves are named by fingerprint (SHA-256 of the DER, with or without colons), or by PEM files from which
the fingerprints are computed; "-" reads the standard input.`,
		Example: `  # A partner confirms by phone which CAs its client trusts
  kubectl certrotation acknowledge -n mtls-demo service-signer --party partner --trusts 5f1c...,a02b...

  # A sidecar reports the files that its process has just loaded
  kubectl certrotation acknowledge -n mtls-demo service-signer --party clients --member "$POD_NAME" \
    --instance "$POD_UID" --started-at 2026-03-01T12:00:00Z --bundle /tls/ca-bundle.crt --leaf /tls/tls.crt`,
		Args:              named,
		ValidArgsFunction: p.completesSigners(),
		RunE:              func(cmd *cobra.Command, args []string) error { return p.acknowledge(cmd.Context(), o, args[0]) },
	}
	flags := cmd.Flags()
	p.addMemberFlags(cmd, &o.party, &o.member)
	flags.StringSliceVar(&o.trusts, "trusts", nil, `Fingerprints of all anchors that the member has loaded; "" for none.`)
	flags.StringSliceVar(&o.presents, "presents", nil, "Fingerprints of the leaves that the member presents.")
	flags.StringVar(&o.bundle, "bundle", "", "A PEM file with all anchors that the member has loaded.")
	flags.StringSliceVar(&o.leaves, "leaf", nil, "A PEM file whose first certificate is the leaf that the member presents. May be repeated.")
	flags.StringVar(&o.instance, "instance", "", "Which process of the member this is; of a member that is a pod, its UID. Defaults to the name of the member.")
	flags.StringVar(&o.startedAt, "started-at", "", "When the process started, in RFC 3339. Defaults to now: the report takes the place of former ones of the instance.")
	flags.StringVar(&o.observedAt, "observed-at", "", "When it was looked at what the process has loaded, in RFC 3339. Defaults to now; a report of long ago is refused.")
	o.output = addObjectOutputFlags(cmd)
	// The flag exists: it was added above.
	_ = cmd.MarkFlagRequired("party")
	cmd.MarkFlagsOneRequired("trusts", "bundle")
	cmd.MarkFlagsMutuallyExclusive("trusts", "bundle")
	cmd.MarkFlagsMutuallyExclusive("presents", "leaf")
	return cmd
}

func (p *plugin) acknowledge(ctx context.Context, o *acknowledgeOptions, name string) error {
	if err := o.output.validate(); err != nil {
		return err
	}
	report, err := o.report(p.Streams.In, p.Clock.Now())
	if err != nil {
		return err
	}
	t, err := p.connect(name)
	if err != nil {
		return err
	}
	taken, err := t.rotations().Acknowledge(ctx, name, report, metav1.CreateOptions{})
	if err != nil {
		return fail(verbAcknowledge, t, err)
	}
	if o.output.requested() {
		return o.output.printReply(p.Streams.Out, t, "Acknowledgement", taken)
	}
	until := ""
	if taken.Expires != nil {
		until = ", which counts until " + taken.Expires.UTC().Format(time.RFC3339)
	}
	_, err = fmt.Fprintf(p.Streams.Out, "certificaterotation.%s/%s acknowledged: %s trusts %s and presents %d%s\n",
		v1alpha1.GroupName, name, oneLine(trust.MemberName(taken.Party, taken.Member)),
		plural(len(taken.Trusts), "anchor"), len(taken.Presents), until)
	return err
}

// report makes the body of the request. Lists are never null: an empty list reports that nothing is loaded.
func (o *acknowledgeOptions) report(stdin io.Reader, now time.Time) (*v1alpha1.Acknowledgement, error) {
	out := &v1alpha1.Acknowledgement{
		Party: o.party, Member: o.member, Trusts: fingerprints(o.trusts), Presents: fingerprints(o.presents),
		Instance: cmp.Or(o.instance, o.member, o.party),
	}
	var err error
	if out.StartedAt, err = timeFlag("started-at", o.startedAt, now); err != nil {
		return nil, err
	}
	if out.ObservedAt, err = timeFlag("observed-at", o.observedAt, now); err != nil {
		return nil, err
	}
	if o.bundle != "" {
		anchors, err := readPEM(stdin, o.bundle, pki.ParseBundle)
		if err != nil {
			return nil, err
		}
		for _, anchor := range anchors {
			out.Trusts = append(out.Trusts, string(anchor.Fingerprint))
		}
	}
	for _, file := range o.leaves {
		chain, err := readPEM(stdin, file, pki.ParseChain)
		if err != nil {
			return nil, err
		}
		out.Presents = append(out.Presents, string(chain[0].Fingerprint))
	}
	return out, nil
}

// timeFlag parses a time, which defaults to now.
func timeFlag(flag, text string, now time.Time) (metav1.MicroTime, error) {
	if text == "" {
		return metav1.NewMicroTime(now), nil
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return metav1.MicroTime{}, fmt.Errorf("--%s is %q: it is no time in RFC 3339, such as %s", flag, text, now.UTC().Format(time.RFC3339))
	}
	return metav1.NewMicroTime(t), nil
}

// readPEM parses a file; "-" is the standard input. On success there is at least one certificate.
func readPEM(stdin io.Reader, file string, parse func([]byte) ([]*pki.Certificate, error)) ([]*pki.Certificate, error) {
	data, err := readInput(stdin, file)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	certs, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("parse %s: %w", file, err)
	}
	return certs, nil
}

func readInput(stdin io.Reader, file string) ([]byte, error) {
	if file != "-" {
		return os.ReadFile(file)
	}
	// One byte more than the parsers accept, so that they detect an input that is too large.
	return io.ReadAll(io.LimitReader(stdin, pki.MaxPEMBytes+1))
}

// fingerprints converts openssl's notation into the API's.
func fingerprints(in []string) []string {
	out := make([]string, 0, len(in))
	for _, f := range in {
		out = append(out, strings.ToLower(strings.ReplaceAll(strings.TrimSpace(f), ":", "")))
	}
	return out
}
