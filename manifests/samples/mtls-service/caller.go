// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

func newCallerCommand(o *options) *cobra.Command {
	var pause time.Duration
	cmd := &cobra.Command{
		Use:   "caller",
		Short: "Have the webhook called: create parcels, in dry runs",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			stats := newStats(nil)
			return o.reporting(cmd.Context(), stats, func(ctx context.Context) error { return o.call(ctx, stats, pause) })
		},
	}
	cmd.Flags().DurationVar(&pause, "pause", 100*time.Millisecond, "pause between two calls")
	return cmd
}

// call creates a parcel to admit and one to refuse, in turn, until the context ends. Each is one
// handshake of kube-apiserver with the webhook.
func (o *options) call(ctx context.Context, stats *stats, pause time.Duration) error {
	config, err := o.config()
	if err != nil {
		return err
	}
	config.QPS = -1
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	if err := serveStats(ctx, o.statsAddr, stats, nil); err != nil {
		return err
	}
	parcels := client.Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "parcels"}).Namespace(o.member.Namespace)
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	for weight := int64(1); ; weight = heaviest + 2 - weight {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		_, err := parcels.Create(ctx, newParcel(weight), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		switch err := judged(weight, err); {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			stats.succeeded()
		default:
			stats.failed(err)
		}
	}
}

func newParcel(weight int64) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Parcel",
		"metadata": map[string]any{"generateName": "parcel-"},
		"spec":     map[string]any{"weight": weight},
	}}
}

// judged is nil if the webhook has answered as it has to.
func judged(weight int64, err error) error {
	switch {
	case weight <= heaviest:
		return err
	case err == nil:
		return errors.New("a parcel that is too heavy was admitted: the webhook was not asked")
	case strings.Contains(err.Error(), tooHeavy):
		return nil
	}
	return err
}
