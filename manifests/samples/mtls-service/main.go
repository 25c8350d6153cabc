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

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"certrotation.dev/generated/clientset/versioned"
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

// options that the server and the clients share.
type options struct {
	kubeconfig, namespace   string
	leaf, bundle, statsAddr string
}

func newCommand() *cobra.Command {
	o := &options{}
	root := &cobra.Command{
		Use:           "mtls-service",
		Short:         "A mutual TLS server and its clients that hot-reload their certificates",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	flags := root.PersistentFlags()
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig file; in-cluster configuration if empty")
	flags.StringVar(&o.namespace, "namespace", "mtls-demo", "namespace of the Secrets and the bundle")
	flags.StringVar(&o.bundle, "bundle", "service-ca-bundle", "ConfigMap of trust anchors")
	flags.StringVar(&o.leaf, "leaf", "", "Secret with the program's own leaf")
	flags.StringVar(&o.statsAddr, "stats", "127.0.0.1:0", "address of the counters")
	root.AddCommand(newServerCommand(o), newClientCommand(o))
	return root
}

func newServerCommand(o *options) *cobra.Command {
	var listen string
	var peers []string
	cmd := &cobra.Command{
		Use:   "server",
		Short: "Accept mutual TLS connections",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			program, err := o.start(cmd.Context(), newStats(peers), nil)
			if err != nil {
				return err
			}
			return program.serve(cmd.Context(), listen)
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:8443", "address to listen on")
	cmd.Flags().StringSliceVar(&peers, "peer-stats", nil, "stats URLs of the clients, to add to the totals")
	return cmd
}

func newClientCommand(o *options) *cobra.Command {
	var servers []string
	var serverName, signer, party, instance, request string
	var pause time.Duration
	cmd := &cobra.Command{
		Use:   "client",
		Short: "Open mutual TLS connections, one after the other",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if instance == "" {
				host, err := os.Hostname()
				if err != nil {
					return fmt.Errorf("name this process, or give --instance: %w", err)
				}
				instance = host
			}
			report := &acknowledger{namespace: o.namespace, signer: signer, party: party, instance: instance, startedAt: time.Now()}
			program, err := o.start(cmd.Context(), newStats(nil), report)
			if err != nil {
				return err
			}
			return program.dial(cmd.Context(), servers, serverName, request, pause)
		},
	}
	cmd.Flags().StringSliceVar(&servers, "server", []string{"127.0.0.1:8443"}, "addresses of the servers, which take turns")
	cmd.Flags().StringVar(&request, "request", "?", "what is sent over each connection, until something comes back")
	cmd.Flags().StringVar(&serverName, "server-name", "localhost", "name to verify the server's leaf with")
	cmd.Flags().StringVar(&signer, "signer", "service-signer", "signer whose rotation is acknowledged")
	cmd.Flags().StringVar(&party, "party", "", "name of this relying party")
	cmd.Flags().StringVar(&instance, "instance", "", "name of this replica, such as that of its pod; defaults to the name of the host, which in a pod is the same")
	cmd.Flags().DurationVar(&pause, "pause", 50*time.Millisecond, "pause between two connections")
	return cmd
}

// start loads the first material, serves the counters and keeps reloading in the background.
func (o *options) start(ctx context.Context, stats *stats, report *acknowledger) (*program, error) {
	config, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("load kubeconfig %q: %w", o.kubeconfig, err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	loader := newLoader(client, o.namespace, o.leaf, o.bundle)
	if report != nil {
		if report.client, err = versioned.NewForConfig(config); err != nil {
			return nil, fmt.Errorf("make client: %w", err)
		}
		go report.run(ctx, loader)
	}
	if err := serveStats(ctx, o.statsAddr, stats, loader); err != nil {
		return nil, err
	}
	if err := loader.run(ctx); err != nil {
		return nil, err
	}
	return &program{stats: stats, loader: loader}, nil
}

// program is what server and client share: what it counts and what it has loaded.
type program struct {
	stats  *stats
	loader *loader
}
