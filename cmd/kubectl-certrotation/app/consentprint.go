// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/registry/pki"
)

// describe says what the certificates of an object are.
func (c *consenting) describe(pem []byte, anchors bool) {
	if len(pem) == 0 {
		return
	}
	certs, err := pki.ParseChain(pem)
	if err != nil {
		c.Holds = "cannot be read"
		return
	}
	end := certs[0].NotAfter
	c.Holds = certs[0].Subject
	if anchors {
		c.Holds = plural(len(certs), "anchor")
		for _, cert := range certs {
			if cert.NotAfter.Before(end) {
				end = cert.NotAfter
			}
		}
	}
	c.NotAfter = &metav1.Time{Time: end}
}

// table prints objects for people.
func table(w io.Writer, objects []*consenting) error {
	out := tabwriter.NewWriter(w, 0, 8, 3, ' ', 0)
	fmt.Fprintln(out, "KIND\tNAME\tROLE\tHOLDS\tENDS\tLAST WRITER")
	for _, o := range objects {
		end := "-"
		if o.NotAfter != nil {
			end = o.NotAfter.UTC().Format(time.RFC3339)
		}
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\t%s\n", o.Kind, oneLine(o.Name), oneLine(cmp.Or(o.Role, "-")), oneLine(cmp.Or(o.Holds, "-")), end,
			oneLine(cmp.Or(o.LastWriter, "-")))
	}
	return out.Flush()
}

// confirm asks a person. Whoever answers nothing has not agreed.
func (p *plugin) confirm(question string) error {
	fmt.Fprintf(p.Streams.ErrOut, "%s [y/N] ", question)
	answer, err := bufio.NewReader(p.Streams.In).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read the answer: %w", err)
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return errors.New("nothing was changed: not confirmed (--yes does not ask)")
}

// dryRun is the value of --dry-run, as kubectl has it.
type dryRun string

func (d dryRun) validate() error {
	switch d {
	case "none", "client", "server":
		return nil
	}
	return fmt.Errorf("unknown value %q of --dry-run: use none, client or server", string(d))
}

func (d dryRun) options() []string {
	if d == "server" {
		return []string{metav1.DryRunAll}
	}
	return nil
}

func (d dryRun) suffix() string {
	switch d {
	case "client":
		return " (dry run)"
	case "server":
		return " (server dry run)"
	}
	return ""
}
