// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"certrotation.dev/controller/reload"
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
	kubeconfig         string
	leaf, bundle       string
	leafDir, bundleDir string
	trustStore         string
	statsAddr, totals  string
	member             reload.Member
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
	flags.StringVar(&o.member.Namespace, "namespace", "mtls-demo", "namespace of the Secrets and the bundle")
	flags.StringVar(&o.bundle, "bundle", "service-ca-bundle", "ConfigMap of trust anchors; those under ca.crt of the leaf's Secret are trusted if it is empty")
	flags.StringVar(&o.leaf, "leaf", "", "Secret with the program's own leaf")
	flags.StringVar(&o.leafDir, "leaf-dir", "", "where the leaf is mounted, in a pod; it is watched by the API if empty")
	flags.StringVar(&o.bundleDir, "bundle-dir", "", "where the bundle is mounted, in a pod")
	flags.StringVar(&o.trustStore, "trust-store", "", "mounted PKCS#12 file with the anchors, in place of --bundle-dir; with it everything is read once, when the program starts")
	flags.StringVar(&o.statsAddr, "stats", "127.0.0.1:0", "address of the counters")
	flags.StringVar(&o.totals, "totals", os.Getenv(envTotals), "URL of the command totals, to which the counters are sent, if any")
	flags.StringVar(&o.member.Signer, "signer", "service-signer", "signer whose rotation is acknowledged")
	flags.StringVar(&o.member.Party, "party", "", "relying party that the program is of, which acknowledges nothing if it is empty")
	flags.StringVar(&o.member.Name, "member", os.Getenv(reload.EnvName), "member of the party that the program is; the name of the party if empty")
	flags.StringVar(&o.member.Instance, "instance", os.Getenv(reload.EnvUID), "name of this process, such as the UID of its pod; the name of the host if empty")
	root.AddCommand(newServerCommand(o), newClientCommand(o), newWebhookCommand(o), newCallerCommand(o), newWriterCommand(o), newTotalsCommand())
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
			return o.run(cmd.Context(), newStats(peers), func(ctx context.Context, p *program) error { return p.serve(ctx, listen) })
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:8443", "address to listen on")
	cmd.Flags().StringSliceVar(&peers, "peer-stats", nil, "stats URLs of the clients, to add to the totals")
	return cmd
}

func newClientCommand(o *options) *cobra.Command {
	var servers []string
	var service, serverName, request string
	var pause time.Duration
	cmd := &cobra.Command{
		Use:   "client",
		Short: "Open mutual TLS connections, one after the other",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.run(cmd.Context(), newStats(nil), func(ctx context.Context, p *program) error {
				addresses := func() []string { return servers }
				if service != "" {
					endpoints, err := o.follow(ctx, service)
					if err != nil {
						return err
					}
					addresses = endpoints.addresses
				}
				return p.dial(ctx, addresses, serverName, request, pause)
			})
		},
	}
	cmd.Flags().StringSliceVar(&servers, "server", []string{"127.0.0.1:8443"}, "addresses of the servers, which take turns")
	cmd.Flags().StringVar(&service, "service", "", "Service whose ready pods are the servers, each at its own address, instead of --server")
	cmd.Flags().StringVar(&request, "request", "?", "what is sent over each connection, until something comes back")
	cmd.Flags().StringVar(&serverName, "server-name", "localhost", "name to verify the server's leaf with")
	cmd.Flags().DurationVar(&pause, "pause", 50*time.Millisecond, "pause between two connections")
	return cmd
}

// run does the work of a program that has material of its own, and counts.
func (o *options) run(ctx context.Context, stats *stats, do func(context.Context, *program) error) error {
	return o.reporting(ctx, stats, func(ctx context.Context) error {
		program, err := o.start(ctx, stats)
		if err != nil {
			return err
		}
		return do(ctx, program)
	})
}

// reporting sends the counters while something is done.
func (o *options) reporting(ctx context.Context, stats *stats, do func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	var reporting sync.WaitGroup
	defer reporting.Wait()
	defer cancel()
	if o.totals != "" {
		reporting.Go(func() { stats.report(ctx, o.totals) })
	}
	return do(ctx)
}

// config is how the API server is reached: by what is mounted in a pod, unless there is a kubeconfig.
func (o *options) config() (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("load kubeconfig %q: %w", o.kubeconfig, err)
	}
	return config, nil
}

func (o *options) client() (kubernetes.Interface, error) {
	config, err := o.config()
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	return client, nil
}

// start loads the first material, serves the counters, keeps reloading in the background and acknowledges what is loaded.
func (o *options) start(ctx context.Context, stats *stats) (*program, error) {
	loader, err := o.load(ctx)
	if err != nil {
		return nil, err
	}
	if err := serveStats(ctx, o.statsAddr, stats, loader); err != nil {
		return nil, err
	}
	select {
	case <-loader.loaded:
	case <-ctx.Done():
		return nil, fmt.Errorf("load Secret %s and ConfigMap %s: %w", o.leaf, o.bundle, ctx.Err())
	}
	p := &program{stats: stats, source: loader.source}
	if o.member.Party == "" {
		return p, nil
	}
	return p, o.acknowledge(ctx, p)
}

// load follows what is mounted, or the objects, unless the program is one that reads once.
func (o *options) load(ctx context.Context) (*loader, error) {
	switch {
	case o.trustStore != "":
		return readOnce(o.leafDir, o.trustStore)
	case o.leafDir != "":
		return mounted(ctx, o.leafDir, o.bundleDir)
	}
	client, err := o.client()
	if err != nil {
		return nil, err
	}
	return watch(ctx, client, o.member.Namespace, o.leaf, o.bundle)
}

// acknowledge reports in the background what is loaded.
func (o *options) acknowledge(ctx context.Context, p *program) error {
	if o.member.Instance == "" {
		var err error
		if o.member.Instance, err = os.Hostname(); err != nil {
			return fmt.Errorf("name this process, or give --instance: %w", err)
		}
	}
	config, err := o.config()
	if err != nil {
		return err
	}
	api, err := reload.Connect(config, o.member.Namespace)
	if err != nil {
		return err
	}
	go p.source.Acknowledge(ctx, api, o.member)
	return nil
}

// program is what server and client share: what it counts and what it has loaded.
type program struct {
	stats  *stats
	source *reload.Source
}
