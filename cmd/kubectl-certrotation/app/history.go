// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
)

type historyOptions struct{ output output }

func (p *plugin) newHistory() *cobra.Command {
	o := &historyOptions{}
	cmd := &cobra.Command{
		Use:   "history NAME",
		Short: "Show what happened to a certificate and its trust domain, the oldest first",
		Long: `Show the steps of the rotations of a signer's or a leaf's trust domain, the oldest first: stages, requests, waivers,
blockers, and when each CA began to be valid. With the name of a leaf, other leaves are left out.

The steps come from events, from RotationRecords and from the certificates. An API server keeps events for an hour unless
its --event-ttl says otherwise, and a request's record is deleted when it is answered: keep events elsewhere if you need
older ones. The rights to list events and rotationrecords are needed.`,
		Example: `  # Who began this rotation, and what has it waited for?
  kubectl certrotation history -n mtls-demo service-signer`,
		Args: named,
		RunE: func(cmd *cobra.Command, args []string) error { return p.history(cmd.Context(), o, args[0]) },
	}
	o.output = addOutputFlags(cmd)
	return cmd
}

func (p *plugin) history(ctx context.Context, o *historyOptions, name string) error {
	if err := o.output.validate(); err != nil {
		return err
	}
	t, err := p.connectCore(name)
	if err != nil {
		return &exitError{exitUnasked, err}
	}
	rotations, bundles, err := t.read(ctx)
	if err != nil {
		return unlessMissing(fail(verbRead, t, err))
	}
	h := newHistory(t, newTree(rotations, bundles))
	if err := t.readSteps(ctx, h); err != nil {
		return &exitError{exitUnasked, err}
	}
	h.sort()
	if o.output.requested() {
		return o.output.print(p.Streams.Out, h)
	}
	_, err = fmt.Fprint(p.Streams.Out, p.screen(false).history(h, p.Clock.Now()))
	return err
}

// readSteps adds the steps of events and records. It fails if neither may be read.
func (t *target) readSteps(ctx context.Context, h *History) error {
	events, noEvents := t.core.CoreV1().Events(t.namespace).List(ctx, metav1.ListOptions{})
	if noEvents == nil {
		h.addEvents(events.Items)
	} else {
		h.note("Events could not be read: " + statusText(noEvents))
	}
	records, noRecords := t.client.ConfigV1alpha1().RotationRecords(t.namespace).List(ctx, metav1.ListOptions{})
	if noRecords == nil {
		h.addRecords(records.Items)
	} else {
		h.note("RotationRecords could not be read: " + statusText(noRecords))
	}
	if noEvents != nil && noRecords != nil {
		return fmt.Errorf("read the history of %s: %s; %s\n"+
			"Ask for the verb list on events and on rotationrecords.%s, as in the ClusterRole certrotation-record-reader",
			t, statusText(noEvents), statusText(noRecords), configv1alpha1.GroupName)
	}
	return nil
}

func (s screen) history(h *History, now time.Time) string {
	table := []row{header("TIME", "OBJECT", "REASON", "MESSAGE")}
	for i := range h.Steps {
		table = append(table, h.Steps[i].row(now))
	}
	var out strings.Builder
	widths := columns(table)
	for _, r := range table {
		s.line(&out, r.cells, widths)
	}
	fmt.Fprintf(&out, "\nNow %s/%s is %s", h.Namespace, oneLine(h.TrustDomain), oneLine(string(h.Stage)))
	if h.StageSince != nil {
		fmt.Fprintf(&out, " for %s", duration.HumanDuration(now.Sub(h.StageSince.Time)))
	}
	if len(h.Blockers) > 0 {
		out.WriteString(", and " + waits(h.Blockers) + age(&h.Blockers[0], now))
	}
	out.WriteString(".\n")
	for _, note := range h.Notes {
		out.WriteString(note + "\n")
	}
	return out.String()
}

func (s *Step) row(now time.Time) row {
	message, look := oneLine(s.Message), plain
	if s.Count > 1 {
		message += fmt.Sprintf(" (%d times, last %s)", s.Count, s.Last.In(now.Location()).Format(time.RFC3339))
	}
	if s.Type == corev1.EventTypeWarning {
		look = warn
	}
	return row{cells: []cell{
		{text: s.Time.In(now.Location()).Format(time.RFC3339)},
		{oneLine(s.Object), strong},
		{oneLine(s.Reason), look},
		{text: message},
	}}
}
