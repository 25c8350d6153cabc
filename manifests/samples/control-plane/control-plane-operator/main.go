// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	configclient "certrotation.dev/generated/clientset/versioned/typed/config/v1alpha1"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := newCommand().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func newCommand() *cobra.Command {
	var kubeconfig, maintenance string
	var namespaces []string
	var pause time.Duration
	cmd := &cobra.Command{
		Use:           "control-plane-operator",
		Short:         "Run hosted control planes whose secrets rotate",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			daily, err := parseWindow(maintenance)
			if err != nil {
				return fmt.Errorf("flag --maintenance-window: %w", err)
			}
			config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
			if err != nil {
				return fmt.Errorf("load kubeconfig %q: %w", kubeconfig, err)
			}
			config.QPS = -1
			client, err := kubernetes.NewForConfig(config)
			if err != nil {
				return fmt.Errorf("make client: %w", err)
			}
			objects, err := dynamic.NewForConfig(config)
			if err != nil {
				return fmt.Errorf("make client: %w", err)
			}
			configurations, err := configclient.NewForConfig(config)
			if err != nil {
				return fmt.Errorf("make client: %w", err)
			}
			run(cmd.Context(), &operator{client: client, objects: objects, configurations: configurations, maintenance: daily}, namespaces, pause)
			return nil
		},
	}
	cmd.AddCommand(newServeNode())
	cmd.Flags().StringVar(&kubeconfig, "kubeconfig", "", "kubeconfig file; in-cluster configuration if empty")
	cmd.Flags().StringSliceVar(&namespaces, "namespaces", nil, "namespaces with a control plane each")
	cmd.Flags().StringVar(&maintenance, "maintenance-window", "", "when to execute what kubectl certrotation operate --maintenance asks for, "+
		"each day, as HH:MM-HH:MM (UTC); never if empty")
	cmd.Flags().DurationVar(&pause, "pause", time.Second, "pause between two reconciliations of a control plane")
	return cmd
}

// run reconciles the control planes, one after the other, until ctx ends.
func run(ctx context.Context, o *operator, namespaces []string, pause time.Duration) {
	log := klog.FromContext(ctx)
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	for {
		for _, namespace := range namespaces {
			if err := o.reconcile(ctx, namespace); err != nil && ctx.Err() == nil {
				log.Error(err, "Could not reconcile a control plane, which is tried again", "namespace", namespace)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}
