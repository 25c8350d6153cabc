// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/view/inventory"
	"certrotation.dev/test/cluster"
	"certrotation.dev/test/cluster/installation"
)

const (
	rotationsPath = "/apis/certrotation.dev/v1alpha1/certificaterotations"
	secretsPath   = "/api/v1/secrets"
	tlsSecrets    = "type=kubernetes.io/tls"
)

// view measures the virtual API at each size, without the controller.
func (b *bench) view(ctx context.Context) error {
	if err := b.in.Controller.Stop(ctx); err != nil {
		return err
	}
	processes := []string{installation.Serve, cluster.APIServer, cluster.Etcd, client}
	requests := &table{
		Title: "The virtual API and its alternative, a client that lists the Secrets",
		Notes: []string{
			"The cluster holds the given number of certificates, 100 in each namespace, and up to 1 % more. One client through kube-apiserver, all namespaces, typed clients that decode. KiB are what the client receives for one request: gzip where client-go asks for it, TLS and headers included; in brackets the plain body.",
			"A client of our resources needs no right to read a Secret; the alternative hands every private key to every reader.",
		},
		Columns: columns("request", processes, "KiB"),
	}
	memories := &table{
		Title:   "Start and memory of serve",
		Notes:   []string{"From the start of the process to /readyz, then the resident set: when ready, after the requests of the table above, and its peak. Idle is CPU during 5 s without requests, in % of one core. kube-apiserver's resident set is for scale."},
		Columns: []string{"certificates", "start s", "start CPU-s", "MiB when ready", "MiB after load", "MiB peak", "idle CPU %", "kube-apiserver MiB"},
	}
	propagation := b.propagationTable()
	// An aborted run prints the sizes that it has measured.
	defer func() {
		for _, t := range []*table{requests, propagation, memories} {
			if len(t.Rows) > 0 {
				b.report.print(t)
			}
		}
	}()
	have := 0
	for _, size := range append(sizes{0}, b.opts.sizes...) {
		if err := b.populate(ctx, have, size); err != nil {
			return err
		}
		have = size / perNamespace
		started, err := b.coldStart(ctx, size)
		if err != nil {
			return fmt.Errorf("start serve at %d certificates: %w", size, err)
		}
		if size > 0 {
			if err := b.requests(ctx, size, requests, processes); err != nil {
				return fmt.Errorf("at %d certificates: %w", size, err)
			}
			if err := b.propagation(ctx, size, propagation); err != nil {
				return fmt.Errorf("watch at %d certificates: %w", size, err)
			}
		}
		row, err := b.afterLoad(ctx, size, started)
		if err != nil {
			return err
		}
		memories.Rows = append(memories.Rows, row)
	}
	return nil
}

func (b *bench) requests(ctx context.Context, size int, t *table, processes []string) error {
	lists, gets := max(3, 10_000/size), 200
	name := newDomain("bench-0000", pki.ECDSAP256, 1).leaves[0]
	rotations, secrets := b.rotations.CertrotationV1alpha1(), b.kube.CoreV1().Secrets
	// plain has, by operation, a request whose uncompressed body is measured.
	plain := map[string]func(context.Context) ([]byte, error){
		"certificaterotations: list":                b.raw(rotationsPath, "application/json", ""),
		"certificaterotations: list, Table":         b.raw(rotationsPath, "application/json;as=Table;v=v1;g=meta.k8s.io", ""),
		"Secrets of type tls: list, JSON":           b.raw(secretsPath, "application/json", tlsSecrets),
		"Secrets of type tls: list, protobuf":       b.raw(secretsPath, "application/vnd.kubernetes.protobuf", tlsSecrets),
		"certificaterotations: get":                 b.raw("/apis/certrotation.dev/v1alpha1/namespaces/bench-0000/certificaterotations/"+name, "application/json", ""),
		"Secret: get, protobuf":                     b.raw("/api/v1/namespaces/bench-0000/secrets/"+name, "application/vnd.kubernetes.protobuf", ""),
		"certificaterotations: list of the signers": b.raw(rotationsPath, "application/json", "spec.role=Signer"),
	}
	operations := []operation{
		{name: "certificaterotations: list", batch: lists, run: timed(func(ctx context.Context) error {
			list, err := rotations.CertificateRotations("").List(ctx, metav1.ListOptions{})
			return atLeast(size, len(list.Items), err)
		})},
		{name: "certificaterotations: list, Table", batch: lists, run: timed(func(ctx context.Context) error {
			_, err := b.raw(rotationsPath, "application/json;as=Table;v=v1;g=meta.k8s.io", "")(ctx)
			return err
		})},
		{name: "certificaterotations: list by pages of 500", batch: lists, run: timed(func(ctx context.Context) error {
			return b.pages(ctx, size)
		})},
		{name: "certificaterotations: WatchList to the bookmark", batch: lists, run: timed(func(ctx context.Context) error {
			return b.watchList(ctx, rotationsPath, "", size)
		})},
		{name: "certificaterotations: list of the signers", batch: lists, run: timed(func(ctx context.Context) error {
			list, err := rotations.CertificateRotations("").List(ctx, metav1.ListOptions{FieldSelector: "spec.role=Signer"})
			return atLeast(size/perNamespace, len(list.Items), err)
		})},
		{name: "Secrets of type tls: list, JSON", batch: lists, run: timed(listSecrets(b.kubeJSON, size, false))},
		{name: "Secrets of type tls: list, protobuf", batch: lists, run: timed(listSecrets(b.kube, size, false))},
		{name: "Secrets of type tls: list, protobuf; parse and pair", batch: lists, run: timed(listSecrets(b.kube, size, true))},
		{name: "Secrets of type tls: WatchList to the bookmark, JSON", batch: lists, run: timed(func(ctx context.Context) error {
			return b.watchList(ctx, secretsPath, tlsSecrets, size)
		})},
		{name: "certificaterotations: get", batch: gets, run: timed(func(ctx context.Context) error {
			_, err := rotations.CertificateRotations("bench-0000").Get(ctx, name, metav1.GetOptions{})
			return err
		})},
		{name: "Secret: get, protobuf", batch: gets, run: timed(func(ctx context.Context) error {
			_, err := secrets("bench-0000").Get(ctx, name, metav1.GetOptions{})
			return err
		})},
	}
	results, err := b.compare(ctx, "view", size, operations)
	if err != nil {
		return err
	}
	for _, m := range results {
		row := m.row(processes...)
		row[0] = fmt.Sprintf("%d, %s", size, m.Name)
		kib := number(m.wire())
		if ask, ok := plain[m.Name]; ok {
			body, err := ask(ctx)
			if err != nil {
				return fmt.Errorf("%s: %w", m.Name, err)
			}
			kib += fmt.Sprintf(" [%s]", number(float64(len(body))/1024))
		}
		t.Rows = append(t.Rows, append(row, kib))
	}
	return nil
}

// raw requests a path and returns the unmodified body.
func (b *bench) raw(path, accept, selector string) func(context.Context) ([]byte, error) {
	return func(ctx context.Context) ([]byte, error) {
		request := b.kubeJSON.CoreV1().RESTClient().Get().AbsPath(path).SetHeader("Accept", accept)
		if selector != "" {
			request.Param("fieldSelector", selector)
		}
		return request.DoRaw(ctx)
	}
}

// pages lists in pages as kubectl does.
func (b *bench) pages(ctx context.Context, size int) error {
	opts, got := metav1.ListOptions{Limit: 500}, 0
	for {
		list, err := b.rotations.CertrotationV1alpha1().CertificateRotations("").List(ctx, opts)
		if err != nil {
			return err
		}
		got += len(list.Items)
		if opts.Continue = list.Continue; opts.Continue == "" {
			return atLeast(size, got, nil)
		}
	}
}

// listSecrets does what a client must do that computes the same answer from Secrets. Without parse it only lists.
func listSecrets(kube kubernetes.Interface, size int, parse bool) func(context.Context) error {
	return func(ctx context.Context) error {
		list, err := kube.CoreV1().Secrets("").List(ctx, metav1.ListOptions{FieldSelector: tlsSecrets})
		if err := atLeast(size, len(list.Items), err); err != nil || !parse {
			return err
		}
		for i := range list.Items {
			if err := checkPair(&list.Items[i]); err != nil {
				return err
			}
		}
		return nil
	}
}

func checkPair(secret *corev1.Secret) error {
	_, err := pki.CheckPair(secret.Data[inventory.ActiveCertKey], secret.Data[inventory.ActiveKeyKey])
	if err != nil {
		return fmt.Errorf("secret %s/%s: %w", secret.Namespace, secret.Name, err)
	}
	return nil
}

// atLeast returns an error if the answer is incomplete.
func atLeast(want, got int, err error) error {
	if err == nil && got < want {
		return fmt.Errorf("the answer has %d objects, want at least %d", got, want)
	}
	return err
}

// afterLoad finishes the row of a size.
func (b *bench) afterLoad(ctx context.Context, size int, s started) ([]string, error) {
	serve := b.in.Serve.Pid()
	loaded, err := memoryOf(serve)
	if err != nil {
		return nil, err
	}
	apiServer, err := memoryOf(b.cluster.Process(cluster.APIServer).Pid())
	if err != nil {
		return nil, err
	}
	idle, err := idlePercent(ctx, serve, 5*time.Second)
	if err != nil {
		return nil, err
	}
	b.report.Samples[fmt.Sprintf("memory of serve at %d", size)] = map[string]memory{"ready": s.memory, "loaded": loaded}
	return []string{
		fmt.Sprint(size), withSpread(s.seconds), withSpread(s.cpu), number(s.memory.Now), number(loaded.Now), number(loaded.Peak),
		number(idle), number(apiServer.Now),
	}, nil
}

// idlePercent is the share of one core that a process uses without requests.
func idlePercent(ctx context.Context, pid int, during time.Duration) (float64, error) {
	before, err := cpuSeconds(pid)
	if err != nil {
		return 0, err
	}
	select {
	case <-time.After(during):
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	after, err := cpuSeconds(pid)
	return (after - before) / during.Seconds() * 100, err
}
