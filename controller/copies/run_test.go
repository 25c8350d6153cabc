// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package copies

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	metadatafake "k8s.io/client-go/metadata/fake"
	"k8s.io/component-base/metrics"
	"k8s.io/utils/clock"

	"certrotation.dev/registry/trust"
)

// metadataOf is what the metadata client sees of a copy.
func metadataOf(resource, namespace string, meta *metav1.ObjectMeta) *metav1.PartialObjectMetadata {
	kind := map[string]string{"secrets": "Secret", "configmaps": "ConfigMap", "namespaces": "Namespace"}[resource]
	return &metav1.PartialObjectMetadata{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: kind},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: meta.Name, ResourceVersion: meta.ResourceVersion, Labels: meta.Labels, Annotations: meta.Annotations,
		},
	}
}

// TestRunRestoresAtOnce runs the controller with its watches: a copy that is deleted comes back, and at rest nothing is
// read.
func TestRunRestoresAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorldAt(t, webConfig, time.Now())
		w.rotate()
		time.Sleep(time.Minute) //nolint:forbidigo // the clock of the bubble: as long as the rotation has taken
		scheme := runtime.NewScheme()
		if err := metav1.AddMetaToScheme(scheme); err != nil {
			t.Fatal(err)
		}
		meta := metadatafake.NewSimpleMetadataClient(scheme)
		c := w.copies(func(cfg *Config) { cfg.Metadata, cfg.Clock = meta, clock.RealClock{} })
		ctx, cancel := context.WithCancel(w.ctx())
		done := make(chan struct{})
		go func() {
			defer close(done)
			c.Run(ctx)
		}()
		c.NamespaceChanged(home)
		synctest.Wait()
		if !w.same() {
			t.Fatal("the copies are not there")
		}
		namespaces := corev1.SchemeGroupVersion.WithResource("namespaces")
		for _, namespace := range []*metav1.PartialObjectMetadata{
			metadataOf("namespaces", "", &metav1.ObjectMeta{Name: home, Labels: map[string]string{trust.LabelManaged: trust.ManagedValue}}),
			metadataOf("namespaces", "", &metav1.ObjectMeta{Name: away, Annotations: map[string]string{trust.CopiesFrom: accepting}}),
		} {
			if err := meta.Tracker().Create(namespaces, namespace, ""); err != nil {
				t.Fatal(err)
			}
		}
		secrets, configMaps := corev1.SchemeGroupVersion.WithResource("secrets"), corev1.SchemeGroupVersion.WithResource("configmaps")
		for _, seen := range []*metav1.PartialObjectMetadata{
			metadataOf("secrets", away, &w.secret(away, "client").ObjectMeta),
			metadataOf("configmaps", away, &w.configMap(away, bundle).ObjectMeta),
			metadataOf("configmaps", home, &w.configMap(home, "bundle-here").ObjectMeta),
		} {
			gvr := configMaps
			if seen.Kind == "Secret" {
				gvr = secrets
			}
			if err := meta.Tracker().Create(gvr, seen, seen.Namespace); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		w.reads, w.wrote = 0, nil
		c.NamespaceChanged(home)
		synctest.Wait()
		time.Sleep(time.Hour) //nolint:forbidigo // the clock of the bubble
		if w.reads > 0 || len(w.wrote) > 0 {
			t.Errorf("%d reads and the writes %v at rest", w.reads, w.wrote)
		}
		w.remove(away, w.secret(away, "client"))
		if err := meta.Tracker().Delete(secrets, away, "client"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if !w.same() || len(w.wrote) != 1 {
			t.Errorf("not restored: writes %v", w.wrote)
		}
		// Somebody withdraws, and nobody else says anything.
		w.agree(away, "demo/ConfigMap/web-bundle")
		if err := meta.Tracker().Update(namespaces, metadataOf("namespaces", "", &metav1.ObjectMeta{
			Name: away, Annotations: map[string]string{trust.CopiesFrom: "demo/ConfigMap/web-bundle"},
		}), ""); err != nil {
			t.Fatal(err)
		}
		if err := meta.Tracker().Create(secrets, metadataOf("secrets", away, &w.secret(away, "client").ObjectMeta), away); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if !slices.Contains(w.wrote, gone[1]) {
			t.Errorf("not taken back: writes %v", w.wrote)
		}
		cancel()
		<-done
	})
}

// TestRunFindsWhatIsNotWanted: after a restart a copy that nobody asks for is known by its label.
func TestRunFindsWhatIsNotWanted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := settled(t)
		w.put(home, configuration(t, withoutCopies))
		scheme := runtime.NewScheme()
		if err := metav1.AddMetaToScheme(scheme); err != nil {
			t.Fatal(err)
		}
		meta := metadatafake.NewSimpleMetadataClient(scheme)
		if err := meta.Tracker().Create(corev1.SchemeGroupVersion.WithResource("secrets"),
			metadataOf("secrets", away, &w.secret(away, "client").ObjectMeta), away); err != nil {
			t.Fatal(err)
		}
		c := w.copies(func(cfg *Config) { cfg.Metadata, cfg.Clock = meta, clock.RealClock{} })
		ctx, cancel := context.WithCancel(w.ctx())
		done := make(chan struct{})
		go func() {
			defer close(done)
			c.Run(ctx)
		}()
		synctest.Wait()
		if diff := cmp.Diff(gone[1:], w.wrote); diff != "" {
			t.Errorf("writes (-want +got):\n%s", diff)
		}
		cancel()
		<-done
	})
}

func TestRunEndsBeforeTheFirstList(t *testing.T) {
	w := newWorld(t, webConfig)
	scheme := runtime.NewScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c := w.copies(func(cfg *Config) { cfg.Metadata = metadatafake.NewSimpleMetadataClient(scheme) })
	ctx, cancel := context.WithCancel(w.ctx())
	cancel()
	c.Run(ctx)
}

// heldCopies is what the metric shows.
func heldCopies(t *testing.T, c *Controller) float64 {
	t.Helper()
	registry := metrics.NewKubeRegistry()
	c.metrics.register(registry)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "certrotation_copies_held" {
			return f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	t.Fatal("there is no metric")
	return 0
}

func TestLabelValue(t *testing.T) {
	if got := labelValue("demo", "web"); got != "demo.web" {
		t.Errorf("got %s", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		label := rapid.StringMatching(`[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?`)
		namespace, name := label.Draw(t, "namespace"), label.Draw(t, "name")+"."+label.Draw(t, "more")
		value := labelValue(namespace, name)
		if errs := validation.IsValidLabelValue(value); len(errs) > 0 {
			t.Errorf("%s: %v", value, errs)
		}
		if labelValue(namespace, name+"x") == value {
			t.Errorf("two sources are called %s", value)
		}
	})
}

// TestPanic: a fault of ours in one copy stops that copy only.
func TestPanic(t *testing.T) {
	w := newWorld(t, webConfig)
	c := w.copies(nil)
	c.inventory = nil
	if err := c.queue.Do(w.ctx(), key{from: home}); err == nil || !strings.Contains(err.Error(), "panic while working on demo") {
		t.Errorf("got %v", err)
	}
}
