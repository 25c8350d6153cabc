// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodepod

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestStatusIsReadAsItWasPut(t *testing.T) {
	for name, tc := range map[string]struct {
		change    func(*corev1.ConfigMap)
		ok, ready bool
	}{
		"complete":              {change: func(*corev1.ConfigMap) {}, ok: true, ready: true},
		"not complete":          {change: func(cm *corev1.ConfigMap) { cm.Annotations[AnnotationReady] = readyFalse }, ok: true},
		"not said to be":        {change: func(cm *corev1.ConfigMap) { delete(cm.Annotations, AnnotationReady) }, ok: true},
		"without content hash":  {change: func(cm *corev1.ConfigMap) { delete(cm.Data, StatusKeyContentHash) }, ok: true},
		"without restart hash":  {change: func(cm *corev1.ConfigMap) { delete(cm.Data, StatusKeyRestartHash) }, ok: true},
		"being deleted":         {change: func(cm *corev1.ConfigMap) { cm.DeletionTimestamp = &metav1.Time{} }},
		"with another name":     {change: func(cm *corev1.ConfigMap) { cm.Name = "revision-status-x" }},
		"with a strange number": {change: func(cm *corev1.ConfigMap) { cm.Name = "revision-status-07" }},
	} {
		t.Run(name, func(t *testing.T) {
			cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{InstalledAnnotation("node"): "uid"}}}
			want := Status{Number: 7, Rollout: "etcd", Reason: "new trust", ContentHash: "c", RestartHash: "r", Ready: true}
			want.Put(cm)
			tc.change(cm)
			got, ok := ReadStatus(cm)
			if ok != tc.ok || got.Ready != tc.ready {
				t.Fatalf("read %t, ready %t; want %t, %t", ok, got.Ready, tc.ok, tc.ready)
			}
			if !tc.ready {
				return
			}
			if got.Number != 7 || got.Rollout != "etcd" || got.Reason != "new trust" || got.ContentHash != "c" || got.RestartHash != "r" {
				t.Errorf("read %+v, want %+v", got, want)
			}
			if got.Installed("node") != "uid" || got.Installed("another") != "" {
				t.Errorf("installed on %q, %q", got.Installed("node"), got.Installed("another"))
			}
		})
	}
}
