// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/apis/certrotation/v1alpha1"
	"certrotation.dev/cmd/kubectl-certrotation/picture"
)

type treeOptions struct {
	allNamespaces bool
	ascii         bool
	output        output
}

func (p *plugin) newTree() *cobra.Command {
	o := &treeOptions{}
	cmd := &cobra.Command{
		Use:   "tree [NAME]",
		Short: "Show trust domains: signer, bundle, leaves, relying parties, and what blocks a rotation",
		Long: `Show each trust domain as a tree: the slots of its signer, the trust anchors of its bundle, the leaves and who signed
them, and the members of its relying parties with the evidence of what they have loaded.

With the name of a signer's or a leaf's Secret only its trust domain is shown. The rights get and list on
certificaterotations and bundlestatuses are enough.`,
		Example: `  # The trust domains of a namespace
  kubectl certrotation tree -n mtls-demo

  # The trust domain of one certificate
  kubectl certrotation tree -n mtls-demo service-server

  # A picture: who trusts whom, and what expires when
  kubectl certrotation tree -n mtls-demo -o svg > trust.svg

  # Everything, for a program
  kubectl certrotation tree -A -o json`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: p.completesCertificates(),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.tree(cmd.Context(), o, strings.Join(args, ""))
		},
	}
	addAllNamespacesFlag(cmd.Flags(), &o.allNamespaces)
	cmd.Flags().BoolVar(&o.ascii, "ascii", false, "Draw with ASCII characters only.")
	o.output = addOutputFlags(cmd)
	format := cmd.Flags().Lookup("output")
	format.Usage = strings.Replace(format.Usage, "One of: (", "One of: (dot, mermaid, svg, ", 1)
	return cmd
}

// drawings are the output formats that are pictures.
var drawings = map[string]func(io.Writer, []picture.Graph) error{
	"dot": picture.WriteDOT, "mermaid": picture.WriteMermaid, "svg": picture.WriteSVG,
}

func (p *plugin) tree(ctx context.Context, o *treeOptions, name string) error {
	draw := drawings[*o.output.OutputFormat]
	if draw == nil {
		if err := o.output.validate(); err != nil {
			return err
		}
	}
	t, tree, err := p.readTree(ctx, o.allNamespaces, name)
	switch {
	case err != nil:
		return err
	case draw != nil:
		return draw(p.Streams.Out, graphs(tree, p.Clock.Now()))
	case o.output.requested():
		return o.output.print(p.Streams.Out, tree)
	case len(tree.Domains) == 0:
		fmt.Fprintln(p.Streams.ErrOut, nothingFound(t.namespace))
		return nil
	}
	_, err = fmt.Fprint(p.Streams.Out, p.screen(o.ascii).tree(tree, p.Clock.Now()))
	return err
}

// readTree reads the trust domains of a namespace, of all, or of one certificate.
func (p *plugin) readTree(ctx context.Context, allNamespaces bool, name string) (*target, *Tree, error) {
	if allNamespaces && name != "" {
		return nil, nil, fmt.Errorf("a name and --all-namespaces cannot be combined: %q lives in one namespace", name)
	}
	t, err := p.connect(name)
	if err != nil {
		return nil, nil, err
	}
	if allNamespaces {
		t.namespace = metav1.NamespaceAll
	}
	rotations, bundles, err := t.read(ctx)
	if err != nil {
		return nil, nil, fail(verbRead, t, err)
	}
	return t, newTree(rotations, bundles), nil
}

func nothingFound(namespace string) string {
	if namespace == metav1.NamespaceAll {
		return "No trust domains found."
	}
	return fmt.Sprintf("No trust domains found in namespace %s. All namespaces: kubectl certrotation tree -A", namespace)
}

// read gets the objects of the tree: the whole namespace, or only the trust domain of the named certificate.
func (t *target) read(ctx context.Context) ([]v1alpha1.CertificateRotation, []v1alpha1.BundleStatus, error) {
	var opts metav1.ListOptions
	if t.name != "" {
		named, err := t.rotations().Get(ctx, t.name, metav1.GetOptions{})
		if err != nil {
			return nil, nil, err
		}
		opts.FieldSelector = v1alpha1.FieldSigner + "=" + named.Spec.Signer
	}
	rotations, err := t.rotations().List(ctx, opts)
	if err != nil {
		return nil, nil, err
	}
	bundles, err := t.bundles().List(ctx, opts)
	if err != nil {
		return nil, nil, err
	}
	return rotations.Items, bundles.Items, nil
}
