// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"certrotation.dev/registry/pki"
	"certrotation.dev/test/cluster"
	"certrotation.dev/test/cluster/installation"
)

// admission compares the same writes in a guarded and an unguarded namespace of equal size, without the
// controller.
func (b *bench) admission(ctx context.Context) error {
	if err := b.in.Controller.Stop(ctx); err != nil {
		return err
	}
	guarded, err := b.subject(ctx, "bench-guarded")
	if err != nil {
		return err
	}
	free, err := b.subject(ctx, "bench-unguarded")
	if err != nil {
		return err
	}
	if err := b.guard(ctx, guarded); err != nil {
		return err
	}
	const batch = 100
	operations := []operation{
		{name: "leaf replaced, unguarded", batch: batch, run: timed(free.replace)},
		{name: "leaf replaced, guarded (allowed)", batch: batch, run: timed(guarded.replace)},
		{name: "foreign leaf, guarded (refused)", batch: batch, run: timed(guarded.refused)},
		{name: "annotation of a leaf, unguarded", batch: batch, run: timed(free.annotate)},
		{name: "annotation of a leaf, guarded", batch: batch, run: timed(guarded.annotate)},
		{name: "dry run of a replaced leaf, unguarded", batch: batch, run: timed(free.replaceDry)},
		{name: "dry run of a replaced leaf, guarded", batch: batch, run: timed(guarded.replaceDry)},
	}
	results, err := b.compare(ctx, "admission", perNamespace, operations)
	if err != nil {
		return err
	}
	processes := []string{installation.Serve, cluster.APIServer, cluster.Etcd}
	t := &table{
		Title: "Admission through kube-apiserver: Secret updates, guarded and unguarded, interleaved",
		Notes: []string{
			fmt.Sprintf("Namespaces of %d certificates, one writer, etcd with fsync. A dry run does everything but the write. CPU of serve is also what it spends on projecting the write into the API.", perNamespace),
		},
		Columns: columns("update", processes),
	}
	for _, m := range results {
		t.Rows = append(t.Rows, m.row(processes...))
	}
	b.report.print(t)
	return nil
}

// subject is a leaf that the benchmark writes repeatedly.
type subject struct {
	b *bench
	// versions are signed by the leaf's signer, foreign by another CA.
	versions [2]*corev1.Secret
	foreign  *corev1.Secret
	// version is the newest resource version; next is the index of the version to write.
	version string
	next    int
	writes  int
}

func (b *bench) subject(ctx context.Context, namespace string) (*subject, error) {
	d := newDomain(namespace, pki.ECDSAP256, perNamespace-1)
	if err := b.fill(ctx, d); err != nil {
		return nil, err
	}
	return b.subjectOf(ctx, d, d.leaves[0])
}

func (b *bench) subjectOf(ctx context.Context, d *domain, leaf string) (*subject, error) {
	s := &subject{b: b}
	stranger := newDomain(d.namespace, d.key, 0)
	if err := stranger.makeAuthority(); err != nil {
		return nil, err
	}
	var err error
	for i, from := range []*domain{d, d, stranger} {
		made, issueErr := from.issue(leaf)
		if i < len(s.versions) {
			s.versions[i] = made
		} else {
			s.foreign = made
		}
		err = errors.Join(err, issueErr)
	}
	if err != nil {
		return nil, err
	}
	live, err := b.kube.CoreV1().Secrets(d.namespace).Get(ctx, leaf, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read the leaf of %s: %w", d.namespace, err)
	}
	s.version = live.ResourceVersion
	return s, nil
}

func (s *subject) update(ctx context.Context, secret *corev1.Secret, opts metav1.UpdateOptions) error {
	secret = secret.DeepCopy()
	secret.ResourceVersion = s.version
	s.writes++
	secret.Annotations["bench/write"] = fmt.Sprint("write-", s.writes, ";")
	written, err := s.b.kube.CoreV1().Secrets(secret.Namespace).Update(ctx, secret, opts)
	if err != nil {
		return err
	}
	if len(opts.DryRun) == 0 {
		s.version = written.ResourceVersion
	}
	return nil
}

// replace writes the other version of the leaf.
func (s *subject) replace(ctx context.Context) error {
	s.next = 1 - s.next
	return s.update(ctx, s.versions[s.next], metav1.UpdateOptions{})
}

func (s *subject) replaceDry(ctx context.Context) error {
	return s.update(ctx, s.versions[1-s.next], metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
}

// annotate writes the current version with another annotation, which has no meaning.
func (s *subject) annotate(ctx context.Context) error {
	return s.update(ctx, s.versions[s.next], metav1.UpdateOptions{})
}

var errLetThrough = errors.New("the guard let a leaf of a foreign CA through")

// refused writes a leaf that the guard must refuse.
func (s *subject) refused(ctx context.Context) error {
	err := s.update(ctx, s.foreign, metav1.UpdateOptions{})
	switch {
	case err == nil:
		return errLetThrough
	case apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || strings.Contains(err.Error(), "TrustBeforeUse"):
		return nil
	default:
		return err
	}
}

// guard labels the namespace and waits until the guard acts in it.
func (b *bench) guard(ctx context.Context, s *subject) error {
	namespace := s.foreign.Namespace
	patch := []byte(`{"metadata":{"labels":{"certrotation.dev/guard":"enabled"}}}`)
	if _, err := b.kube.CoreV1().Namespaces().Patch(ctx, namespace, "application/merge-patch+json", patch, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("guard namespace %s: %w", namespace, err)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var last error
	err := wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		last = s.update(ctx, s.foreign, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
		return last != nil && strings.Contains(last.Error(), "TrustBeforeUse"), nil
	})
	if err != nil {
		return fmt.Errorf("wait for the guard in %s (the last answer was %w): %w", namespace, last, err)
	}
	return nil
}
