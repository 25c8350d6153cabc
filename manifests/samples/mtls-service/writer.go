// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"log"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const (
	// writeTimeout bounds a request: an API server may be gone, or its etcd without a leader for a moment.
	writeTimeout = 5 * time.Second
	// writesEach are those between two looks for all of them.
	writesEach = 20
	// labelWriter is on everything that a writer has written.
	labelWriter = "writer"
)

func newWriterCommand(o *options) *cobra.Command {
	var service, pki string
	var pause time.Duration
	cmd := &cobra.Command{
		Use:   "writer",
		Short: "Write through each pod of a kube-apiserver, and look for what it has acknowledged",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			stats := newStats(nil)
			return o.reporting(cmd.Context(), stats, func(ctx context.Context) error {
				endpoints, err := o.follow(ctx, service)
				if err != nil {
					return err
				}
				if err := serveStats(ctx, o.statsAddr, stats, nil); err != nil {
					return err
				}
				w := &writer{pki: pki, stats: stats, clients: map[string]kubernetes.Interface{}, ledger: newLedger()}
				w.run(ctx, endpoints.addresses, pause)
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&service, "service", "kube-apiserver", "Service whose ready pods are the API servers")
	cmd.Flags().StringVar(&pki, "pki", "", "directory with ca.crt, which verifies the API servers, and admin.crt and admin.key, for who writes")
	cmd.Flags().DurationVar(&pause, "pause", 400*time.Millisecond, "pause between two writes")
	return cmd
}

// writer writes ConfigMaps, each once, and looks for all of them again and again.
type writer struct {
	pki     string
	stats   *stats
	clients map[string]kubernetes.Interface
	ledger  *ledger
}

// run has the API servers take turns, until the context ends. What looks is in general not what has written.
func (w *writer) run(ctx context.Context, addresses func() []string, pause time.Duration) {
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	for turn := 0; ; turn++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := addresses()
		if len(now) == 0 {
			continue
		}
		do := w.write
		if turn%(writesEach+1) == writesEach {
			do = w.look
		}
		address := now[turn%len(now)]
		if err := w.through(ctx, address, do); err != nil && ctx.Err() == nil {
			log.Printf("%s does not answer as it should, which is tried again: %v", address, err)
		}
	}
}

func (w *writer) through(ctx context.Context, address string, do func(context.Context, kubernetes.Interface) error) error {
	client := w.clients[address]
	if client == nil {
		var err error
		client, err = kubernetes.NewForConfig(&rest.Config{Host: "https://" + address, QPS: -1, TLSClientConfig: rest.TLSClientConfig{
			ServerName: "kubernetes", CAFile: filepath.Join(w.pki, "ca.crt"),
			CertFile: filepath.Join(w.pki, "admin.crt"), KeyFile: filepath.Join(w.pki, "admin.key"),
		}})
		if err != nil {
			return fmt.Errorf("make client: %w", err)
		}
		w.clients[address] = client
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	return do(ctx, client)
}

// write is acknowledged or not. Of one that is not, nothing is known.
func (w *writer) write(ctx context.Context, client kubernetes.Interface) error {
	name := w.ledger.name()
	_, err := client.CoreV1().ConfigMaps(metav1.NamespaceDefault).Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{labelWriter: w.ledger.id}},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	w.ledger.acknowledged(name)
	return nil
}

// look reads everything back, and deletes what is old.
func (w *writer) look(ctx context.Context, client kubernetes.Interface) error {
	maps := client.CoreV1().ConfigMaps(metav1.NamespaceDefault)
	list, err := maps.List(ctx, metav1.ListOptions{LabelSelector: labelWriter + "=" + w.ledger.id})
	if err != nil {
		return fmt.Errorf("read what was written: %w", err)
	}
	there := map[string]bool{}
	for i := range list.Items {
		there[list.Items[i].Name] = true
	}
	acknowledged, lost := w.ledger.compare(there)
	for _, name := range lost {
		log.Printf("%s was acknowledged, and is not there", name)
	}
	w.stats.wrote(acknowledged, len(lost))
	for _, name := range w.ledger.old() {
		if err := maps.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			return fmt.Errorf("delete %s, which is old: %w", name, err)
		}
	}
	return nil
}
