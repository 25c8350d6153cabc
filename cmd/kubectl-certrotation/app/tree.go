// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/apis/certrotation/v1alpha1"
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

  # Everything, for a program
  kubectl certrotation tree -A -o json`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: p.completesCertificates(),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.tree(cmd.Context(), o, strings.Join(args, ""))
		},
	}
	cmd.Flags().BoolVarP(&o.allNamespaces, "all-namespaces", "A", false, "Show the trust domains of all namespaces.")
	cmd.Flags().BoolVar(&o.ascii, "ascii", false, "Draw with ASCII characters only.")
	o.output = addOutputFlags(cmd)
	return cmd
}

func (p *plugin) tree(ctx context.Context, o *treeOptions, name string) error {
	if err := o.output.validate(); err != nil {
		return err
	}
	if o.allNamespaces && name != "" {
		return fmt.Errorf("a name and --all-namespaces cannot be combined: %q lives in one namespace", name)
	}
	t, err := p.connect(name)
	if err != nil {
		return err
	}
	if o.allNamespaces {
		t.namespace = metav1.NamespaceAll
	}
	rotations, bundles, err := t.read(ctx)
	if err != nil {
		return fail(verbRead, t, err)
	}
	tree := newTree(rotations, bundles)
	if o.output.requested() {
		return o.output.print(p.Streams.Out, tree)
	}
	if len(tree.Domains) == 0 {
		fmt.Fprintln(p.Streams.ErrOut, nothingFound(t.namespace))
		return nil
	}
	_, err = fmt.Fprint(p.Streams.Out, p.screen(o.ascii).tree(tree, p.Clock.Now()))
	return err
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
