// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package reload

import (
	"context"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"

	"certrotation.dev/apis/certrotation/v1alpha1"
	"certrotation.dev/registry/pki"
)

const (
	// patience bounds one look with its request.
	patience = 30 * time.Second
	// firstRetry and lastRetry bound the pause after a failure.
	firstRetry = 200 * time.Millisecond
	lastRetry  = 30 * time.Second
	// unknownLease is the lease of a report if the API server does not return one.
	unknownLease = 10 * time.Minute
	// confirmAfter is the delay before repeating a report made soon after the process started. A report older than
	// the container's start by the kubelet's clock counts for the former container, and the kubelet learns of a start
	// late.
	confirmAfter = 5 * time.Second
	// spread jitters pauses, so that replicas that start together do not report together.
	spread = 0.2
)

// Loaded is what a look at a process shows.
type Loaded struct {
	// Trusts are the anchors that the process has loaded, Presents the leaves that it presents.
	Trusts, Presents []pki.Fingerprint
	// StartedAt is when the process started, or when it was first observed.
	StartedAt time.Time
}

func (l Loaded) equal(other Loaded) bool {
	return slices.Equal(l.Trusts, other.Trusts) && slices.Equal(l.Presents, other.Presents) && l.StartedAt.Equal(other.StartedAt)
}

// Look returns what a process has loaded.
type Look func(ctx context.Context) (Loaded, error)

// Reporter reports for one process.
type Reporter struct {
	server Server
	member Member
	look   Look
	wake   chan struct{}

	mu      sync.Mutex
	state   State
	last    Loaded
	renewAt time.Time
}

// State is the state of a Reporter.
type State struct {
	// Expires is the end of the last accepted report, zero before the first.
	Expires time.Time
	// Problem is why the last look or report failed, nil if it succeeded.
	Problem *Problem
}

// NewReporter makes a Reporter.
func NewReporter(server Server, member Member, look Look) *Reporter {
	return &Reporter{server: server, member: member, look: look, wake: make(chan struct{}, 1)}
}

// Wake makes the Reporter look at once. It reports if the look shows something new.
func (r *Reporter) Wake() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// State returns the current state.
func (r *Reporter) State() State {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state
}

// Run looks and reports until the context ends.
func (r *Reporter) Run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for failures := 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-r.wake:
		case <-timer.C:
		}
		problem := r.once(ctx)
		if ctx.Err() != nil {
			return
		}
		pause := r.settle(ctx, problem)
		if problem == nil {
			failures = 0
		} else {
			pause = min(firstRetry<<min(failures, 10), lastRetry)
			failures++
		}
		timer.Reset(wait.Jitter(pause, spread))
	}
}

// settle stores the result of a look, logs what is new, and returns the pause before the next look.
func (r *Reporter) settle(ctx context.Context, problem *Problem) time.Duration {
	r.mu.Lock()
	former := r.state.Problem
	r.state.Problem = problem
	pause := max(0, time.Until(r.renewAt))
	r.mu.Unlock()
	logger := klog.FromContext(ctx)
	switch {
	case problem != nil && (former == nil || former.Error() != problem.Error()):
		logger.Error(problem.Err, "Not acknowledged", "signer", r.member.Signer, "party", r.member.Party, "reason", problem.Reason, "next", problem.Next)
	case problem == nil && former != nil:
		logger.Info("Acknowledged again", "signer", r.member.Signer, "party", r.member.Party)
	}
	return pause
}

// once looks, and reports the result if it is new or half of the lease is over.
func (r *Reporter) once(ctx context.Context) *Problem {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	observedAt := time.Now()
	loaded, err := r.look(ctx)
	if err != nil {
		return problemOfLook(err)
	}
	r.mu.Lock()
	known := r.last.equal(loaded) && observedAt.Before(r.renewAt)
	r.mu.Unlock()
	if known {
		return nil
	}
	accepted, err := r.server.Acknowledge(ctx, r.member.Signer, r.report(loaded, observedAt), metav1.CreateOptions{})
	if err != nil {
		return r.problemOfReport(err)
	}
	expires := observedAt.Add(unknownLease)
	if accepted.Expires != nil {
		expires = accepted.Expires.Time
	}
	// The lease is by the API server's clock. If nothing of it is left, pause as after a failure.
	pause := max(expires.Sub(observedAt)/2, lastRetry)
	if observedAt.Sub(loaded.StartedAt) < confirmAfter {
		pause = confirmAfter
	}
	r.mu.Lock()
	r.last, r.state.Expires, r.renewAt = loaded, expires, observedAt.Add(pause)
	r.mu.Unlock()
	klog.FromContext(ctx).V(2).Info("Acknowledged", "signer", r.member.Signer, "party", r.member.Party, "trusts", len(loaded.Trusts), "presents", loaded.Presents)
	return nil
}

func (r *Reporter) report(loaded Loaded, observedAt time.Time) *v1alpha1.Acknowledgement {
	return &v1alpha1.Acknowledgement{
		Party: r.member.Party, Member: r.member.Name, Instance: r.member.Instance,
		Trusts: texts(loaded.Trusts), Presents: texts(loaded.Presents),
		StartedAt: metav1.NewMicroTime(loaded.StartedAt), ObservedAt: metav1.NewMicroTime(observedAt),
	}
}

// texts is never nil: trusting nothing is also a report.
func texts(fingerprints []pki.Fingerprint) []string {
	out := make([]string, 0, len(fingerprints))
	for _, fingerprint := range fingerprints {
		out = append(out, string(fingerprint))
	}
	return out
}
