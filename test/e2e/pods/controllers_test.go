// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// collectsGarbage waits until an object is deleted after its owner.
func (s *system) collectsGarbage(t *testing.T) {
	t.Helper()
	configMaps := s.Client.CoreV1().ConfigMaps(metav1.NamespaceDefault)
	owner, err := configMaps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "owner-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	owned, err := configMaps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "owned-", OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID}},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := configMaps.Delete(t.Context(), owner.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	until(t, "an object has followed its owner", func(ctx context.Context) error {
		_, err := configMaps.Get(ctx, owned.Name, metav1.GetOptions{})
		return isGone(err)
	})
}

// countsQuota waits until a quota is counted.
func (s *system) countsQuota(t *testing.T) {
	t.Helper()
	quotas := s.Client.CoreV1().ResourceQuotas(metav1.NamespaceDefault)
	quota, err := quotas.Create(t.Context(), &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "quota-"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/configmaps": resource.MustParse("100")}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the quota is counted", func(ctx context.Context) error {
		now, err := quotas.Get(ctx, quota.Name, metav1.GetOptions{})
		if err == nil && len(now.Status.Used) == 0 {
			err = errors.New("nothing is counted")
		}
		return err
	})
	if err := quotas.Delete(t.Context(), quota.Name, metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
}

// deleteNamespace waits until the content of a namespace is deleted and its conditions name the API group that it
// waits for. While serve is down, Kubernetes cannot list the remaining objects of that group. end waits until the
// namespace is gone.
func (s *system) deleteNamespace(t *testing.T, name string) (end func()) {
	t.Helper()
	namespaces := s.Client.CoreV1().Namespaces()
	if _, err := namespaces.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Client.CoreV1().ConfigMaps(name).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "content"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := namespaces.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	until(t, "the content is gone, and the namespace says what it waits for", func(ctx context.Context) error {
		if _, err := s.Client.CoreV1().ConfigMaps(name).Get(ctx, "content", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return isGone(err)
		}
		now, err := namespaces.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, c := range now.Status.Conditions {
			if c.Type == corev1.NamespaceDeletionDiscoveryFailure && c.Status == corev1.ConditionTrue && strings.Contains(c.Message, "certrotation.dev") {
				return nil
			}
		}
		return fmt.Errorf("its conditions are %+v", now.Status.Conditions)
	})
	return func() {
		t.Helper()
		until(t, "the namespace is gone", func(ctx context.Context) error {
			_, err := namespaces.Get(ctx, name, metav1.GetOptions{})
			return isGone(err)
		})
	}
}

func isGone(err error) error {
	switch {
	case err == nil:
		return errors.New("it is there")
	case apierrors.IsNotFound(err):
		return nil
	}
	return err
}
