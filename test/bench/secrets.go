// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net/http"
	"path"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"certrotation.dev/controller/secrets"
	"certrotation.dev/controller/secrets/kinds"
	"certrotation.dev/registry/edition"
	"certrotation.dev/registry/pki"
	"certrotation.dev/test/cluster"
)

const (
	secretsIdentity = "bench"
	// secretsAtOnce is how many namespaces are reconciled at once, as by the workers of a controller.
	secretsAtOnce = 8
	// Each of the nine authorities of a hosted control plane has its own Secret, its bundle, a server and a client.
	authoritiesOfNamespace = 9
	othersOfNamespace      = 4
	secretsOfNamespace     = 4*authoritiesOfNamespace + othersOfNamespace
)

// requestCounts counts requests for Secrets and pods.
type requestCounts struct {
	next http.RoundTripper

	lists, gets, writes atomic.Int64
}

// RoundTrip implements http.RoundTripper.
func (c *requestCounts) RoundTrip(r *http.Request) (*http.Response, error) {
	switch last := path.Base(r.URL.Path); {
	case r.Method != http.MethodGet:
		c.writes.Add(1)
	case last == "secrets" || last == "pods":
		c.lists.Add(1)
	default:
		c.gets.Add(1)
	}
	return c.next.RoundTrip(r)
}

// secrets measures controller/secrets in many namespaces: the first reconciliation, and one that finds everything.
func (b *bench) secrets(ctx context.Context) error {
	if err := b.startCluster(ctx); err != nil {
		return fmt.Errorf("start the control plane: %w", err)
	}
	// The library logs each Secret that it makes.
	ctx = klog.NewContext(ctx, logr.Discard())
	counts := &requestCounts{}
	config := rest.CopyConfig(b.cluster.AdminConfig())
	config.ContentType, config.AcceptContentTypes, config.QPS = kruntime.ContentTypeProtobuf, kruntime.ContentTypeProtobuf, -1
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		counts.next = next
		return counts
	})
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	if err := b.inNamespaces(ctx, func(ctx context.Context, namespace string) error {
		_, err := kube.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
		return err
	}); err != nil {
		return fmt.Errorf("create the namespaces: %w", err)
	}
	t := &table{
		Title: fmt.Sprintf("Secrets of a controller: %d namespaces of %d, %d at once", b.opts.namespaces, secretsOfNamespace, secretsAtOnce),
		Notes: []string{"One reconciliation of each namespace: New, Generate of everything, Cleanup. Keys are ECDSA-P256. " +
			"The last row has the reads alone that Gardener's documentation describes for the same."},
		Columns: []string{"run", "seconds", "lists", "gets", "writes", "KiB allocated per namespace", "CPU-s: " + client, "CPU-s: " + cluster.APIServer, "CPU-s: " + cluster.Etcd},
	}
	for _, run := range []struct {
		name string
		of   func(ctx context.Context, kube kubernetes.Interface, namespace string) error
	}{{"nothing exists", reconcileSecrets}, {"everything exists", reconcileSecrets}, {"*everything exists: documented reads*", documentedReads}} {
		row, err := b.secretsRun(ctx, counts, func(ctx context.Context, namespace string) error { return run.of(ctx, kube, namespace) })
		if err != nil {
			return fmt.Errorf("%s: %w", run.name, err)
		}
		t.Rows = append(t.Rows, append([]string{run.name}, row...))
		b.say("%s: %s s", run.name, row[0])
	}
	b.report.print(t)
	return nil
}

// secretsRun runs once in each namespace and returns the figures of its row.
func (b *bench) secretsRun(ctx context.Context, counts *requestCounts, run func(ctx context.Context, namespace string) error) ([]string, error) {
	before, err := b.cpu()
	if err != nil {
		return nil, err
	}
	counts.lists.Store(0)
	counts.gets.Store(0)
	counts.writes.Store(0)
	var memory [2]runtime.MemStats
	runtime.ReadMemStats(&memory[0])
	begun := time.Now()
	if err := b.inNamespaces(ctx, run); err != nil {
		return nil, err
	}
	took := time.Since(begun)
	runtime.ReadMemStats(&memory[1])
	after, err := b.cpu()
	if err != nil {
		return nil, err
	}
	allocated := float64(memory[1].TotalAlloc-memory[0].TotalAlloc) / 1024 / float64(b.opts.namespaces)
	cpu := spent(before, after)
	return []string{
		number(took.Seconds()), fmt.Sprint(counts.lists.Load()), fmt.Sprint(counts.gets.Load()), fmt.Sprint(counts.writes.Load()), number(allocated),
		number(cpu[client]), number(cpu[cluster.APIServer]), number(cpu[cluster.Etcd]),
	}, nil
}

func (b *bench) inNamespaces(ctx context.Context, do func(ctx context.Context, namespace string) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(secretsAtOnce)
	for i := range b.opts.namespaces {
		group.Go(func() error { return do(ctx, fmt.Sprintf("shoot-%d", i)) })
	}
	return group.Wait()
}

// reconcileSecrets is one reconciliation of a controller.
func reconcileSecrets(ctx context.Context, kube kubernetes.Interface, namespace string) error {
	instance, err := secrets.New(ctx, clock.RealClock{}, kube.CoreV1(), secretsIdentity, secrets.WithNamespaces(namespace))
	if err != nil {
		return err
	}
	for i := range authoritiesOfNamespace {
		ca := fmt.Sprintf("ca-%d", i)
		if _, err := instance.Generate(ctx, &kinds.CertificateSecretConfig{Name: ca, CertType: kinds.CACert, Key: pki.ECDSAP256}, secrets.Rotate(secrets.KeepOld)); err != nil {
			return err
		}
		for _, of := range []kinds.CertType{kinds.ServerCert, kinds.ClientCert} {
			name := fmt.Sprintf("%s-%d", of, i)
			config := &kinds.CertificateSecretConfig{Name: name, CommonName: name, DNSNames: []string{name}, CertType: of, Key: pki.ECDSAP256}
			if _, err := instance.Generate(ctx, config, secrets.SignedByCA(ca)); err != nil {
				return err
			}
		}
	}
	for i := range othersOfNamespace {
		name := fmt.Sprintf("token-%d", i)
		config := &kinds.StaticTokenSecretConfig{Name: name, Tokens: map[string]kinds.TokenConfig{name: {Username: name, UserID: name}}}
		if _, err := instance.Generate(ctx, config, secrets.Validity(1000*time.Hour)); err != nil {
			return err
		}
	}
	return instance.Cleanup(ctx)
}

// documentedReads makes the reads of a reconciliation as Gardener's documentation describes it: a list by New, a get of
// each object, a list of the former editions of each authority, and a list by Cleanup.
func documentedReads(ctx context.Context, kube kubernetes.Interface, namespace string) error {
	api := kube.CoreV1().Secrets(namespace)
	own := labels.Set{edition.LabelManagedBy: edition.ManagedBy, edition.LabelManagerIdentity: secretsIdentity}
	all, err := api.List(ctx, metav1.ListOptions{LabelSelector: own.String()})
	if err != nil {
		return err
	}
	if len(all.Items) != secretsOfNamespace {
		return fmt.Errorf("namespace %s has %d secrets, want %d", namespace, len(all.Items), secretsOfNamespace)
	}
	for i := range all.Items {
		secret := &all.Items[i]
		if _, err := api.Get(ctx, secret.Name, metav1.GetOptions{}); err != nil {
			return err
		}
		if len(secret.Data[kinds.DataKeyPrivateKeyCA]) == 0 {
			continue
		}
		former := labels.Merge(own, labels.Set{edition.LabelName: secret.Labels[edition.LabelName]})
		if _, err := api.List(ctx, metav1.ListOptions{LabelSelector: former.String()}); err != nil {
			return err
		}
	}
	_, err = api.List(ctx, metav1.ListOptions{LabelSelector: own.String()})
	return err
}
