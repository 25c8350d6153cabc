// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/apis/certrotation/v1alpha1"
)

// verbRotate is the subresource for plans and rotations.
const verbRotate = "rotate"

type planOptions struct {
	compromised bool
	output      output
}

func (p *plugin) newPlan() *cobra.Command {
	o := &planOptions{}
	cmd := &cobra.Command{
		Use:   "plan NAME",
		Short: "Show what a rotation would do, and change nothing",
		Long: `Show the steps that rotating a signer or a leaf would take from the present state, whose evidence each step waits for,
and what would hold the rotation up if it began now. Nothing is changed: the server is asked to rotate in a dry run,
so the right to create certificaterotations/rotate is needed.`,
		Example: `  # What would rotating the signer do?
  kubectl certrotation plan -n mtls-demo service-signer

  # The same, for a program
  kubectl certrotation plan -n mtls-demo service-signer -o yaml`,
		Args:              named,
		ValidArgsFunction: p.completesCertificates(),
		RunE:              func(cmd *cobra.Command, args []string) error { return p.plan(cmd.Context(), o, args[0]) },
	}
	cmd.Flags().BoolVar(&o.compromised, "compromised", false, "Plan for a key that must not be trusted any longer than needed.")
	o.output = addOutputFlags(cmd)
	return cmd
}

func (p *plugin) plan(ctx context.Context, o *planOptions, name string) error {
	if err := o.output.validate(); err != nil {
		return err
	}
	t, err := p.connect(name)
	if err != nil {
		return err
	}
	request := &v1alpha1.RotationRequest{Compromised: o.compromised}
	plan, err := t.rotations().Rotate(ctx, name, request, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		return fail(verbRotate, t, err)
	}
	if o.output.requested() {
		return o.output.printReply(p.Streams.Out, t, "RotationPlan", plan)
	}
	if err := writePlan(p.Streams.Out, p.screen(false), plan, p.Clock.Now()); err != nil || !o.compromised {
		return err
	}
	return writeBreaks(p.Streams.Out, plan)
}

// writeBreaks prints which leaves peers would refuse if the CA were distrusted at once. The planned path avoids this.
func writeBreaks(w io.Writer, plan *v1alpha1.RotationPlan) error {
	if len(plan.WouldBreak) == 0 {
		return nil
	}
	var text strings.Builder
	text.WriteString("\nIf the CA were distrusted at once instead, these leaves would be refused:\n")
	for _, broken := range plan.WouldBreak {
		fmt.Fprintf(&text, "  %s\n", oneLine(broken))
	}
	_, err := io.WriteString(w, text.String())
	return err
}

func writePlan(w io.Writer, s screen, plan *v1alpha1.RotationPlan, now time.Time) error {
	table := []row{header("STAGE", "ACTION", "OBJECT", "WAITS FOR", "WHAT")}
	for i := range plan.Steps {
		step := &plan.Steps[i]
		table = append(table, row{cells: []cell{
			{text: oneLine(string(step.Stage))},
			{text: oneLine(step.Action)},
			{text: oneLine(step.Object)},
			{text: members(step.WaitsFor)},
			{text: oneLine(step.Message)},
		}})
	}
	var out strings.Builder
	widths := columns(table)
	for _, r := range table {
		s.line(&out, r.cells, widths)
	}
	out.WriteByte('\n')
	if len(plan.Blockers) == 0 {
		out.WriteString("Nothing is known that would block it now.\n")
	} else {
		s.draw(&out, blockers(plan.Blockers, now))
	}
	fmt.Fprintf(&out, "plan %s\n", oneLine(plan.Hash))
	_, err := io.WriteString(w, out.String())
	return err
}

func header(titles ...string) row {
	r := row{}
	for _, title := range titles {
		r.cells = append(r.cells, cell{title, strong})
	}
	return r
}

// maxNamed bounds how many members are named in one cell.
const maxNamed = 4

// members joins names of members, "-" for none.
func members(names []string) string {
	if len(names) == 0 {
		return "-"
	}
	shown := make([]string, 0, maxNamed)
	for _, name := range names[:min(len(names), maxNamed)] {
		shown = append(shown, oneLine(name))
	}
	list := strings.Join(shown, ",")
	if more := len(names) - len(shown); more > 0 {
		return fmt.Sprintf("%s and %d more", list, more)
	}
	return list
}
