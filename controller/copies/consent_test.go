// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package copies

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// TestConsent has a namespace agree to copies, or not, while something is there already, or not.
func TestConsent(t *testing.T) {
	annotated := func(value string) map[string]string { return map[string]string{trust.CopiesFrom: value} }
	theirs := map[string][]byte{"tls.crt": []byte("theirs"), "tls.key": []byte("theirs")}
	marked := func(source, label string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
			Name: "client", Labels: map[string]string{trust.LabelCopyOf: label}, Annotations: map[string]string{trust.AnnotationCopyOf: source},
		}, Type: corev1.SecretTypeTLS, Data: theirs}
	}
	plain := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "client"}, Type: corev1.SecretTypeTLS, Data: theirs}
	const refused = "namespace elsewhere does not accept copies from namespace demo"
	tests := []struct {
		name                string
		annotations, labels map[string]string
		there               *corev1.Secret
		want                string
	}{
		{name: "nothing says so", want: refused},
		{name: "another's Secret is there, and nothing says so", there: plain, want: refused},
		{name: "others are named", annotations: annotated("demo2,d,xdemo"), there: plain, want: "kubectl annotate --overwrite namespace elsewhere certrotation.dev/copies-from=demo2,d,xdemo,demo"},
		{name: "nothing stands for all", annotations: annotated("*"), there: plain, want: refused},
		{name: "an empty list", annotations: annotated(" , "), want: "certrotation.dev/copies-from=demo"},
		{name: "named among others", annotations: annotated("a, demo ,b")},
		{name: "named, with a Secret that is taken over", annotations: annotated("demo"), there: plain},
		{name: "named by the label", labels: annotated("demo"), there: plain},
		{name: "the copy is there", there: marked("demo/web-client", "demo.web-client")},
		{name: "a copy of another leaf is there", there: marked("demo/web-server", "demo.web-server"), want: refused},
		{name: "a copy from another namespace is there", there: marked("gone/web-client", "gone.web-client"), want: refused},
		{name: "half a mark", there: marked("demo/web-client", "x"), want: refused},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, webConfig)
			w.rotate()
			w.agree(away, tt.annotations, tt.labels)
			if tt.there != nil {
				w.put(away, tt.there)
			}
			w.wrote = nil
			c := w.copies(nil)
			var err error
			for range 3 {
				err = c.Reconcile(w.ctx(), home)
				w.clock.Step(patience)
			}
			secret := slices.ContainsFunc(w.wrote, func(write string) bool { return strings.HasSuffix(write, " secrets elsewhere/client") })
			if tt.want == "" {
				if !secret || string(w.secret(away, "client").Data["tls.crt"]) == "theirs" {
					t.Errorf("not copied: %v", err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got error %v, want %q", err, tt.want)
			}
			if diff := cmp.Diff([]string{"create configmaps demo/bundle-here"}, w.wrote); diff != "" {
				t.Errorf("writes (-want +got):\n%s", diff)
			}
			if w.said("CopyHeld Secret/web-client: copy elsewhere/client: "+refused) != 1 || c.memory.held()[home] != 2 {
				t.Errorf("events %q, %v copies held", w.events, c.memory.held()[home])
			}
			w.agree(away, annotated(home), nil)
			w.reconcile(c)
			if !w.same() || c.memory.held()[home] != 0 {
				t.Error("not copied after the namespace has agreed")
			}
		})
	}
}

// TestConsentIsAskedOnce: what is a copy goes on being one, and nothing is asked at rest.
func TestConsentIsAskedOnce(t *testing.T) {
	w, c := settled(t)
	w.agree(away, nil, nil)
	w.request()
	for range 20 {
		w.rotate()
		w.reconcile(c)
	}
	if !w.same() {
		t.Error("a copy no longer follows")
	}
	w.remove(away, w.secret(away, "client"))
	if err := w.copies(nil).Reconcile(w.ctx(), home); err == nil || !strings.Contains(err.Error(), "does not accept copies") {
		t.Errorf("got %v after the copy was deleted where nobody agrees any more", err)
	}
}

// TestConsentThatCannotBeRead is no consent.
func TestConsentThatCannotBeRead(t *testing.T) {
	w := newWorld(t, webConfig)
	w.rotate()
	w.wrote = nil
	w.client.PrependReactor("get", "namespaces", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(corev1.Resource("namespaces"), away, errRefused)
	})
	c := w.copies(nil)
	if err := c.Reconcile(w.ctx(), home); err == nil || !strings.Contains(err.Error(), "read whether namespace elsewhere accepts copies") {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff([]string{"create configmaps demo/bundle-here"}, w.wrote); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	if w.configMap(home, "bundle-here").Data[inventory.BundleKey] == "" {
		t.Error("another copy suffers")
	}
}
