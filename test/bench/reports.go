// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"certrotation.dev/apis/certrotation/v1alpha1"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/view/inventory"
)

// loaded is what a pod has loaded: the published anchors and its leaf.
type loaded struct{ trusts, presents []string }

func (w *workload) published(ctx context.Context) (loaded, error) {
	bundle, err := w.b.kube.CoreV1().ConfigMaps(w.d.namespace).Get(ctx, bundleName, metav1.GetOptions{})
	if err != nil {
		return loaded{}, fmt.Errorf("read the bundle: %w", err)
	}
	leaf, err := w.b.kube.CoreV1().Secrets(w.d.namespace).Get(ctx, workloadName, metav1.GetOptions{})
	if err != nil {
		return loaded{}, fmt.Errorf("read the leaf: %w", err)
	}
	anchors, errAnchors := pki.ParseBundle([]byte(bundle.Data[inventory.BundleKey]))
	chain, errChain := pki.ParseChain(leaf.Data[corev1.TLSCertKey])
	if err := errors.Join(errAnchors, errChain); err != nil {
		return loaded{}, fmt.Errorf("read what is published in %s: %w", w.d.namespace, err)
	}
	out := loaded{presents: []string{string(chain[0].Fingerprint)}}
	for _, anchor := range anchors {
		out.trusts = append(out.trusts, string(anchor.Fingerprint))
	}
	return out, nil
}

// reported has the duration of each report of a step.
type reported struct {
	milliseconds []float64
	// again is how many reports were refused and sent again.
	again int
}

// reportAll sends one report for each pod, concurrently up to writers.
func (w *workload) reportAll(ctx context.Context, pods []replica, what loaded) (*reported, error) {
	var mu sync.Mutex
	out := &reported{}
	group, parallel := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	begun := time.Now()
	for i := range pods {
		group.Go(func() error {
			sent := time.Now()
			refused, err := w.report(parallel, &pods[i], what)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			out.milliseconds = append(out.milliseconds, milliseconds(time.Since(sent)))
			out.again += refused
			if len(out.milliseconds)%1000 == 0 {
				w.b.say("%d pods have reported in %.0f s", len(out.milliseconds), time.Since(begun).Seconds())
			}
			return nil
		})
	}
	return out, group.Wait()
}

// reportTimeout bounds the reports of one pod until serve accepts one.
const reportTimeout = time.Minute

// report reports as the pod. It retries if serve does not know the pod yet, or if another client wrote meanwhile.
func (w *workload) report(ctx context.Context, pod *replica, what loaded) (refused int, err error) {
	ctx, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()
	var last error
	err = wait.PollUntilContextCancel(ctx, time.Second, true, func(ctx context.Context) (bool, error) {
		last = w.reports.Post().Namespace(w.d.namespace).Resource("certificaterotations").Name(signerName).SubResource("acknowledge").
			SetHeader("Authorization", "Bearer "+pod.token).
			Body(&v1alpha1.Acknowledgement{
				Party: workloadName, Member: pod.name, Instance: pod.uid, Trusts: what.trusts, Presents: what.presents,
				StartedAt: metav1.NewMicroTime(pod.startedAt.Time), ObservedAt: metav1.NowMicro(),
			}).Do(ctx).Error()
		if apierrors.IsConflict(last) || apierrors.IsTooManyRequests(last) {
			refused++
			return false, nil
		}
		return true, last
	})
	if err != nil {
		return refused, fmt.Errorf("pod %s reports: %w", pod.name, cmp.Or(last, err))
	}
	return refused, nil
}
