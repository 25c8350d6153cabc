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

// acknowledger reports after each swap what the program has loaded.
type acknowledger struct {
	client                   versioned.Interface
	namespace, signer, party string
	startedAt                time.Time
}

// run reports until the context ends. A report that fails is tried again with what is loaded by then.
func (a *acknowledger) run(ctx context.Context, l *loader) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.changed:
		}
		backoff := wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 100, Cap: 5 * time.Second}
		// The only error is that of the context: everything else is tried again.
		_ = wait.ExponentialBackoffWithContext(ctx, backoff, func(ctx context.Context) (bool, error) {
			return a.report(ctx, l.current.Load()), nil
		})
	}
}

func (a *acknowledger) report(ctx context.Context, m *material) bool {
	startedAt := metav1.NewTime(a.startedAt)
	_, err := a.client.CertrotationV1alpha1().CertificateRotations(a.namespace).Acknowledge(ctx, a.signer, &v1alpha1.Acknowledgement{
		Party: a.party, Trusts: m.trusts, Presents: m.presents, StartedAt: &startedAt,
	}, metav1.CreateOptions{})
	if err != nil {
		log.Printf("acknowledge to %s/%s: %v", a.namespace, a.signer, err)
		return false
	}
	log.Printf("acknowledged %d anchors", len(m.trusts))
	return true
}
