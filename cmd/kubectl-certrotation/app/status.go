// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"certrotation.dev/apis/certrotation/v1alpha1"
)

type statusOptions struct {
	allNamespaces bool
	output        output
}

func (p *plugin) newStatus() *cobra.Command {
	o := &statusOptions{}
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show one line per trust domain: stage, health, what is due next, and what it waits for",
		Long: `Show the trust domains of a namespace, or of all with -A, one line each, the worst first.

NEXT is what expires or is renewed first. The rights get and list on certificaterotations and bundlestatuses are enough.`,
		Example: `  # All trust domains
  kubectl certrotation status -A`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.status(cmd.Context(), o) },
	}
	addAllNamespacesFlag(cmd.Flags(), &o.allNamespaces)
	o.output = addOutputFlags(cmd)
	return cmd
}

func (p *plugin) status(ctx context.Context, o *statusOptions) error {
	if err := o.output.validate(); err != nil {
		return err
	}
	t, tree, err := p.readTree(ctx, o.allNamespaces, "")
	if err != nil {
		return &exitError{exitUnasked, err}
	}
	now := metav1.NewTime(p.Clock.Now())
	states := statesOf(tree, now)
	if o.output.requested() {
		return o.output.print(p.Streams.Out, states)
	}
	if len(states.Domains) == 0 {
		fmt.Fprintln(p.Streams.ErrOut, nothingFound(t.namespace))
		return nil
	}
	_, err = fmt.Fprint(p.Streams.Out, p.screen(false).states(states, now))
	return err
}

func (s screen) states(states *States, now metav1.Time) string {
	table := []row{header("TRUST DOMAIN", "STAGE", "SINCE", "READY", "NEXT", "WAITS FOR, OR PROBLEM")}
	ranks := make([]int, 5)
	for i := range states.Domains {
		d := &states.Domains[i]
		ranks[d.rank()]++
		table = append(table, d.row(now))
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%s: %d not ready, %d overdue, %d waiting, %d rotating, %d at rest\n\n",
		plural(len(states.Domains), "trust domain"), ranks[0], ranks[1], ranks[2], ranks[3], ranks[4])
	widths := columns(table)
	for _, r := range table {
		s.line(&out, r.cells, widths)
	}
	return out.String()
}

func (d *DomainState) row(now metav1.Time) row {
	since := "-"
	if d.Since != nil {
		since = duration.HumanDuration(now.Sub(d.Since.Time))
	}
	waiting := cell{}
	switch {
	case len(d.Blockers) > 0:
		waiting = cell{strings.TrimPrefix(waits(d.Blockers), "waits for ") + age(&d.Blockers[0], now.Time), warn}
	case d.Problem != "":
		waiting = cell{oneLine(d.Problem), bad}
	}
	return row{cells: []cell{
		{oneLine(d.Namespace + "/" + d.Name), strong},
		{oneLine(string(d.Stage)), stageStyle(d)},
		{text: since},
		{fraction(d.Ready, d.Objects), badIf(d.Ready < d.Objects)},
		d.Next.cell(now),
		waiting,
	}}
}

func stageStyle(d *DomainState) style {
	switch {
	case d.Overdue:
		return bad
	case d.Stage != v1alpha1.StageStable:
		return warn
	}
	return good
}

func (n *NextEvent) cell(now metav1.Time) cell {
	if n == nil {
		return cell{text: "-"}
	}
	what := oneLine(strings.TrimSpace(n.Object + " " + n.Subject))
	if !n.Expires {
		return cell{text: what + " " + renewal(now.Time, &n.At)}
	}
	ends, over := expiry(now.Time, n.At)
	return cell{what + " " + ends, badIf(over)}
}
