// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/apis/certrotation/v1alpha1"
	"certrotation.dev/registry/injection"
	"certrotation.dev/registry/view/inventory"
)

const trustBundle = "shop"

// TestTrustBundleThatReachesPodsLate: pods verify by a ClusterTrustBundle, which kubelet projects at its next sync
// of the pod. The rotation waits for what each pod has loaded, not for a time. A program that reads its anchors
// only once holds the rotation, by name, until its pod is replaced.
func TestTrustBundleThatReachesPodsLate(t *testing.T) {
	s := scenario(t, "trust-bundle", "shop-signer")
	s.apply(t, "trustbundle.yaml")
	s.hashes(t, "shop-ca-bundle", "shop-reader")
	s.makeTrustBundle(t)
	s.apply(t, "trustbundle-pods.yaml")
	var readers []corev1.Pod
	until(t, "two readers have reported and are ready", func(ctx context.Context) error {
		err := s.reported(ctx, "reader", 2)
		if err == nil {
			readers, err = s.ready(ctx, "reader")
		}
		if err == nil && len(readers) != 2 {
			err = fmt.Errorf("%d are ready", len(readers))
		}
		return err
	})
	follows, once := &readers[0], &readers[1]
	control(t, once, "hold")
	traffic := s.measure(t)

	before := s.rotate(t)
	until(t, "the ClusterTrustBundle has both anchors", s.published)
	published := time.Now()
	until(t, "the reader that follows has loaded them", func(ctx context.Context) error { return s.memberTrusts(ctx, follows.Name) })
	t.Logf("%s has loaded and reported what was published after %.1f s. kubelet looks at a pod every 2 s here, and every minute where it is not configured",
		follows.Name, time.Since(published).Seconds())
	until(t, "the rotation waits for the reader that has read once", func(ctx context.Context) error { return s.waitsFor(ctx, "reader", once.Name) })
	s.holds(t, "reader", once.Name, before)

	if err := s.Client.CoreV1().Pods(s.namespace).Delete(t.Context(), once.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.rotated(t, before)
	traffic.end(t)
}

// makeTrustBundle makes a ClusterTrustBundle from the bundle, as docs/cabundles.md says.
func (s *system) makeTrustBundle(t *testing.T) {
	t.Helper()
	bundle, err := s.Client.CoreV1().ConfigMaps(s.namespace).Get(t.Context(), "shop-ca-bundle", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Client.CertificatesV1().ClusterTrustBundles().Create(t.Context(), &certificatesv1.ClusterTrustBundle{
		ObjectMeta: metav1.ObjectMeta{Name: trustBundle, Annotations: map[string]string{injection.Annotation: s.namespace + "/" + bundle.Name}},
		Spec:       certificatesv1.ClusterTrustBundleSpec{TrustBundle: bundle.Data[inventory.BundleKey]},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// published returns nil if the ClusterTrustBundle has two anchors: the present and the next.
func (s *system) published(ctx context.Context) error {
	made, err := s.Client.CertificatesV1().ClusterTrustBundles().Get(ctx, trustBundle, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if n := strings.Count(made.Spec.TrustBundle, "BEGIN CERTIFICATE"); n != 2 {
		return fmt.Errorf("it has %d anchors", n)
	}
	return nil
}

// reported returns nil if exactly this number of members of a party trust the published anchors, and the stage is
// Stable.
func (s *system) reported(ctx context.Context, party string, members int) error {
	row, err := s.row(ctx)
	if err != nil {
		return err
	}
	for _, m := range row.Status.Members {
		if m.Party == party && m.Known && m.Trusted {
			members--
		}
	}
	if members != 0 || row.Status.Stage != v1alpha1.StageStable {
		return fmt.Errorf("%d are left in the stage %s", members, row.Status.Stage)
	}
	return nil
}

func (s *system) memberTrusts(ctx context.Context, member string) error {
	row, err := s.row(ctx)
	if err != nil {
		return err
	}
	for _, m := range row.Status.Members {
		if m.Member == member && m.Trusted && row.Status.Stage != v1alpha1.StageStable {
			return nil
		}
	}
	return fmt.Errorf("it has not, in the stage %s", row.Status.Stage)
}
