// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// installedLoad are continuous requests to certrotation.
type installedLoad struct {
	stop    context.CancelFunc
	running sync.WaitGroup
	// repeats means that an edit whose review was interrupted is retried.
	repeats bool

	mu                 sync.Mutex
	requests, repeated int
	failures           []string
}

// useInstalled lists through the aggregation layer 100 times a second, and makes 20 edits that are reviewed. Half
// of them are refused.
func (s *system) useInstalled(t *testing.T, repeats bool) *installedLoad {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(stop)
	l := &installedLoad{stop: stop, repeats: repeats}
	configMaps := s.Client.CoreV1().ConfigMaps(namespace)
	dry := metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}
	for range 10 {
		l.running.Go(func() {
			l.repeat(ctx, "list", func(ctx context.Context) error {
				_, err := s.rot.CertrotationV1alpha1().CertificateRotations(namespace).List(ctx, metav1.ListOptions{})
				return err
			})
		})
	}
	l.running.Go(func() {
		l.repeat(ctx, "an edit that is allowed", func(ctx context.Context) error {
			patch := fmt.Sprintf(`{"metadata":{"annotations":{"example.com/at":%q}}}`, time.Now())
			_, err := configMaps.Patch(ctx, sampleBundle, types.MergePatchType, []byte(patch), dry)
			return err
		})
	})
	l.running.Go(func() {
		l.repeat(ctx, "an edit that is refused", func(ctx context.Context) error {
			_, err := configMaps.Patch(ctx, sampleBundle, types.MergePatchType, []byte(`{"data":{"ca-bundle.crt":""}}`), dry)
			if apierrors.IsForbidden(err) && strings.Contains(err.Error(), "NeverEmpty") {
				return nil
			}
			return fmt.Errorf("want a refusal by NeverEmpty, got %w", err)
		})
	})
	return l
}

func (l *installedLoad) repeat(ctx context.Context, what string, do func(context.Context) error) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		err := do(ctx)
		cut := l.repeats && reviewWasCut(err)
		if cut {
			err = do(ctx)
		}
		if ctx.Err() != nil {
			return
		}
		l.mu.Lock()
		l.requests++
		if cut {
			l.repeated++
		}
		if err != nil {
			l.failures = append(l.failures, what+": "+err.Error())
		}
		l.mu.Unlock()
	}
}

// reviewWasCut reports whether kube-apiserver could not call the webhook. It calls itself through its aggregation
// layer. A terminating kube-apiserver may have closed that connection while it still handles edits.
func reviewWasCut(err error) bool {
	return apierrors.IsInternalError(err) && strings.Contains(err.Error(), "failed to call webhook")
}

// end fails the test if a request has failed.
func (l *installedLoad) end(t *testing.T) {
	t.Helper()
	until(t, "there were 100 requests", func(context.Context) error {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.requests < 100 {
			return fmt.Errorf("there were %d", l.requests)
		}
		return nil
	})
	l.stop()
	l.running.Wait()
	t.Logf("%d requests, repeated: %d, failed: %d", l.requests, l.repeated, len(l.failures))
	for _, failure := range l.failures[:min(len(l.failures), 3)] {
		t.Error(failure)
	}
}
