// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
)

// output is -o of kubectl. Without it a command prints text for people.
type output struct{ *genericclioptions.PrintFlags }

func addOutputFlags(cmd *cobra.Command) output {
	flags := genericclioptions.NewPrintFlags("")
	flags.NamePrintFlags = nil // What is printed has no name.
	flags.AddFlags(cmd)
	cmd.Flags().Lookup("show-managed-fields").Hidden = true // Nor has it managed fields.
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

// print takes any value. runtime.Unknown brings it to the printers, which take API objects only.
func (o output) print(w io.Writer, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode %T: %w", value, err)
	}
	printer, err := o.ToPrinter()
	if err != nil {
		return err
	}
	return printer.PrintObj(&runtime.Unknown{Raw: data}, w)
}
