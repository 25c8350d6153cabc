// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"certrotation.dev/apis/certrotation/v1alpha1"
)

// output is -o of kubectl. Without it a command prints text for people.
type output struct{ *genericclioptions.PrintFlags }

// addOutputFlags is for output that has no name.
func addOutputFlags(cmd *cobra.Command) output {
	flags := genericclioptions.NewPrintFlags("")
	flags.NamePrintFlags = nil
	return addPrintFlags(cmd, flags)
}

// addObjectOutputFlags is for output about objects, whose names -o name prints.
func addObjectOutputFlags(cmd *cobra.Command) output {
	return addPrintFlags(cmd, genericclioptions.NewPrintFlags(""))
}

func addPrintFlags(cmd *cobra.Command, flags *genericclioptions.PrintFlags) output {
	flags.AddFlags(cmd)
	cmd.Flags().Lookup("show-managed-fields").Hidden = true // What is printed has none.
	return output{flags}
}

func (o output) requested() bool {
	return *o.OutputFormat != "" || *o.TemplatePrinterFlags.TemplateArgument != ""
}

func (o output) validate() error {
	if !o.requested() {
		return nil
	}
	_, err := o.ToPrinter()
	return err
}

// print takes any value, and the objects that it is about for -o name.
func (o output) print(w io.Writer, value any, about ...runtime.Object) error {
	printer, err := o.ToPrinter()
	if err != nil {
		return err
	}
	if *o.OutputFormat == "name" {
		for _, object := range about {
			if err := printer.PrintObj(object, w); err != nil {
				return err
			}
		}
		return nil
	}
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode %T: %w", value, err)
	}
	// Unknown brings the value to the printers, which take API objects only.
	return printer.PrintObj(&runtime.Unknown{Raw: data}, w)
}

// printReply prints what the server replied to a request about a CertificateRotation.
func (o output) printReply(w io.Writer, t *target, kind string, reply runtime.Object) error {
	reply.GetObjectKind().SetGroupVersionKind(v1alpha1.SchemeGroupVersion.WithKind(kind))
	return o.print(w, reply, identified(v1alpha1.SchemeGroupVersion.WithKind("CertificateRotation"), t.name))
}

func identified(kind schema.GroupVersionKind, name string) runtime.Object {
	out := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name}}
	out.SetGroupVersionKind(kind)
	return out
}
