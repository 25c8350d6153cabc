// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"os"
	"os/signal"
	"syscall"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	kubeconfig := flag.String("kubeconfig", "", "kubeconfig file")
	listen := flag.String("listen", "127.0.0.1:53", "UDP address to answer at")
	flag.Parse()
	err := run(ctx, *kubeconfig, *listen)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, kubeconfig, listen string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("load kubeconfig %s: %w", kubeconfig, err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	lister := factory.Discovery().V1().EndpointSlices().Lister()
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	conn, err := (&net.ListenConfig{}).ListenPacket(ctx, "udp", listen)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", listen, err)
	}
	context.AfterFunc(ctx, func() { _ = conn.Close() })
	return serve(conn, func() []*discoveryv1.EndpointSlice {
		slices, _ := lister.List(labels.Everything()) // A list from memory does not fail.
		return slices
	})
}

// serve answers questions one after the other until conn is closed.
func serve(conn net.PacketConn, list func() []*discoveryv1.EndpointSlice) error {
	buffer := make([]byte, 512)
	for {
		n, from, err := conn.ReadFrom(buffer)
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("receive a question: %w", err)
		}
		reply, err := answer(buffer[:n], zone(list()))
		if err == nil {
			_, err = conn.WriteTo(reply, from)
		}
		if err != nil {
			log.Printf("a question of %s has no answer: %v", from, err)
		}
	}
}
