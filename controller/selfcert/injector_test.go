// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package selfcert

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	testclock "k8s.io/utils/clock/testing"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/view/inventory"
	"certrotation.dev/test/apifake"
)

// emptyStore is a cache that has seen nothing.
type emptyStore struct{ cache.Store }

func (emptyStore) GetByKey(string) (any, bool, error) { return nil, false, nil }

type fixedBundles map[string]*inventory.Sources

func (f fixedBundles) Sources(namespace string) *inventory.Sources { return f[namespace] }

func bundles(anchors ...*pki.Certificate) fixedBundles {
	return fixedBundles{testNamespace: {Namespace: testNamespace, ConfigMaps: map[string]*inventory.ConfigMap{
		"bundle": {Bundle: &inventory.Bundle{Anchors: anchors}}, "plain": {},
	}}}
}

func meta(from string) metav1.ObjectMeta {
	m := metav1.ObjectMeta{Name: "x", ResourceVersion: "7"}
	if from != "" {
		m.Annotations = map[string]string{AnnotationInject: from}
	}
	return m
}

func service(from string, ca []byte) *apiregistrationv1.APIService {
	return &apiregistrationv1.APIService{ObjectMeta: meta(from), Spec: apiregistrationv1.APIServiceSpec{
		Service: &apiregistrationv1.ServiceReference{Name: "certrotation"}, CABundle: ca,
	}}
}

func hooks(from string, cas ...[]byte) *admissionv1.ValidatingWebhookConfiguration {
	h := &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: meta(from)}
	for _, ca := range cas {
		h.Webhooks = append(h.Webhooks, admissionv1.ValidatingWebhook{ClientConfig: admissionv1.WebhookClientConfig{CABundle: ca}})
	}
	return h
}

func TestInject(t *testing.T) {
	ca := newCA(t, "ca@1", time.Hour).Certificate
	const from = testNamespace + "/bundle"
	for name, test := range map[string]struct {
		bundles fixedBundles
		service *apiregistrationv1.APIService
		hooks   *admissionv1.ValidatingWebhookConfiguration
		// want are the bundles afterwards, and patches how many it took.
		want    [][]byte
		patches int
	}{
		"both are new":             {bundles(ca), service(from, nil), hooks(from, nil, []byte("old")), [][]byte{ca.PEM(), ca.PEM(), ca.PEM()}, 2},
		"both are up to date":      {bundles(ca), service(from, ca.PEM()), hooks(from, ca.PEM()), [][]byte{ca.PEM(), ca.PEM()}, 0},
		"one hook differs":         {bundles(ca), service(from, ca.PEM()), hooks(from, ca.PEM(), nil), [][]byte{ca.PEM(), ca.PEM(), ca.PEM()}, 1},
		"not annotated":            {bundles(ca), service("", nil), hooks("", []byte("own")), [][]byte{nil, []byte("own")}, 0},
		"the bundle is empty":      {bundles(), service(from, []byte("old")), hooks(from, []byte("old")), [][]byte{[]byte("old"), []byte("old")}, 0},
		"no such bundle":           {bundles(ca), service(testNamespace+"/plain", []byte("old")), hooks("elsewhere/bundle", []byte("old")), [][]byte{[]byte("old"), []byte("old")}, 0},
		"a name without namespace": {bundles(ca), service("bundle", nil), hooks("bundle", nil), [][]byte{nil, nil}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			api := apifake.New(t, testclock.NewFakeClock(testTime), test.hooks, test.service)
			i, err := NewInjector(api.Client, api.Aggregator, test.bundles)
			if err != nil {
				t.Fatal(err)
			}
			defer i.queue.ShutDown()
			seenService, _ := apifake.Get(api, test.service)
			seenHooks, _ := apifake.Get(api, test.hooks)
			for k, obj := range map[kind]any{apiService: seenService, webhook: seenHooks} {
				if err := i.stores[k].Add(obj); err != nil {
					t.Fatal(err)
				}
				if err := i.inject(t.Context(), registration{kind: k, name: "x"}); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(test.want, current(t, api)); diff != "" {
				t.Errorf("CA bundles (-want +got):\n%s", diff)
			}
			if got := patches(api.Actions()); got != test.patches {
				t.Errorf("%d patches, want %d", got, test.patches)
			}
		})
	}
}

func current(t *testing.T, api *apifake.Server) [][]byte {
	t.Helper()
	s, isService := apifake.Get(api, &apiregistrationv1.APIService{ObjectMeta: metav1.ObjectMeta{Name: "x"}})
	h, isHook := apifake.Get(api, &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "x"}})
	if !isService || !isHook {
		t.Fatalf("APIService: %t, webhook: %t", isService, isHook)
	}
	out := [][]byte{s.Spec.CABundle}
	for _, hook := range h.Webhooks {
		out = append(out, hook.ClientConfig.CABundle)
	}
	return out
}

func patches(actions []clienttesting.Action) (n int) {
	for _, action := range actions {
		if action.GetVerb() == "patch" {
			n++
		}
	}
	return n
}

func TestOutdatedRegistrationIsNotPatched(t *testing.T) {
	ca := newCA(t, "ca@1", time.Hour).Certificate
	seen := hooks(testNamespace+"/bundle", nil)
	api := apifake.New(t, testclock.NewFakeClock(testTime), seen)
	seen, _ = apifake.Get(api, seen)
	if err := api.Put(seen); err != nil {
		t.Fatal(err)
	}
	i, err := NewInjector(api.Client, api.Aggregator, bundles(ca))
	if err != nil {
		t.Fatal(err)
	}
	defer i.queue.ShutDown()
	if err := i.stores[webhook].Add(seen); err != nil {
		t.Fatal(err)
	}
	if err := i.inject(t.Context(), registration{kind: webhook, name: "x"}); err == nil {
		t.Error("a patch for another version went through")
	}
}

func TestInjectorRuns(t *testing.T) {
	first := newCA(t, "ca@1", time.Hour).Certificate
	api := apifake.New(t, testclock.NewFakeClock(testTime), hooks(testNamespace+"/bundle", nil), service(testNamespace+"/bundle", nil))
	i, err := NewInjector(api.Client, api.Aggregator, bundles(first))
	if err != nil {
		t.Fatal(err)
	}
	watching, err := api.Client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watching.Stop()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); i.Run(ctx) }()
	next := func() []byte {
		event := <-watching.ResultChan()
		for event.Type != watch.Modified {
			event = <-watching.ResultChan()
		}
		return event.Object.(*admissionv1.ValidatingWebhookConfiguration).Webhooks[0].ClientConfig.CABundle
	}
	if diff := cmp.Diff(first.PEM(), next()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	cancel()
	<-done
}
