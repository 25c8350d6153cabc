// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"sigs.k8s.io/yaml"
)

// output is the value of -o: "" is for people.
type output string

func (o *output) addFlag(cmd *cobra.Command) {
	cmd.Flags().StringVarP((*string)(o), "output", "o", "", `Output format: "json" or "yaml". The default is for people.`)
}

func (o output) validate() error {
	switch o {
	case "", "json", "yaml":
		return nil
	}
	return fmt.Errorf("unknown output format %q: use json or yaml", string(o))
}

func (o output) print(w io.Writer, value any) error {
	data, err := json.MarshalIndent(value, "", "    ")
	if err != nil {
		return fmt.Errorf("encode %T: %w", value, err)
	}
	data = append(data, '\n')
	if o == "yaml" {
		if data, err = yaml.JSONToYAML(data); err != nil {
			return fmt.Errorf("encode %T: %w", value, err)
		}
	}
	_, err = w.Write(data)
	return err
}
