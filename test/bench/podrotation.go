// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"certrotation.dev/apis/certrotation/v1alpha1"
	"certrotation.dev/test/cluster"
	"certrotation.dev/test/cluster/installation"
)

// rotationTimeout bounds one step of a rotation in which all pods take part.
const rotationTimeout = 30 * time.Minute

// phases is the table of a rotation of a workload, one row for each step.
type phases struct {
	b     *bench
	table *table
}

// phaseProcesses are the processes whose CPU time each step shows.
var phaseProcesses = []string{installation.Controller, installation.Serve, cluster.APIServer, cluster.Etcd, client}

func (b *bench) newPhases() *phases {
	t := &table{
		Title: fmt.Sprintf("A rotation of the signer with %d pods that acknowledge", b.opts.pods),
		Notes: []string{fmt.Sprintf(
			"Each pod reports with the token that is bound to it, %d at a time, through kube-apiserver. The stages are those that the API shows. CPU seconds are of the whole step.", writers)},
		Columns: []string{"step", "seconds", "report p50 ms", "report p99 ms"},
	}
	for _, process := range phaseProcesses {
		t.Columns = append(t.Columns, "CPU-s: "+process)
	}
	return &phases{b: b, table: t}
}

// measure adds the row of a step: its duration, and the latency of its reports.
func (p *phases) measure(ctx context.Context, name string, step func(ctx context.Context) (*reported, error)) error {
	ctx, cancel := context.WithTimeout(ctx, rotationTimeout)
	defer cancel()
	before, err := p.b.cpu()
	if err != nil {
		return err
	}
	begun := time.Now()
	r, err := step(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	took := time.Since(begun)
	after, err := p.b.cpu()
	if err != nil {
		return err
	}
	row := []string{name, number(took.Seconds()), "", ""}
	m := &measurement{Section: "pods", Name: name, Size: p.b.opts.pods, Rounds: []round{{CPU: spent(before, after), Milliseconds: []float64{milliseconds(took)}}}}
	if r != nil {
		row[2], row[3] = number(median(r.milliseconds)), number(quantile(r.milliseconds, 0.99))
		p.b.report.Samples["ms of a report: "+name] = r.milliseconds
		if r.again > 0 {
			p.table.Notes = append(p.table.Notes, fmt.Sprintf("%s: %d were refused and sent again.", name, r.again))
		}
	}
	for _, process := range phaseProcesses {
		row = append(row, number(m.Rounds[0].CPU[process]))
	}
	p.b.report.Measurements = append(p.b.report.Measurements, m)
	p.table.Rows = append(p.table.Rows, row)
	p.b.say("%s: %s s", name, row[1])
	return nil
}

// populate makes the pods. They report what they have loaded before the rotation begins.
func (w *workload) populate(ctx context.Context, p *phases) error {
	n := w.b.opts.pods
	if err := p.measure(ctx, fmt.Sprintf("%d pods are made and started, with a token each", n), func(ctx context.Context) (*reported, error) {
		return nil, w.scale(ctx, n)
	}); err != nil {
		return err
	}
	return p.measure(ctx, "all report for the first time, at rest", func(ctx context.Context) (*reported, error) {
		return w.reportPublished(ctx, w.pods)
	})
}

// rotate rotates the signer. Every pod reports twice: that it trusts the next CA, and that it presents a leaf that
// this CA signed.
func (w *workload) rotate(ctx context.Context, p *phases) error {
	followed, stop := context.WithCancel(ctx)
	defer stop()
	shown := followStages(followed, w.b.rotations.CertrotationV1alpha1().BundleStatuses(w.d.namespace))
	begun, err := shown.await(ctx, time.Time{}, v1alpha1.StageStable)
	if err != nil {
		return err
	}
	// The last step waits for a Stable that is later than this one.
	begun = begun.Add(time.Nanosecond)
	return p.measure(ctx, "the rotation as a whole", func(ctx context.Context) (*reported, error) {
		for _, step := range []struct {
			name string
			do   func(ctx context.Context) (*reported, error)
		}{
			{"asked for, until the next CA is published", w.publishNext},
			{"all but one report that they trust it", w.reportMost},
			{"the last one reports that, until the next stage (Reissuing or Draining)", w.reportLast(shown, begun, v1alpha1.StageReissuing, v1alpha1.StageDraining)},
			{"until the new CA is the active one (Draining)", shown.reaches(begun, v1alpha1.StageDraining)},
			{"all but one report that they present the new leaf", w.reportMost},
			{"the last one reports that, until the next stage (Retiring or Stable)", w.reportLast(shown, begun, v1alpha1.StageRetiring, v1alpha1.StageStable)},
			{"until it is Stable", shown.reaches(begun, v1alpha1.StageStable)},
		} {
			if err := p.measure(ctx, step.name, step.do); err != nil {
				return nil, err
			}
		}
		return nil, nil
	})
}

// reaches returns a step that waits for one of the stages.
func (s *stages) reaches(since time.Time, wanted ...v1alpha1.Stage) func(ctx context.Context) (*reported, error) {
	return func(ctx context.Context) (*reported, error) {
		_, err := s.await(ctx, since, wanted...)
		return nil, err
	}
}

func (w *workload) publishNext(ctx context.Context) (*reported, error) {
	before, err := w.published(ctx)
	if err != nil {
		return nil, err
	}
	request := &v1alpha1.RotationRequest{Reason: "a benchmark"}
	if _, err := w.b.rotations.CertrotationV1alpha1().CertificateRotations(w.d.namespace).Rotate(ctx, signerName, request, metav1.CreateOptions{}); err != nil {
		return nil, fmt.Errorf("ask for a rotation: %w", err)
	}
	return nil, wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		now, err := w.published(ctx)
		return len(now.trusts) > len(before.trusts), err
	})
}

// reportPublished reports for the pods that they have loaded what is published.
func (w *workload) reportPublished(ctx context.Context, pods []replica) (*reported, error) {
	what, err := w.published(ctx)
	if err != nil {
		return nil, err
	}
	return w.reportAll(ctx, pods, what)
}

func (w *workload) reportMost(ctx context.Context) (*reported, error) {
	return w.reportPublished(ctx, w.pods[:len(w.pods)-1])
}

// reportLast reports for the last pod, and waits for the next stage.
func (w *workload) reportLast(shown *stages, since time.Time, wanted ...v1alpha1.Stage) func(ctx context.Context) (*reported, error) {
	return func(ctx context.Context) (*reported, error) {
		r, err := w.reportPublished(ctx, w.pods[len(w.pods)-1:])
		if err != nil {
			return nil, err
		}
		_, err = shown.await(ctx, since, wanted...)
		return r, err
	}
}
