// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package cabundle

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/clock"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/injection"
	"certrotation.dev/registry/pki"
)

// TestRunFollowsAndRests runs the controller with its watches. It follows new targets, changed bundles and edits,
// and reads and writes nothing at rest.
func TestRunFollowsAndRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, time.Now())
		w.rotate()
		c := w.injector(func(cfg *Config) { cfg.Clock = clock.RealClock{} })
		ctx, cancel := context.WithCancel(w.ctx())
		done := make(chan struct{})
		go func() {
			defer close(done)
			c.Run(ctx)
		}()
		synctest.Wait()
		for object := range objects {
			w.register(object, annotated(home+"/"+bundleName))
		}
		synctest.Wait()
		if len(w.wrote) != len(objects) {
			t.Fatalf("writes %v", w.wrote)
		}
		w.wrote, w.reads = nil, 0
		c.NamespaceChanged(home)
		c.NamespaceChanged("elsewhere")
		synctest.Wait()
		time.Sleep(24 * time.Hour) //nolint:forbidigo // the clock of the bubble
		if w.reads > 0 || len(w.wrote) > 0 {
			t.Errorf("%d reads and the writes %v at rest", w.reads, w.wrote)
		}

		before := w.held(guard)
		another, err := pki.NewAuthority(pki.Profile{CommonName: "another", Key: pki.ECDSAP256, Validity: time.Hour}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		w.publish(w.domain().Signer.Active, another.Certificate)
		c.NamespaceChanged(home)
		synctest.Wait()
		if len(w.wrote) != len(objects) || len(w.held(guard)["one.demo"]) != 2 {
			t.Errorf("writes %v; holds %v", w.wrote, w.held(guard))
		}
		w.publish(w.domain().Signer.Active)
		c.NamespaceChanged(home)
		synctest.Wait()
		if diff := cmp.Diff(before, w.held(guard)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		w.edit(guard, func(o *unstructured.Unstructured) {
			delete(o.Object["webhooks"].([]any)[1].(map[string]any)["clientConfig"].(map[string]any), "caBundle")
		})
		synctest.Wait()
		if diff := cmp.Diff(before, w.held(guard)); diff != "" {
			t.Errorf("an edit stays (-want +got):\n%s", diff)
		}
		cancel()
		<-done
		w.end(c)
	})
}

// TestOwnAPIServiceOnly: by default the controller watches only its own APIService.
func TestOwnAPIServiceOnly(t *testing.T) {
	w := newWorld(t, time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))
	c := w.injector(func(cfg *Config) { cfg.Every = false })
	w.end(c)
	if len(c.watches) != 1 || c.watches[configv1alpha1.InjectAPIService] == nil {
		t.Errorf("watches %v", c.watches)
	}
	var opts metav1.ListOptions
	c.restrict(&opts)
	if opts.FieldSelector != "metadata.name="+OwnAPIService {
		t.Errorf("lists %q", opts.FieldSelector)
	}
}

// TestAnotherInstallation: applying the manifests in a second namespace takes the APIService from the first
// installation.
func TestAnotherInstallation(t *testing.T) {
	w := newWorld(t, time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))
	c := w.injector(func(cfg *Config) { cfg.Installation = "certrotation-system" })
	defer w.end(c)
	own := target{Kind: string(configv1alpha1.InjectAPIService), Name: OwnAPIService}
	for namespace, want := range map[string]string{
		"certrotation-system": "",
		"second": "APIService v1alpha1.certrotation.dev is that of an installation in namespace second, and a cluster has one: " +
			"delete the one in certrotation-system, or apply its manifests again",
	} {
		object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Name: OwnAPIService, Annotations: map[string]string{injection.Annotation: namespace + "/certrotation-ca-bundle"},
		}}
		var got string
		if err := c.replaced(own, object); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("from %s: %q, want %q", namespace, got, want)
		}
		other := target{Kind: own.Kind, Name: "v1.others"}
		if err := c.replaced(other, object); err != nil {
			t.Errorf("APIService of somebody else: %v", err)
		}
	}
}
