// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"certrotation.dev/registry/nodepod"
)

type report struct {
	// Worst severity of all findings, empty if there are none.
	Worst    nodepod.Severity  `json:"worst"`
	Findings []nodepod.Finding `json:"findings"`
}

func printJSON(out io.Writer, findings []nodepod.Finding) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(report{Worst: nodepod.Worst(findings), Findings: append([]nodepod.Finding{}, findings...)})
}

func printTable(out io.Writer, findings []nodepod.Finding) error {
	if len(findings) == 0 {
		_, err := fmt.Fprintln(out, "Nothing is wrong on this disk.")
		return err
	}
	table := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(table, "SEVERITY\tFINDING\tOBJECT\tWHAT\tNEXT STEP")
	for _, f := range findings {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", f.Severity, f.Reason, printable(f.Object), printable(f.Message), printable(f.NextStep))
	}
	return table.Flush()
}

// printable masks control characters of certificates and file names: they could steer a terminal or break the table.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || (r >= 0x80 && r < 0xa0) {
			return '?'
		}
		return r
	}, text)
}
