// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package podcontent

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
)

// prove resolves the references of the pod to the existing objects.
func (w *world) prove(asked *MountRequirement) MountProof {
	references, fault := asked.References(w.pod)
	if fault != "" {
		return MountProof{Failure: fault}
	}
	for i := range references {
		switch r := &references[i]; {
		case r.Kind == trust.ConfigMapKind && w.bundle != nil && w.bundle.Name == r.Name:
			r.Object = OfConfigMap(w.bundle, r.Key)
		case r.Kind == trust.SecretKind && w.secret != nil && w.secret.Name == r.Name:
			r.Object = OfSecret(w.secret, r.Key)
		}
	}
	return asked.Prove(w.pod, references)
}

// hold changes the content and renames the objects after it, also in the pod.
func (w *world) hold(change func()) {
	change()
	w.name()
	w.pod.Spec.Volumes[0].ConfigMap.Name, w.pod.Spec.Volumes[1].Secret.SecretName = w.bundle.Name, w.secret.Name
}

func TestProveMount(t *testing.T) {
	for name, tt := range map[string]struct {
		edit    func(w *world)
		failure string
	}{
		"both are as they should be":    {func(*world) {}, ""},
		"the pod is of the same second": {func(w *world) { w.pod.CreationTimestamp = w.bundle.CreationTimestamp }, ""},
		"the bundle is younger":         {func(w *world) { w.bundle.CreationTimestamp = metav1.NewTime(started.Add(time.Second)) }, "ConfigMap/bundle-"},
		"the leaf is younger":           {func(w *world) { w.secret.CreationTimestamp = metav1.NewTime(started.Add(time.Second)) }, "was made after the pod"},
		"the bundle is gone":            {func(w *world) { w.bundle = nil }, "which does not exist"},
		"the leaf is gone":              {func(w *world) { w.secret = nil }, "which does not exist"},
		"the bundle may change":         {func(w *world) { w.bundle.Immutable = nil }, "which is not immutable"},
		"the leaf may change":           {func(w *world) { w.secret.Immutable = new(false) }, "which is not immutable"},
		"the bundle does not consent":   {func(w *world) { w.bundle.Annotations = nil }, "kubectl annotate -n demo configmap bundle-"},
		"the leaf consents to another": {func(w *world) {
			w.secret.Annotations[trust.AnnotationConfiguration] = "other"
		}, "does not consent to RotationConfiguration/web: kubectl annotate -n demo secret leaf-"},
		"the bundle has a plain name": {func(w *world) {
			w.bundle.Name = "bundle"
			w.pod.Spec.Volumes[0].ConfigMap.Name = "bundle"
		}, "kubectl certrotation content-hash configmap/bundle`"},
		"the leaf is named by a version": {func(w *world) {
			w.secret.Name = "leaf-20261123"
			w.pod.Spec.Volumes[1].Secret.SecretName = "leaf-20261123"
		}, "does not end in a hash of its content"},
		"the bundle is another by now": {func(w *world) { w.bundle.Data[bundleKey] += "\n" }, "does not end in a hash of its content"},
		"the bundle has another key": {func(w *world) {
			w.hold(func() { w.bundle.Data = map[string]string{"ca.crt": w.bundle.Data[bundleKey]} })
		}, "which has no key ca-bundle.crt"},
		"the leaf has another key": {func(w *world) { w.hold(func() { delete(w.secret.Data, "tls.crt") }) }, "which has no key tls.crt"},
		"the bundle is no PEM":     {func(w *world) { w.hold(func() { w.bundle.Data[bundleKey] = "garbage" }) }, "has no anchors that can be read"},
		"the bundle is empty":      {func(w *world) { w.hold(func() { w.bundle.Data[bundleKey] = "" }) }, "has no anchors that can be read"},
		"the bundle is cut":        {func(w *world) { w.hold(func() { w.bundle.Data[bundleKey] = w.bundle.Data[bundleKey][:100] }) }, "has no anchors that can be read"},
		"the bundle has too many anchors": {func(w *world) {
			w.hold(func() { w.bundle.Data[bundleKey] = strings.Repeat(w.bundle.Data[bundleKey], pki.MaxCertificates+1) })
		}, "has no anchors that can be read"},
		"the leaf is garbage": {func(w *world) { w.hold(func() { w.secret.Data["tls.crt"] = []byte("garbage") }) }, "has no certificate that can be read"},
		"anchors as binary data": {func(w *world) {
			w.hold(func() {
				w.bundle.BinaryData, w.bundle.Data = map[string][]byte{bundleKey: []byte(w.bundle.Data[bundleKey])}, nil
			})
		}, ""},
		"the volume is optional": {func(w *world) { w.pod.Spec.Volumes[0].ConfigMap.Optional = new(true) }, "it may have started without that"},
		"the leaf carries its own signer": {func(w *world) {
			w.hold(func() { w.secret.Data["tls.crt"] = append(w.secret.Data["tls.crt"], w.ca.PEM()...) })
		}, ""},
		"the bundle holds an anchor twice": {func(w *world) { w.hold(func() { w.bundle.Data[bundleKey] += w.bundle.Data[bundleKey] }) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			tt.edit(w)
			got := w.prove(asked())
			if (got.Failure == "") != (tt.failure == "") || !strings.Contains(got.Failure, tt.failure) {
				t.Fatalf("failure %q, want one with %q", got.Failure, tt.failure)
			}
			want := MountProof{Failure: got.Failure}
			if got.Failure == "" {
				want = MountProof{Trusts: []pki.Fingerprint{w.ca.Fingerprint}, Presents: []pki.Fingerprint{w.leaf.Fingerprint}}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("proof (-want +got):\n%s", diff)
			}
		})
	}
}

// TestProveParts: a party that verifies nothing, or presents nothing, needs no proof of it.
func TestProveParts(t *testing.T) {
	w := newWorld(t)
	w.secret = nil
	trusting := asked()
	trusting.Leaves = nil
	if got := w.prove(trusting); len(got.Trusts) != 1 || got.Presents != nil || got.Failure != "" {
		t.Errorf("who presents nothing: %+v", got)
	}
	w = newWorld(t)
	w.bundle = nil
	presenting := asked()
	presenting.Trust, presenting.Leaves = "", []string{"tls", "tls"}
	if got := w.prove(presenting); got.Trusts != nil || len(got.Presents) != 1 || got.Failure != "" {
		t.Errorf("who verifies nothing: %+v", got)
	}
}

// TestObjectKeepsNoKey: the object holds a copy of the value, so that the caller can overwrite the Secret.
func TestObjectKeepsNoKey(t *testing.T) {
	w := newWorld(t)
	object := OfSecret(w.secret, "tls.crt")
	before := string(object.value)
	for _, value := range w.secret.Data {
		clear(value)
	}
	if string(object.value) != before || strings.Contains(before, "PRIVATE") {
		t.Error("it is a part of the Secret")
	}
}
