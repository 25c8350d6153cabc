// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Command apiserver-supervisor runs the kube-apiservers of this machine and a load balancer in front of them. It
// follows the rotation of their etcd's certificates; see package supervisor.
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"

	"certrotation.dev/test/cluster/heldport"
	"certrotation.dev/test/cluster/supervisor"
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

type options struct {
	config                    supervisor.Config
	serverFlags               []string
	kubeconfig, control       string
	bundle, leaf              string
	listen, servers, acknowls []string
	sharePorts                bool
}

func newCommand() *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:   "apiserver-supervisor [flags] -- [flags of kube-apiserver]",
		Short: "Run kube-apiservers that follow the rotation of their etcd's certificates",
		Example: `  apiserver-supervisor --dir /run/supervisor --seed-dir /run/seed --kube-apiserver bin/tools/kube-apiserver \
    --kubeconfig admin.conf --listen 0.0.0.0:6443 --control 127.0.0.1:6440 \
    --server kube-apiserver-0=127.0.0.1:16443 --server kube-apiserver-1=127.0.0.1:16444 \
    --bundle openshift-etcd/etcd-ca-bundle --leaf openshift-etcd/etcd-client \
    --acknowledge openshift-etcd/etcd-signer/clients -- --etcd-servers=https://10.0.0.1:2379 ...`,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.config.Flags = args
			return o.run(cmd.Context())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.config.Dir, "dir", "", "Directory for what this program writes.")
	flags.StringVar(&o.config.SeedDir, "seed-dir", "", "Directory with etcd-ca-bundle.crt, etcd-client.crt and etcd-client.key for the first start.")
	flags.StringVar(&o.config.Program, "kube-apiserver", "", "The program to run.")
	flags.StringArrayVar(&o.servers, "server", nil, "An API server: NAME=HOST:PORT, the address for the balancer. May be repeated.")
	flags.StringArrayVar(&o.serverFlags, "server-flag", nil, "A flag of one API server alone: NAME=--FLAG=VALUE. May be repeated.")
	flags.StringArrayVar(&o.listen, "listen", nil, "HOST:PORT where the balancer listens. May be repeated.")
	flags.StringVar(&o.control, "control", "", "HOST:PORT for /status, /kill, /restart, /hold and /resume. Nothing when empty.")
	flags.BoolVar(&o.sharePorts, "permit-port-sharing", false, "Listen with SO_REUSEPORT, where somebody holds the ports for this program.")
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "How to reach the API, through the balancer.")
	flags.StringVar(&o.bundle, "bundle", "", "NAMESPACE/NAME of the ConfigMap with the anchors of etcd's servers.")
	flags.StringVar(&o.config.BundleKey, "bundle-key", "ca-bundle.crt", "Key of the ConfigMap.")
	flags.StringVar(&o.leaf, "leaf", "", "NAMESPACE/NAME of the Secret with the client pair.")
	flags.StringArrayVar(&o.acknowls, "acknowledge", nil, "NAMESPACE/SIGNER/PARTY to acknowledge to, with the server's name as the member. May be repeated.")
	flags.DurationVar(&o.config.Patience, "patience", 0, "How long a new connection waits for an API server that is ready. 15s when 0.")
	flags.DurationVar(&o.config.StopTimeout, "stop-timeout", 0, "How long a server may take to end in order. 45s when 0.")
	for _, name := range []string{"dir", "seed-dir", "kube-apiserver", "server", "listen", "kubeconfig", "bundle", "leaf"} {
		// It cannot fail: the flags were added above.
		_ = cmd.MarkFlagRequired(name)
	}
	return cmd
}

func (o *options) run(ctx context.Context) error {
	if err := o.parse(); err != nil {
		return err
	}
	var err error
	if o.config.Client, err = clientcmd.BuildConfigFromFlags("", o.kubeconfig); err != nil {
		return fmt.Errorf("load --kubeconfig %s: %w", o.kubeconfig, err)
	}
	listening := &net.ListenConfig{}
	if o.sharePorts {
		listening.Control = heldport.Share
	}
	for _, address := range o.listen {
		listener, err := listening.Listen(ctx, "tcp", address)
		if err != nil {
			return fmt.Errorf("--listen: %w", err)
		}
		o.config.Listeners = append(o.config.Listeners, listener)
	}
	if o.control != "" {
		if o.config.Control, err = listening.Listen(ctx, "tcp", o.control); err != nil {
			return fmt.Errorf("--control: %w", err)
		}
	}
	return supervisor.Run(ctx, o.config)
}

func (o *options) parse() error {
	for _, text := range o.servers {
		name, address, ok := strings.Cut(text, "=")
		if !ok {
			return fmt.Errorf("--server %q: give NAME=HOST:PORT", text)
		}
		o.config.Servers = append(o.config.Servers, supervisor.Server{Name: name, Address: address})
	}
	for _, text := range o.serverFlags {
		name, flag, _ := strings.Cut(text, "=")
		i := slices.IndexFunc(o.config.Servers, func(s supervisor.Server) bool { return s.Name == name })
		if i < 0 || !strings.HasPrefix(flag, "--") {
			return fmt.Errorf("--server-flag %q: give NAME=--FLAG=VALUE with the name of a --server", text)
		}
		o.config.Servers[i].Flags = append(o.config.Servers[i].Flags, flag)
	}
	for _, text := range o.acknowls {
		parts := strings.Split(text, "/")
		if len(parts) != 3 {
			return fmt.Errorf("--acknowledge %q: give NAMESPACE/SIGNER/PARTY", text)
		}
		o.config.Acknowledge = append(o.config.Acknowledge, supervisor.Target{
			Signer: types.NamespacedName{Namespace: parts[0], Name: parts[1]}, Party: parts[2],
		})
	}
	for _, object := range []struct {
		flag, text string
		into       *types.NamespacedName
	}{{"bundle", o.bundle, &o.config.Bundle}, {"leaf", o.leaf, &o.config.Leaf}} {
		namespace, name, ok := strings.Cut(object.text, "/")
		if !ok {
			return fmt.Errorf("--%s %q: give NAMESPACE/NAME", object.flag, object.text)
		}
		*object.into = types.NamespacedName{Namespace: namespace, Name: name}
	}
	return nil
}
