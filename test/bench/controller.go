// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"certrotation.dev/test/cluster/installation"
)

// leading waits until the controller holds the lease, so that a measurement does not include the wait for it.
func (b *bench) leading(ctx context.Context) error {
	leases := b.kube.CoordinationV1().Leases(installation.Namespace)
	renewed := ""
	err := wait.PollUntilContextCancel(ctx, 200*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		lease, err := leases.Get(ctx, "certrotation-controller", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" {
			return false, nil
		}
		// A stale lease has a holder too. Only a running holder renews it.
		last := renewed
		renewed = lease.Spec.RenewTime.String()
		return last != "" && last != renewed, nil
	})
	if err != nil {
		return fmt.Errorf("wait for the controller to lead (see %s): %w", b.in.Controller.LogFile(), err)
	}
	return nil
}

// controllerRequests is how many requests the controller has made since its start.
func (b *bench) controllerRequests(ctx context.Context) (float64, error) {
	url := b.controllerURL + "/metrics"
	metrics, err := installation.Scrape(ctx, b.cluster.AdminConfig(), url)
	if err != nil {
		return 0, err
	}
	sum, lines := 0.0, bufio.NewScanner(strings.NewReader(metrics))
	for lines.Scan() {
		if value, ok := sample(lines.Text(), "rest_client_requests_total"); ok {
			sum += value
		}
	}
	if err := lines.Err(); err != nil {
		return 0, fmt.Errorf("read %s: %w", url, err)
	}
	return sum, nil
}

// sample parses a line of the Prometheus text format. It returns false for other metrics.
func sample(line, metric string) (float64, bool) {
	rest, ok := strings.CutPrefix(line, metric+"{")
	if !ok {
		return 0, false
	}
	_, value, ok := strings.Cut(rest, "} ")
	if !ok {
		return 0, false
	}
	number, err := strconv.ParseFloat(value, 64)
	return number, err == nil
}
