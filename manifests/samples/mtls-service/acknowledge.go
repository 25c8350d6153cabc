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

// reportEvery is how often a program reports although nothing has changed: what is reported counts for a lease, an hour
// unless the configuration says otherwise, and ends with it.
const reportEvery = 5 * time.Minute

// acknowledger reports what the program has loaded: at its start, after each swap and every now and then.
type acknowledger struct {
	client                   versioned.Interface
	namespace, signer, party string
	// instance tells the replicas of a party apart. A program that starts anew under the same name takes the place of its
	// former process.
	instance  string
	startedAt time.Time
}

// run reports until the context ends. A report that fails is tried again with what is loaded by then.
func (a *acknowledger) run(ctx context.Context, l *loader) {
	renewal := time.NewTicker(reportEvery)
	defer renewal.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.changed:
		case <-renewal.C:
		}
		backoff := wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 100, Cap: 5 * time.Second}
		// The only error is that of the context: everything else is tried again.
		_ = wait.ExponentialBackoffWithContext(ctx, backoff, func(ctx context.Context) (bool, error) {
			return a.report(ctx, l.current.Load()), nil
		})
	}
}

// report says what is loaded now.
func (a *acknowledger) report(ctx context.Context, m *material) bool {
	if m == nil {
		return true // Nothing is loaded yet; what is will be reported as a change.
	}
	_, err := a.client.CertrotationV1alpha1().CertificateRotations(a.namespace).Acknowledge(ctx, a.signer, &v1alpha1.Acknowledgement{
		Party: a.party, Trusts: m.trusts, Presents: m.presents,
		Instance: a.instance, StartedAt: metav1.NewMicroTime(a.startedAt), ObservedAt: metav1.NowMicro(),
	}, metav1.CreateOptions{})
	if err != nil {
		log.Printf("acknowledge to %s/%s: %v", a.namespace, a.signer, err)
		return false
	}
	log.Printf("acknowledged %d anchors", len(m.trusts))
	return true
}
