// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/apis/certrotation/v1alpha1"
)

// redrawInterval is how often a block on a terminal updates its seconds.
const redrawInterval = time.Second

// follow shows the progress of t until the goal is reached. before is the object at the start of the wait. timeout
// counts from begun, 0 means none. follow fails if the goal is lost or the timeout passes, and returns *interrupted
// if ctx ends.
func (p *plugin) follow(ctx context.Context, t *target, g goal, before *v1alpha1.CertificateRotation, begun time.Time, timeout time.Duration) error {
	watching, stop := context.WithCancel(ctx)
	feed, wait, err := newFeed(watching, t, selectorOf(before))
	if err != nil {
		stop()
		return err
	}
	defer func() { stop(); wait() }()

	f := &follower{plugin: p, goal: g, progress: newProgress(t, before, begun)}
	var redraws bool
	f.display, redraws = p.newDisplay()
	var expired, tick <-chan time.Time
	if timeout > 0 {
		timer := p.Clock.NewTimer(timeout - p.Clock.Since(begun))
		defer timer.Stop()
		expired = timer.C()
	}
	if redraws {
		ticker := p.Clock.NewTicker(redrawInterval)
		defer ticker.Stop()
		tick = ticker.C()
	}
	for {
		select {
		case <-ctx.Done():
			f.display.close()
			return f.interrupted()
		case <-expired:
			f.display.close()
			return f.timedOut(timeout)
		case <-tick:
			f.show(p.Clock.Now())
		case <-feed.ready:
			if done, err := f.follow(feed.take()); done || err != nil {
				return err
			}
		}
	}
}

// selectorOf selects the object. For a signer it also selects its leaves, because progress counts them.
func selectorOf(o *v1alpha1.CertificateRotation) string {
	if o.Spec.Role == v1alpha1.RoleSigner {
		return v1alpha1.FieldSigner + "=" + o.Name
	}
	return v1alpha1.FieldName + "=" + o.Name
}

type follower struct {
	*plugin

	goal     goal
	progress *progress
	display  progressDisplay
}

// follow applies changes in order, and ends the wait at the first one that decides it. Changes that arrive together
// are shown together, but it skips no change of the object itself.
func (f *follower) follow(changes []change) (done bool, err error) {
	p := f.progress
	for i := range changes {
		c := &changes[i]
		now := f.Clock.Now()
		if c.final {
			f.display.close()
			return false, fail(verbRead, p.target, c.trouble)
		}
		if !p.apply(*c, now) {
			continue
		}
		if f.goal.reached(p.main) {
			f.finish(now)
			return true, nil
		}
		if lost := f.goal.lost(p.main, p.started); lost != "" {
			f.display.show(p, now)
			f.display.close()
			return false, fmt.Errorf("%s: %s\nSee where it stands: %s", p.target, lost, p.target.command("tree"))
		}
		f.show(now)
	}
	f.show(f.Clock.Now())
	return false, nil
}

func (f *follower) show(now time.Time) {
	if f.progress.synced || f.progress.trouble != "" {
		f.display.show(f.progress, now)
	}
}

func (f *follower) finish(now time.Time) {
	p := f.progress
	f.display.show(p, now)
	f.display.close()
	text := fmt.Sprintf("%s %s after %s", p.target, f.goal.done, elapsed(now.Sub(p.begun)))
	if stages := p.durations(now); stages != "" {
		text += ": " + stages
	}
	fmt.Fprintln(f.Streams.Out, text)
}

func (f *follower) interrupted() error {
	t := f.progress.target
	return &interrupted{fmt.Sprintf("Stopped waiting. The %s of %s continues without this command.\nWait again: %s",
		f.goal.work, t, t.command("wait"))}
}

func (f *follower) timedOut(timeout time.Duration) error {
	p := f.progress
	t := p.target
	var out strings.Builder
	fmt.Fprintf(&out, "timed out after %s: %s is in the stage %s", elapsed(timeout), t, p.stage())
	blockers := p.blockers()
	if len(blockers) > 0 {
		out.WriteString(" and waits for")
	}
	for i := range blockers {
		fmt.Fprintf(&out, "\n  %s", blockerText(&blockers[i]))
	}
	switch {
	case p.trouble != "":
		fmt.Fprintf(&out, "\nThe connection is lost: %s", p.trouble)
	case p.main == nil:
		fmt.Fprintf(&out, "\nIt does not exist any more. Is it still in the RotationConfiguration?")
	case len(blockers) == 0:
		fmt.Fprintf(&out, "\nNothing is known to block it. Is the controller running, and what do its events say: kubectl get events -n %s", t.namespace)
	default:
		out.WriteString("\nIt continues by itself when these are gone.")
	}
	fmt.Fprintf(&out, "\nSee where it stands: %s\nWait again: %s", t.command("tree"), t.command("wait"))
	if p.main != nil && p.main.Spec.Role == v1alpha1.RoleSigner && p.main.Status.Stage == v1alpha1.StageDistributing {
		fmt.Fprintf(&out, "\nUndo it (only before the new CA has signed): %s", t.command("abort"))
	}
	return errors.New(out.String())
}

type waitOptions struct {
	until   string
	timeout time.Duration
}

func (p *plugin) newWait() *cobra.Command {
	o := &waitOptions{}
	cmd := &cobra.Command{
		Use:   "wait NAME",
		Short: "Wait for a stage or a condition, and show the progress",
		Long: `Wait until a certificate reaches a stage of its trust domain's rotation or has a condition, and show the progress until
then. It asks for nothing: the rights get, list and watch on certificaterotations are enough.

stage=Stable is reached when no rotation is in flight and none that was asked for is yet to begin.`,
		Example: `  # Follow a rotation that another person has started
  kubectl certrotation wait -n mtls-demo service-signer

  # Wait until a leaf is usable
  kubectl certrotation wait -n mtls-demo service-server --for condition=Ready --timeout 1m`,
		Args:              named,
		ValidArgsFunction: p.completesCertificates(),
		RunE:              func(cmd *cobra.Command, args []string) error { return p.wait(cmd.Context(), o, args[0]) },
	}
	cmd.Flags().StringVar(&o.until, "for", "stage=Stable", "What to wait for: stage=STAGE, condition=TYPE or condition=TYPE=STATUS.")
	addTimeoutFlag(cmd, &o.timeout)
	return cmd
}

func (p *plugin) wait(ctx context.Context, o *waitOptions, name string) error {
	goal, err := parseGoal(o.until)
	if err != nil {
		return err
	}
	if err := checkTimeout(o.timeout); err != nil {
		return err
	}
	t, err := p.connect(name)
	if err != nil {
		return err
	}
	now, err := t.rotations().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return fail(verbRead, t, err)
	}
	return p.follow(ctx, t, goal, now, p.Clock.Now(), o.timeout)
}
