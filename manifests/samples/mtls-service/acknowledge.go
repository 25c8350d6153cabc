// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"log"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"certrotation.dev/apis/certrotation/v1alpha1"
	"certrotation.dev/generated/clientset/versioned"
)

// reportEvery is how often the program reports what it has loaded if nothing changes, unless its reports expire sooner.
const reportEvery = 5 * time.Minute

// acknowledger reports what the program has loaded, after each swap and before the last report expires.
type acknowledger struct {
	client                   versioned.Interface
	namespace, signer, party string
	// instance identifies the process among the replicas: a restarted process with the same instance replaces the
	// former one.
	instance  string
	startedAt time.Time
}

// run reports until the context ends. A report that fails is retried with what is loaded by then.
func (a *acknowledger) run(ctx context.Context, l *loader) {
	again := time.NewTimer(reportEvery)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.changed:
		case <-again.C:
		}
		pause := reportEvery
		backoff := wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 100, Cap: 5 * time.Second}
		// The only error is that of the context: everything else is retried.
		_ = wait.ExponentialBackoffWithContext(ctx, backoff, func(ctx context.Context) (bool, error) {
			expires, ok := a.report(ctx, l)
			if !expires.IsZero() {
				pause = min(pause, time.Until(expires)/2)
			}
			return ok, nil
		})
		again.Reset(pause)
	}
}

// report returns until when the report counts, if that is known, and whether it was accepted.
func (a *acknowledger) report(ctx context.Context, l *loader) (time.Time, bool) {
	lookedAt, m := time.Now(), l.current.Load()
	if m == nil {
		return time.Time{}, true // The first swap wakes us.
	}
	accepted, err := a.client.CertrotationV1alpha1().CertificateRotations(a.namespace).Acknowledge(ctx, a.signer, &v1alpha1.Acknowledgement{
		Party: a.party, Trusts: m.trusts, Presents: m.presents, Instance: a.instance,
		StartedAt: metav1.NewMicroTime(a.startedAt), ObservedAt: metav1.NewMicroTime(lookedAt),
	}, metav1.CreateOptions{})
	if err != nil {
		log.Printf("acknowledge to %s/%s: %v", a.namespace, a.signer, err)
		return time.Time{}, false
	}
	log.Printf("acknowledged %d anchors", len(m.trusts))
	if accepted.Expires == nil {
		return time.Time{}, true
	}
	return accepted.Expires.Time, true
}
