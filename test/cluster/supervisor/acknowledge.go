// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"

	"certrotation.dev/apis/certrotation/v1alpha1"
	"certrotation.dev/generated/clientset/versioned"
)

const reportTimeout = 10 * time.Second

// Report is what an API server has loaded, as told to one relying party's trust domain.
type Report struct {
	Target    string    `json:"target"`
	Member    string    `json:"member"`
	Trusts    []string  `json:"trusts"`
	Presents  []string  `json:"presents"`
	StartedAt time.Time `json:"startedAt"`
	// ObservedAt is when the supervisor observed it.
	ObservedAt time.Time `json:"observedAt"`
	// AcceptedAt is when the API accepted it.
	AcceptedAt time.Time `json:"acceptedAt"`
}

func (r Report) same(other Report) bool {
	return slices.Equal(r.Trusts, other.Trusts) && slices.Equal(r.Presents, other.Presents) && r.StartedAt.Equal(other.StartedAt)
}

// reporter acknowledges what the API servers have loaded.
type reporter struct {
	client  versioned.Interface
	cfg     *Config
	servers []*apiServer
	proven  func(name string) bool // Whether the running process was ready once.
	leaf    func() *leaf
	wake    chan struct{}

	mu       sync.Mutex
	accepted map[reportKey]Report
	problem  string
}

type reportKey struct {
	target Target
	member string
}

// run reports until the context ends. It retries what the API did not accept, with what is loaded by then.
func (r *reporter) run(ctx context.Context) {
	pause := newReportPause()
	for {
		next := r.cfg.ReportEvery
		if r.reportAll(ctx) {
			pause = newReportPause()
		} else {
			next = pause.Step()
		}
		select {
		case <-r.wake:
		case <-time.After(next):
		case <-ctx.Done():
			return
		}
	}
}

func newReportPause() *wait.Backoff {
	return &wait.Backoff{Duration: 250 * time.Millisecond, Factor: 2, Jitter: 0.1, Steps: 1000, Cap: 5 * time.Second}
}

// reportAll reports what is new and what was accepted long ago. It reports whether everything is accepted.
func (r *reporter) reportAll(ctx context.Context) bool {
	var failed error
	for _, target := range r.cfg.Acknowledge {
		for _, server := range r.servers {
			report, proven := r.observe(server)
			if !proven {
				continue // Its next check wakes run.
			}
			report.Target = target.String()
			key := reportKey{target: target, member: server.Name}
			r.mu.Lock()
			before, known := r.accepted[key]
			r.mu.Unlock()
			if known && before.same(report) && time.Since(before.AcceptedAt) < r.cfg.ReportEvery {
				continue
			}
			if err := r.report(ctx, target, &report); err != nil {
				failed = err
				continue
			}
			r.mu.Lock()
			r.accepted[key] = report
			r.mu.Unlock()
		}
	}
	if ctx.Err() == nil {
		r.note(ctx, failed)
	}
	return failed == nil
}

// observe returns what a server has loaded, and whether that is proven. The proof is a process that was ready after
// it started with these files. The state is read before and after the proof, because the process may be replaced in
// between.
func (r *reporter) observe(server *apiServer) (Report, bool) {
	observedAt := time.Now()
	before := server.state()
	proven := r.proven(server.Name)
	leaf := r.leaf()
	if after := server.state(); !proven || before.trust == nil || after.starts != before.starts {
		return Report{}, false
	}
	return Report{
		Member: server.Name, Trusts: before.trust.anchors, Presents: []string{leaf.fingerprint},
		StartedAt: before.startedAt, ObservedAt: observedAt,
	}, true
}

func (r *reporter) report(ctx context.Context, target Target, report *Report) error {
	ctx, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()
	_, err := r.client.CertrotationV1alpha1().CertificateRotations(target.Signer.Namespace).Acknowledge(ctx, target.Signer.Name, &v1alpha1.Acknowledgement{
		Party: target.Party, Member: report.Member, Trusts: report.Trusts, Presents: report.Presents,
		// The processes of a server run one after the other under its name. Each replaces its predecessor.
		Instance: report.Member, StartedAt: metav1.NewMicroTime(report.StartedAt), ObservedAt: metav1.NewMicroTime(report.ObservedAt),
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	report.AcceptedAt = time.Now()
	return nil
}

// note logs a new problem, not each attempt.
func (r *reporter) note(ctx context.Context, failure error) {
	text := ""
	if failure != nil {
		text = failure.Error()
	}
	r.mu.Lock()
	before := r.problem
	r.problem = text
	r.mu.Unlock()
	switch {
	case text != "" && text != before:
		klog.FromContext(ctx).Error(failure, "Not acknowledged yet")
	case text == "" && before != "":
		klog.FromContext(ctx).Info("Acknowledged")
	}
}

func (r *reporter) poke() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// reports returns the accepted reports in a stable order.
func (r *reporter) reports() (out []Report, problem string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, target := range r.cfg.Acknowledge {
		for _, server := range r.servers {
			if report, ok := r.accepted[reportKey{target: target, member: server.Name}]; ok {
				out = append(out, report)
			}
		}
	}
	return out, r.problem
}
