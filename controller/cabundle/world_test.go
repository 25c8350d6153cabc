// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package cabundle

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/yaml"

	"certrotation.dev/apis/config/load"
	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/controller/rotation"
	"certrotation.dev/registry/injection"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/record"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
	"certrotation.dev/test/apifake"
)

const (
	home       = "demo"
	signerName = "web-signer"
	bundleName = "web-bundle"
	serverLeaf = "web-server"
)

// webConfig is the PKI of a webhook. kube-apiserver verifies the server by caBundles and reports what they hold.
const webConfig = `
apiVersion: config.certrotation.dev/v1alpha1
kind: RotationConfiguration
metadata: {name: web, namespace: demo}
spec:
  trustDomains:
  - name: web
    signer: {secretName: web-signer}
    bundle:
      configMapName: web-bundle
      injectInto:
      - {kind: ValidatingWebhookConfiguration, name: guard}
      - {kind: MutatingWebhookConfiguration, name: guard}
      - {kind: APIService, name: v1.demo}
      - {kind: CustomResourceDefinition, name: things.demo}
      - {kind: ClusterTrustBundle, name: web}
    leaves:
    - {secretName: web-server, dnsNames: [web.demo.svc], usages: [ServerAuth]}
    relyingParties:
    - name: kube-apiserver
      verifies: {usages: [ServerAuth]}
      evidence: {kind: acknowledgement}
    - name: server
      verifies: {nothing: true}
      presents: [web-server]
      evidence: {kind: acknowledgement}
`

// objects are the targets, each without a CA bundle.
var objects = map[target]string{
	{Kind: "ValidatingWebhookConfiguration", Name: "guard"}: `
webhooks:
- {name: one.demo, clientConfig: {service: {namespace: demo, name: web}}}
- {name: two.demo, clientConfig: {url: "https://web.demo.svc"}}`,
	{Kind: "MutatingWebhookConfiguration", Name: "guard"}: `
webhooks:
- {name: three.demo, clientConfig: {service: {namespace: demo, name: web}}}`,
	{Kind: "APIService", Name: "v1.demo"}: `
spec: {group: demo, version: v1, service: {namespace: demo, name: web}}`,
	{Kind: "CustomResourceDefinition", Name: "things.demo"}: `
spec: {group: demo, conversion: {strategy: Webhook, webhook: {clientConfig: {service: {namespace: demo, name: web}}}}}`,
	// A real API server refuses an empty trustBundle. TestTrustBundleGoesOn starts with a valid one.
	trustBundle: `
spec: {trustBundle: ""}`,
}

// trustBundle is a target that kube-apiserver does not verify by.
var trustBundle = target{Kind: "ClusterTrustBundle", Name: "web"}

// guard is the target of most tests.
var guard = target{Kind: "ValidatingWebhookConfiguration", Name: "guard"}

// world is an API server with targets, and the real rotation controller.
type world struct {
	t        rapid.TB
	api      *apifake.Server
	clock    *testclock.FakeClock
	rotation *rotation.Controller
	events   []string
	// unmanaged is true if the namespace is no longer managed.
	unmanaged bool
	// reads counts the reads of targets, and wrote has the writes.
	reads int
	wrote []string
	// fault may refuse a write of a target.
	fault func() error
	// unserved is the fault of list and watch requests for ClusterTrustBundles. asked counts these requests.
	unserved apifake.Fault
	asked    int
}

var (
	_ rotation.Inventory   = (*world)(nil)
	_ Inventory            = (*world)(nil)
	_ events.EventRecorder = (*world)(nil)
)

func newWorld(t rapid.TB, at time.Time) *world {
	t.Helper()
	w := &world{t: t, clock: testclock.NewFakeClock(at)}
	w.api = apifake.New(t, w.clock)
	w.watchRequests()
	cfg, err := load.Decode([]byte(webConfig))
	if err != nil {
		t.Fatal(err)
	}
	cfg.Namespace = home
	w.put(cfg)
	if w.rotation, err = rotation.New(rotation.Config{
		Client: w.api.Client, Records: w.api.Own.ConfigV1alpha1(), Inventory: w, Recorder: w, Clock: w.clock,
	}); err != nil {
		t.Fatal(err)
	}
	return w
}

// end ends the queue of a controller that never ran.
func (w *world) end(c *Controller) {
	over, end := context.WithCancel(w.ctx())
	end()
	w.rotation.Run(over)
	c.queue.ShutDown()
}

func (w *world) ctx() context.Context { return klog.NewContext(context.Background(), klog.Logger{}) }

func (w *world) put(o runtime.Object) {
	w.t.Helper()
	if err := w.api.Put(o); err != nil {
		w.t.Fatal(err)
	}
}

func ofTarget(r *apifake.Request) bool {
	for _, resource := range injection.Resources {
		if r.Resource == resource {
			return true
		}
	}
	return false
}

// watchRequests records reads and writes of targets, and injects the faults of a test.
func (w *world) watchRequests() {
	w.api.ReadFault = func(r *apifake.Request) apifake.Fault {
		switch {
		case r.Verb == "get" && ofTarget(r):
			w.reads++
		case r.Resource == injection.Resources[configv1alpha1.InjectTrustBundle]:
			w.asked++
			return w.unserved
		}
		return apifake.NoFault
	}
	w.api.Admit = func(r *apifake.Request) error {
		if !ofTarget(r) {
			return nil
		}
		w.wrote = append(w.wrote, r.String())
		if w.fault != nil {
			return w.fault()
		}
		return nil
	}
}

// addressed returns a target with kind and name only.
func addressed(t target) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(injection.Resources[configv1alpha1.InjectionKind(t.Kind)].GroupVersion().WithKind(t.Kind))
	o.SetName(t.Name)
	return o
}

// stored returns a target as the API server has it.
func (w *world) stored(t target) *unstructured.Unstructured {
	w.t.Helper()
	o, ok := apifake.Get(w.api, addressed(t))
	if !ok {
		w.t.Fatalf("%v does not exist", t)
	}
	return o
}

// register creates or replaces a target, as a user does.
func (w *world) register(t target, annotations map[string]string) {
	w.t.Helper()
	o := addressed(t)
	if err := yaml.Unmarshal([]byte(objects[t]), &o.Object); err != nil {
		w.t.Fatal(err)
	}
	o.SetAnnotations(annotations)
	w.put(o)
}

func (w *world) edit(t target, change func(*unstructured.Unstructured)) {
	w.t.Helper()
	o := w.stored(t)
	change(o)
	w.put(o)
}

// metadataOf returns a target as the metadata client reads it.
func (w *world) metadataOf(t target) *metav1.PartialObjectMetadata {
	o := w.stored(t)
	return &metav1.PartialObjectMetadata{
		TypeMeta: metav1.TypeMeta{APIVersion: o.GetAPIVersion(), Kind: o.GetKind()},
		ObjectMeta: metav1.ObjectMeta{
			Name: o.GetName(), UID: o.GetUID(), ResourceVersion: o.GetResourceVersion(), Annotations: o.GetAnnotations(),
		},
	}
}

// notice delivers the stored target through a controller's watch.
func (w *world) notice(c *Controller, t target) {
	w.t.Helper()
	kept, err := annotationsOnly(w.metadataOf(t))
	if err != nil {
		w.t.Fatal(err)
	}
	if err := c.watches[configv1alpha1.InjectionKind(t.Kind)].GetStore().Add(kept); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) injector(change func(*Config)) *Controller {
	w.t.Helper()
	cfg := Config{
		Targets: w.api.Dynamic, Metadata: w.api.Metadata, Client: w.api.Client, Configurations: w.api.Own.ConfigV1alpha1(),
		Inventory: w, Recorder: w, Every: true, Clock: w.clock,
	}
	if change != nil {
		change(&cfg)
	}
	c, err := New(cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// held returns the common names of the anchors, by caBundle of a target.
func (w *world) held(t target) map[string][]string {
	w.t.Helper()
	out := map[string][]string{}
	for _, entry := range w.entries(t) {
		for _, anchor := range entry.Anchors {
			out[entry.Name] = append(out[entry.Name], anchor.CommonName)
		}
	}
	return out
}

func (w *world) entries(t target) []injection.Entry {
	w.t.Helper()
	entries, err := injection.Entries(configv1alpha1.InjectionKind(t.Kind), w.stored(t))
	if err != nil {
		w.t.Fatal(err)
	}
	return entries
}

func (w *world) configMap(name string) *corev1.ConfigMap {
	w.t.Helper()
	o, err := w.api.Client.CoreV1().ConfigMaps(home).Get(w.ctx(), name, metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return o
}

func (w *world) configuration() *configv1alpha1.RotationConfiguration {
	w.t.Helper()
	o, err := w.api.Own.ConfigV1alpha1().RotationConfigurations(home).Get(w.ctx(), "web", metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return o
}

// Managed implements Inventory.
func (w *world) Managed(namespace string) bool { return namespace == home && !w.unmanaged }

// Live implements rotation.Inventory.
func (w *world) Live(ctx context.Context, namespace string) (*inventory.Sources, error) {
	s := &inventory.Sources{Namespace: namespace}
	secrets, err := w.api.Client.CoreV1().Secrets(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for i := range secrets.Items {
		s = s.WithSecret(secrets.Items[i].Name, &secrets.Items[i])
	}
	configMaps, err := w.api.Client.CoreV1().ConfigMaps(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for i := range configMaps.Items {
		s = s.WithConfigMap(configMaps.Items[i].Name, &configMaps.Items[i])
	}
	configurations, err := w.api.Own.ConfigV1alpha1().RotationConfigurations(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for i := range configurations.Items {
		s = s.WithConfiguration(configurations.Items[i].Name, &configurations.Items[i])
	}
	records, err := w.api.Own.ConfigV1alpha1().RotationRecords(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for i := range records.Items {
		s = s.WithRecord(records.Items[i].Name, &records.Items[i])
	}
	return s, nil
}

// Sources implements Inventory.
func (w *world) Sources(namespace string) *inventory.Sources {
	s, err := w.Live(w.ctx(), namespace)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// Namespace implements Inventory.
func (w *world) Namespace(namespace string) *inventory.Namespace {
	if namespace != home || w.unmanaged {
		return nil
	}
	return inventory.Build(w.Sources(namespace))
}

func (w *world) domain() *trust.Domain {
	w.t.Helper()
	d := w.Namespace(home).Domain("web")
	if d == nil {
		w.t.Fatal("the domain is gone")
	}
	return d
}

// Eventf implements events.EventRecorder.
func (w *world) Eventf(regarding, _ runtime.Object, eventType, reason, _, note string, args ...any) {
	ref := regarding.(*corev1.ObjectReference)
	w.events = append(w.events, fmt.Sprintf("%s %s %s/%s: %s", eventType, reason, ref.Kind, ref.Name, fmt.Sprintf(note, args...)))
}

func (w *world) said(text string) int {
	return len(slices.DeleteFunc(slices.Clone(w.events), func(e string) bool { return !strings.Contains(e, text) }))
}

// rotate runs the rotation controller until it writes nothing.
func (w *world) rotate() {
	w.t.Helper()
	for range 20 {
		before := w.api.Version()
		w.turn()
		if w.api.Version() == before {
			return
		}
	}
	w.t.Fatal("the rotation does not settle")
}

// turn reconciles the rotation controller once.
func (w *world) turn() {
	w.t.Helper()
	if err := w.rotation.Reconcile(w.ctx(), home, "web"); err != nil {
		w.t.Fatal(err)
	}
}

// report stores an acknowledgement of a party.
func (w *world) report(party string, trusts, presents []pki.Fingerprint) {
	w.t.Helper()
	now := w.clock.Now()
	made, err := record.OfEvidence(home, "web", party, party, []trust.Observation{{
		Instance: party, Kind: trust.Acknowledgement, Trusts: trusts, Presents: presents, ObservedAt: now, Expires: now.Add(time.Hour),
	}})
	if err != nil {
		w.t.Fatal(err)
	}
	w.put(made)
}

// settled is a world at rest. Every target has the anchors that it asks for.
func settled(t *testing.T) (*world, *Controller) {
	t.Helper()
	w := newWorld(t, time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))
	w.rotate()
	c := w.injector(nil)
	t.Cleanup(func() { w.end(c) })
	for object := range objects {
		w.register(object, map[string]string{injection.Annotation: home + "/" + bundleName})
		w.look(c, object)
	}
	w.wrote, w.reads = nil, 0
	return w, c
}

// look delivers a target to the injector and has it work on it once.
func (w *world) look(c *Controller, t target) {
	w.t.Helper()
	w.notice(c, t)
	if err := c.queue.Do(w.ctx(), key{target: t}); err != nil {
		w.t.Fatalf("look at %v: %v", t, err)
	}
	w.notice(c, t)
}
