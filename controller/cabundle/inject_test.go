// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package cabundle

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"certrotation.dev/controller/internal/apply"
	"certrotation.dev/registry/injection"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
	"certrotation.dev/test/apifake"
)

// TestInjectsEveryKind: each entry of each kind gets the anchors of the bundle once. Nothing else changes.
func TestInjectsEveryKind(t *testing.T) {
	w, c := settled(t)
	ca := w.domain().Signer.Active.CommonName
	for object, entries := range map[target][]string{
		guard: {"one.demo", "two.demo"}, {Kind: "MutatingWebhookConfiguration", Name: "guard"}: {"three.demo"},
		{Kind: "APIService", Name: "v1.demo"}: {""}, {Kind: "CustomResourceDefinition", Name: "things.demo"}: {""},
		trustBundle: {""},
	} {
		want := map[string][]string{}
		for _, entry := range entries {
			want[entry] = []string{ca}
		}
		if diff := cmp.Diff(want, w.held(object)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", object, diff)
		}
		w.look(c, object)
	}
	if len(w.wrote) > 0 || w.reads > 0 {
		t.Errorf("%d reads and the writes %v at rest", w.reads, w.wrote)
	}
}

// TestReplacesPlaceholder: a newline is what people put into a caBundle so that the API server takes the object. It is
// empty, not unreadable, and injection replaces it without an event.
func TestReplacesPlaceholder(t *testing.T) {
	w, c := settled(t)
	ca := w.domain().Signer.Active.CommonName
	for _, path := range [][]string{
		{"ValidatingWebhookConfiguration", "guard"}, {"MutatingWebhookConfiguration", "guard"},
		{"APIService", "v1.demo", "spec", "caBundle"},
		{"CustomResourceDefinition", "things.demo", "spec", "conversion", "webhook", "clientConfig", "caBundle"},
	} {
		t.Run(path[0], func(t *testing.T) {
			object := target{Kind: path[0], Name: path[1]}
			w.edit(object, func(o *unstructured.Unstructured) {
				if fields := path[2:]; len(fields) > 0 {
					if err := unstructured.SetNestedField(o.Object, "Cg==", fields...); err != nil {
						t.Fatal(err)
					}
					return
				}
				for _, webhook := range o.Object["webhooks"].([]any) {
					webhook.(map[string]any)["clientConfig"].(map[string]any)["caBundle"] = "Cg=="
				}
			})
			if anchors, failure := injection.HeldByAll(w.entries(object)); len(anchors) > 0 || !strings.Contains(failure, "is empty: it was not injected yet") {
				t.Errorf("before: %d anchors, %q", len(anchors), failure)
			}
			w.look(c, object)
			for entry, anchors := range w.held(object) {
				if !slices.Equal(anchors, []string{ca}) {
					t.Errorf("entry %q holds %v", entry, anchors)
				}
			}
			if anchors, failure := injection.HeldByAll(w.entries(object)); len(anchors) != 1 || w.said(EventInjectionHeld) > 0 {
				t.Errorf("after: %d anchors, %q, events %v", len(anchors), failure, w.events)
			}
		})
	}
}

func annotated(source string) map[string]string {
	return map[string]string{injection.Annotation: source}
}

// TestLeavesAlone: without consent or without an existing bundle, the target stays as it was and an event tells
// why.
func TestLeavesAlone(t *testing.T) {
	const bundle = home + "/" + bundleName
	for name, test := range map[string]struct {
		annotations map[string]string
		change      func(*world)
		certManager bool
		// said is a part of the event, "" for no event.
		said string
	}{
		"it does not ask":               {annotations: nil},
		"cert-manager's annotation":     {annotations: map[string]string{injection.AnnotationCertManager: bundle}},
		"cert-manager's own":            {annotations: map[string]string{injection.AnnotationCertManager: "shop/certificate"}, certManager: true},
		"a bundle that does not exist":  {annotations: annotated(home + "/other"), said: "ConfigMap/other is the bundle of no trust domain"},
		"an unmanaged namespace":        {annotations: annotated("shop/bundle"), said: "does not have the label certrotation.dev/managed=true"},
		"a name without a namespace":    {annotations: annotated(bundleName), said: "is not of the form NAMESPACE/CONFIGMAP"},
		"the label was taken away":      {annotations: annotated(bundle), change: func(w *world) { w.unmanaged = true }, said: "does not have the label"},
		"the configuration disagrees":   {annotations: annotated(bundle), change: disagree, said: "injectInto of the trust domain web"},
		"the bundle is empty":           {annotations: annotated(bundle), change: func(w *world) { w.publish() }, said: "does not exist or is empty"},
		"the bundle is not ours to use": {annotations: annotated(bundle), change: unadopt, said: "does not consent"},
		"the API server refuses": {annotations: annotated(bundle), change: func(w *world) {
			w.fault = func() error { return errors.New("no right to do that") }
		}, said: "no right to do that"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))
			w.rotate()
			c := w.injector(func(cfg *Config) { cfg.CertManager = test.certManager })
			t.Cleanup(func() { w.end(c) })
			if test.change != nil {
				test.change(w)
			}
			w.register(guard, test.annotations)
			before := w.stored(guard)
			w.notice(c, guard)
			for range 3 {
				if err := c.queue.Do(w.ctx(), key{target: guard}); err != nil && w.fault == nil {
					t.Fatal(err)
				}
				w.clock.Step(patience)
			}
			if diff := cmp.Diff(before.Object, w.stored(guard).Object); diff != "" {
				t.Errorf("the target (-want +got):\n%s", diff)
			}
			want := map[bool]int{true: 1}[test.said != ""]
			if got := w.said(EventInjectionHeld); got != want || w.said(test.said) < want {
				t.Errorf("events %v", w.events)
			}
			if held := c.memory.held()[guard.Kind]; held != want {
				t.Errorf("%d are held", held)
			}
		})
	}
}

// disagree removes the target from the configuration.
func disagree(w *world) {
	cfg := w.configuration()
	cfg.Generation++
	cfg.Spec.TrustDomains[0].Bundle.InjectInto = cfg.Spec.TrustDomains[0].Bundle.InjectInto[1:]
	w.put(cfg)
}

// unadopt removes the consent from the bundle.
func unadopt(w *world) {
	bundle := w.configMap(bundleName)
	delete(bundle.Annotations, trust.AnnotationConfiguration)
	w.put(bundle)
}

// publish writes anchors into the bundle, as an edit by hand does.
func (w *world) publish(anchors ...*pki.Certificate) {
	bundle := w.configMap(bundleName)
	bundle.Data[inventory.BundleKey] = string(pki.EncodeCertificates(anchors...))
	w.put(bundle)
}

func TestCertManagersAnnotation(t *testing.T) {
	w, _ := settled(t)
	c := w.injector(func(cfg *Config) { cfg.CertManager = true })
	t.Cleanup(c.queue.ShutDown)
	w.register(guard, map[string]string{injection.AnnotationCertManager: home + "/" + bundleName})
	w.look(c, guard)
	if got := w.held(guard); len(got) != 2 {
		t.Errorf("holds %v", got)
	}
}

// TestFollows: an edit of the target is undone, and a bundle that lost an anchor in use removes nothing. An event
// tells when injection resumes.
func TestFollows(t *testing.T) {
	w, c := settled(t)
	want := w.held(guard)
	w.edit(guard, func(o *unstructured.Unstructured) {
		webhook := o.Object["webhooks"].([]any)[0].(map[string]any)
		delete(webhook["clientConfig"].(map[string]any), "caBundle")
	})
	w.look(c, guard)
	if diff := cmp.Diff(want, w.held(guard)); diff != "" {
		t.Errorf("an edit was not undone (-want +got):\n%s", diff)
	}
	foreign, err := pki.NewAuthority(pki.Profile{CommonName: "foreign", Key: pki.ECDSAP256, Validity: time.Hour}, w.clock.Now())
	if err != nil {
		t.Fatal(err)
	}
	w.publish(foreign.Certificate)
	w.look(c, guard)
	if got := w.held(guard)["one.demo"]; len(got) != 2 {
		t.Errorf("holds %v after a hand replaced the bundle", got)
	}
	w.clock.Step(patience)
	w.look(c, guard)
	if w.said("it keeps "+w.domain().Signer.Active.Subject) != 1 {
		t.Errorf("events %v", w.events)
	}
	w.publish(w.domain().Signer.Active)
	w.look(c, guard)
	if diff := cmp.Diff(want, w.held(guard)); diff != "" || w.said(EventInjectionResumed) != 1 {
		t.Errorf("events %v (-want +got):\n%s", w.events, diff)
	}
}

// TestWithdrawalTakesNothing: once the configuration no longer names the target, it keeps its anchors and does not
// follow.
func TestWithdrawalTakesNothing(t *testing.T) {
	w, c := settled(t)
	want := w.held(guard)
	disagree(w)
	w.look(c, guard)
	w.clock.Step(patience)
	w.look(c, guard)
	if diff := cmp.Diff(want, w.held(guard)); diff != "" || len(w.wrote) > 0 || w.said("injectInto") != 1 {
		t.Errorf("writes %v, events %v (-want +got):\n%s", w.wrote, w.events, diff)
	}
}

// TestDecidesOnLiveReads: an object that changed since the decision is not overwritten, and its key is tried
// again.
func TestDecidesOnLiveReads(t *testing.T) {
	for name, change := range map[string]func(*world){
		"the target asks no more": func(w *world) {
			w.edit(guard, func(o *unstructured.Unstructured) { o.SetAnnotations(nil) })
		},
		"the target is gone": dropGuard,
		"the target goes between the last read and the write": func(w *world) {
			w.api.Admit = func(r *apifake.Request) error {
				if ofTarget(r) {
					dropGuard(w)
				}
				return nil
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))
			w.rotate()
			c := w.injector(nil)
			t.Cleanup(func() { w.end(c) })
			w.register(guard, annotated(home+"/"+bundleName))
			w.notice(c, guard)
			change(w)
			if err := c.queue.Do(w.ctx(), key{target: guard}); !apply.Benign(err) || err == nil || len(w.wrote) > 0 {
				t.Errorf("%v, writes %v", err, w.wrote)
			}
			w.clock.Step(patience)
			if w.said("Injection") > 0 || c.memory.held()[guard.Kind] != 0 {
				t.Errorf("events %v, %v are held", w.events, c.memory.held())
			}
		})
	}
}

func dropGuard(w *world) {
	w.t.Helper()
	if err := w.api.Drop(addressed(guard)); err != nil {
		w.t.Fatal(err)
	}
}

// frozen is a cache without the last change.
type frozen struct {
	*world

	sources   *inventory.Sources
	namespace *inventory.Namespace
}

func (f frozen) Sources(string) *inventory.Sources     { return f.sources }
func (f frozen) Namespace(string) *inventory.Namespace { return f.namespace }

func TestOutdatedCacheWritesNothing(t *testing.T) {
	for name, change := range map[string]func(*world){
		"the configuration has withdrawn": disagree, "the bundle has lost an anchor": func(w *world) { w.publish() }, "the bundle is not ours": unadopt,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))
			w.rotate()
			cache := frozen{world: w, sources: w.Sources(home), namespace: w.Namespace(home)}
			c := w.injector(func(cfg *Config) { cfg.Inventory = cache })
			t.Cleanup(func() { w.end(c) })
			w.register(guard, annotated(home+"/"+bundleName))
			w.notice(c, guard)
			change(w)
			err := c.queue.Do(w.ctx(), key{target: guard})
			if !errors.Is(err, apply.ErrStale) || len(w.wrote) > 0 || !strings.Contains(err.Error(), "ValidatingWebhookConfiguration guard") {
				t.Errorf("%v, writes %v", err, w.wrote)
			}
		})
	}
}
