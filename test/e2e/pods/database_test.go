// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// members of the database.
const members = 3

// TestDatabaseThatReadsItsFilesAtStart: the members of a StatefulSet read their leaf and a PKCS#12 trust store at
// start, and connect to each other continuously. A member that started with an untrusted leaf would stay cut off.
// So all members restart one at a time to trust the new CA, and then again for the leaf.
func TestDatabaseThatReadsItsFilesAtStart(t *testing.T) {
	restartTwice(t, "database", (*system).rotate)
}

// TestDatabaseWhoseCAIsChangedByHand does the same with a database whose CA a person has replaced.
func TestDatabaseWhoseCAIsChangedByHand(t *testing.T) {
	restartTwice(t, "hand-database", (*system).changeByHand)
}

// restartTwice changes the CA of a database in a namespace of its own, and waits until the members have restarted
// for trust and for the leaf.
func restartTwice(t *testing.T, namespace string, change func(*system, *testing.T) (before string)) {
	t.Helper()
	s := scenario(t, namespace, "db-signer")
	s.apply(t, "database.yaml", "NAMESPACE", namespace)
	ofBundle, ofLeaf := s.hashes(t, "db-ca-bundle", "db-member")
	s.apply(t, "database-members.yaml", "NAMESPACE", namespace, "HASH_OF_BUNDLE", ofBundle, "HASH_OF_LEAF", ofLeaf)
	until(t, "the members run", s.databaseRuns)
	traffic, turns, templates := s.measure(t), s.watchTurns(t, "db"), s.templates(t)
	s.rotated(t, change(s, t))
	until(t, "the members run", s.databaseRuns)
	// Once for trust and once for the leaf.
	if n := s.templates(t) - templates; n != 2 {
		t.Errorf("there were %d templates, want 2", n)
	}
	turns.end(t, 2*members)
	traffic.end(t)
}

func (s *system) databaseRuns(ctx context.Context) error {
	set, err := s.Client.AppsV1().StatefulSets(s.namespace).Get(ctx, "db", metav1.GetOptions{})
	if err != nil {
		return err
	}
	if is := set.Status; is.ObservedGeneration < set.Generation || is.UpdatedReplicas != members || is.AvailableReplicas != members {
		return fmt.Errorf("of %d members %d are of the newest template and %d available", members, is.UpdatedReplicas, is.AvailableReplicas)
	}
	return nil
}

// templates counts the templates of the StatefulSet by its generation, because nothing else in its spec changes.
func (s *system) templates(t *testing.T) int64 {
	t.Helper()
	set, err := s.Client.AppsV1().StatefulSets(s.namespace).Get(t.Context(), "db", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return set.Generation
}

// changeByHand replaces the signer's CA by a foreign one. The guard refuses that, and the matching bundle, so the
// namespace is unguarded meanwhile.
func (s *system) changeByHand(t *testing.T) (before string) {
	t.Helper()
	row, err := s.row(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	made, err := pki.NewAuthority(pki.Profile{CommonName: "made by hand", Key: pki.ECDSAP256, Validity: 365 * 24 * time.Hour}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	key, err := made.KeyPEM()
	if err != nil {
		t.Fatal(err)
	}
	signer := func(ctx context.Context) error {
		secret, err := s.Client.CoreV1().Secrets(s.namespace).Get(ctx, s.signer, metav1.GetOptions{})
		if err != nil {
			return err
		}
		secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey] = made.CertPEM(), key
		_, err = s.Client.CoreV1().Secrets(s.namespace).Update(ctx, secret, metav1.UpdateOptions{})
		return err
	}
	bundle := func(ctx context.Context) error {
		configMap, err := s.Client.CoreV1().ConfigMaps(s.namespace).Get(ctx, "db-ca-bundle", metav1.GetOptions{})
		if err != nil {
			return err
		}
		configMap.Data[inventory.BundleKey] = string(made.CertPEM())
		_, err = s.Client.CoreV1().ConfigMaps(s.namespace).Update(ctx, configMap, metav1.UpdateOptions{})
		return err
	}
	s.refused(t, signer, trust.TrustBeforeUse)
	s.refused(t, bundle, trust.AnchorInUse)
	s.label(t, labelGuard, "disabled")
	// kube-apiserver learns with a delay that the namespace is not guarded.
	until(t, "the CA is changed", signer)
	s.label(t, labelGuard, "enabled")
	return row.Status.Certificate.Fingerprint
}

// refused asserts that the guard names the broken invariant and the safe way.
func (s *system) refused(t *testing.T, edit func(context.Context) error, invariant trust.Invariant) {
	t.Helper()
	err := edit(t.Context())
	if err == nil || !strings.Contains(err.Error(), string(invariant)) || !strings.Contains(err.Error(), "Safe way:") {
		t.Fatalf("the guard says %v, want a refusal by %s", err, invariant)
	}
	t.Logf("refused: %v", err)
}

func (s *system) label(t *testing.T, key, value string) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:%q}}}`, key, value)
	if _, err := s.Client.CoreV1().Namespaces().Patch(t.Context(), s.namespace, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}
