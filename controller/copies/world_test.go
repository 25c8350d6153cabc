// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package copies

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	testclock "k8s.io/utils/clock/testing"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/controller/rotation"
	ownfake "certrotation.dev/generated/clientset/versioned/fake"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/record"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

const (
	home   = "demo"
	away   = "elsewhere"
	bundle = "web-bundle"
	client = "web-client"
)

// webConfig is a domain in which both sides verify each other, with copies of what the clients need.
const webConfig = `
apiVersion: config.certrotation.dev/v1alpha1
kind: RotationConfiguration
metadata: {name: certrotation}
spec:
  trustDomains:
  - name: web
    signer: {secretName: web-signer}
    bundle: {configMapName: web-bundle}
    leaves:
    - {secretName: web-server, dnsNames: [web.demo.svc], usages: [ServerAuth]}
    - {secretName: web-client, commonName: client, usages: [ClientAuth]}
    relyingParties:
    - name: servers
      verifies: {usages: [ClientAuth]}
      presents: [web-server]
      evidence: {kind: acknowledgement}
    - name: clients
      members: [a]
      verifies: {usages: [ServerAuth]}
      presents: [web-client]
      evidence: {kind: acknowledgement}
  copies:
  - {kind: ConfigMap, name: web-bundle, toNamespace: elsewhere}
  - {kind: ConfigMap, name: web-bundle, toName: bundle-here}
  - {kind: Secret, name: web-client, toNamespace: elsewhere, toName: client}
`

// world is an API server with resource versions and conflicts, the real rotation controller over it, and members that
// load what they are told to.
type world struct {
	t      testing.TB
	client *fake.Clientset
	own    *ownfake.Clientset
	clock  *testclock.FakeClock
	events []string

	mu      sync.Mutex
	version int
	// wrote are the writes to the API server as "verb resource namespace/name".
	wrote []string
	reads int
	// fault may refuse a write.
	fault    func(write string) error
	rotation *rotation.Controller
}

var (
	_ rotation.Inventory   = (*world)(nil)
	_ Inventory            = (*world)(nil)
	_ events.EventRecorder = (*world)(nil)
)

func newWorld(t testing.TB, config string) *world {
	t.Helper()
	return newWorldAt(t, config, time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))
}

func newWorldAt(t testing.TB, config string, start time.Time) *world {
	t.Helper()
	w := &world{
		t: t, client: fake.NewClientset(), clock: testclock.NewFakeClock(start), version: 100,
		own: ownfake.NewSimpleClientset(),
	}
	for _, fake := range []*clienttesting.Fake{&w.client.Fake, &w.own.Fake} {
		fake.PrependReactor("create", "*", w.write)
		fake.PrependReactor("update", "*", w.write)
		fake.PrependReactor("delete", "*", w.write)
	}
	w.client.PrependReactor("get", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		w.reads++
		return false, nil, nil
	})
	w.agree(away, accepting)
	w.manage(home, true)
	w.put(home, configuration(t, config))
	var err error
	if w.rotation, err = rotation.New(rotation.Config{
		Client: w.client, Records: w.own.ConfigV1alpha1(), Inventory: w, Recorder: w, Clock: w.clock,
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// Whoever has never run is ended by a run that is over at once.
		over, end := context.WithCancel(w.ctx())
		end()
		w.rotation.Run(over)
	})
	return w
}

func configuration(t testing.TB, text string) *configv1alpha1.RotationConfiguration {
	t.Helper()
	cfg, err := configv1alpha1.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// tracker holds the objects of a group.
func (w *world) tracker(gvr schema.GroupVersionResource) clienttesting.ObjectTracker {
	if gvr.Group == configv1alpha1.GroupName {
		return w.own.Tracker()
	}
	return w.client.Tracker()
}

// accepting is the annotation of the namespace away that accepts every copy of webConfig.
const accepting = "other, demo/ConfigMap/web-bundle , demo/Secret/client"

// agree makes a namespace with what says which copies it accepts.
func (w *world) agree(name, accepted string) {
	w.t.Helper()
	w.namespace(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{trust.CopiesFrom: accepted}}})
}

// manage makes a namespace that is managed, or is not.
func (w *world) manage(name string, managed bool) {
	w.t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if managed {
		namespace.Labels = map[string]string{trust.LabelManaged: trust.ManagedValue}
	}
	w.namespace(namespace)
}

func (w *world) namespace(namespace *corev1.Namespace) {
	w.t.Helper()
	resource, none, name := corev1.SchemeGroupVersion.WithResource("namespaces"), "", namespace.Name
	if err := w.client.Tracker().Delete(resource, none, name); err != nil && !apierrors.IsNotFound(err) {
		w.t.Fatal(err)
	}
	if err := w.client.Tracker().Create(resource, namespace, none); err != nil {
		w.t.Fatal(err)
	}
}

// ctx says nothing to anybody.
func (w *world) ctx() context.Context {
	return klog.NewContext(context.WithoutCancel(w.t.Context()), klog.Logger{})
}

// settled is a world in the stage Stable, with a controller that has made all copies.
func settled(t testing.TB) (*world, *Controller) {
	t.Helper()
	w := newWorld(t, webConfig)
	w.rotate()
	c := w.copies(nil)
	w.reconcile(c)
	w.wrote = nil
	return w, c
}

func (w *world) copies(change func(*Config)) *Controller {
	w.t.Helper()
	cfg := Config{Client: w.client, Configurations: w.own.ConfigV1alpha1(), Inventory: w, Recorder: w, Clock: w.clock}
	if change != nil {
		change(&cfg)
	}
	c, err := New(cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(c.queue.ShutDown)
	return c
}

func (w *world) reconcile(c *Controller) {
	w.t.Helper()
	if err := c.Reconcile(w.ctx(), home); err != nil {
		w.t.Fatal(err)
	}
}

// write is what an API server does about creations, updates and deletions.
func (w *world) write(action clienttesting.Action) (bool, runtime.Object, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	gvr, namespace := action.GetResource(), action.GetNamespace()
	var o runtime.Object
	name := ""
	switch a := action.(type) {
	case clienttesting.CreateAction:
		o = a.GetObject().DeepCopyObject()
		name = o.(metav1.Object).GetName()
	case clienttesting.DeleteAction:
		name = a.GetName()
	}
	write := fmt.Sprintf("%s %s %s/%s", action.GetVerb(), gvr.Resource, namespace, name)
	w.wrote = append(w.wrote, write)
	if w.fault != nil {
		if err := w.fault(write); err != nil {
			return true, nil, err
		}
	}
	if o == nil {
		return true, nil, w.delete(gvr, namespace, name, action.(clienttesting.DeleteActionImpl).DeleteOptions.Preconditions)
	}
	stored, err := w.store(action.GetVerb(), gvr, namespace, o)
	return true, stored, err
}

func (w *world) delete(gvr schema.GroupVersionResource, namespace, name string, only *metav1.Preconditions) error {
	live, err := w.tracker(gvr).Get(gvr, namespace, name)
	if err != nil {
		return err
	}
	meta := live.(metav1.Object)
	if only != nil && ((only.UID != nil && *only.UID != meta.GetUID()) ||
		(only.ResourceVersion != nil && *only.ResourceVersion != meta.GetResourceVersion())) {
		return apierrors.NewConflict(gvr.GroupResource(), name, fmt.Errorf("it is %s", meta.GetResourceVersion()))
	}
	w.version++
	return w.tracker(gvr).Delete(gvr, namespace, name)
}

func (w *world) store(verb string, gvr schema.GroupVersionResource, namespace string, o runtime.Object) (runtime.Object, error) {
	meta := o.(metav1.Object)
	want := meta.GetResourceVersion()
	meta.SetResourceVersion(strconv.Itoa(w.version + 1))
	if verb == "create" {
		meta.SetUID(types.UID(fmt.Sprintf("uid-%d", w.version)))
		meta.SetCreationTimestamp(metav1.NewTime(w.clock.Now()))
		if err := w.tracker(gvr).Create(gvr, o, namespace); err != nil {
			return nil, err
		}
		w.version++
		return o, nil
	}
	live, err := w.tracker(gvr).Get(gvr, namespace, meta.GetName())
	if err != nil {
		return nil, err
	}
	if have := live.(metav1.Object).GetResourceVersion(); have != want {
		return nil, apierrors.NewConflict(gvr.GroupResource(), meta.GetName(), fmt.Errorf("it is %s, not %s", have, want))
	}
	if err := w.tracker(gvr).Update(gvr, o, namespace); err != nil {
		return nil, err
	}
	w.version++
	return o, nil
}

func resourceOf(o runtime.Object) schema.GroupVersionResource {
	switch o.(type) {
	case *corev1.ConfigMap:
		return corev1.SchemeGroupVersion.WithResource("configmaps")
	case *configv1alpha1.RotationConfiguration:
		return configv1alpha1.SchemeGroupVersion.WithResource("rotationconfigurations")
	case *configv1alpha1.RotationRecord:
		return configv1alpha1.SchemeGroupVersion.WithResource("rotationrecords")
	}
	return corev1.SchemeGroupVersion.WithResource("secrets")
}

// put stores an object as somebody else would.
func (w *world) put(namespace string, o runtime.Object) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	o = o.DeepCopyObject()
	meta := o.(metav1.Object)
	meta.SetNamespace(namespace)
	verb := "update"
	if live, err := w.tracker(resourceOf(o)).Get(resourceOf(o), namespace, meta.GetName()); err != nil {
		verb = "create"
	} else {
		meta.SetResourceVersion(live.(metav1.Object).GetResourceVersion())
	}
	if _, err := w.store(verb, resourceOf(o), namespace, o); err != nil {
		w.t.Fatalf("put %s: %v", meta.GetName(), err)
	}
}

func (w *world) remove(namespace string, o runtime.Object) {
	w.t.Helper()
	w.version++
	if err := w.tracker(resourceOf(o)).Delete(resourceOf(o), namespace, o.(metav1.Object).GetName()); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) secret(namespace, name string) *corev1.Secret {
	w.t.Helper()
	o, err := w.client.Tracker().Get(corev1.SchemeGroupVersion.WithResource("secrets"), namespace, name)
	if err != nil {
		w.t.Fatal(err)
	}
	return o.(*corev1.Secret).DeepCopy()
}

func (w *world) configMap(namespace, name string) *corev1.ConfigMap {
	w.t.Helper()
	o, err := w.client.Tracker().Get(corev1.SchemeGroupVersion.WithResource("configmaps"), namespace, name)
	if err != nil {
		w.t.Fatal(err)
	}
	return o.(*corev1.ConfigMap).DeepCopy()
}

// Live implements rotation.Inventory.
func (w *world) Live(_ context.Context, namespace string) (*inventory.Sources, error) {
	s := &inventory.Sources{Namespace: namespace}
	for resource, add := range map[string]func(runtime.Object){
		"secrets": func(o runtime.Object) {
			for i := range o.(*corev1.SecretList).Items {
				secret := &o.(*corev1.SecretList).Items[i]
				s = s.WithSecret(secret.Name, secret)
			}
		},
		"configmaps": func(o runtime.Object) {
			for i := range o.(*corev1.ConfigMapList).Items {
				cm := &o.(*corev1.ConfigMapList).Items[i]
				s = s.WithConfigMap(cm.Name, cm)
			}
		},
	} {
		kind := map[string]string{"secrets": "Secret", "configmaps": "ConfigMap"}[resource]
		list, err := w.client.Tracker().List(corev1.SchemeGroupVersion.WithResource(resource), corev1.SchemeGroupVersion.WithKind(kind), namespace)
		if err != nil {
			return nil, err
		}
		add(list)
	}
	return w.withOwn(s, namespace)
}

// withOwn adds the configurations and the records.
func (w *world) withOwn(s *inventory.Sources, namespace string) (*inventory.Sources, error) {
	list := func(kind string, resource string) (runtime.Object, error) {
		return w.own.Tracker().List(configv1alpha1.SchemeGroupVersion.WithResource(resource), configv1alpha1.SchemeGroupVersion.WithKind(kind), namespace)
	}
	configurations, err := list(configv1alpha1.Kind, "rotationconfigurations")
	if err != nil {
		return nil, err
	}
	for i := range configurations.(*configv1alpha1.RotationConfigurationList).Items {
		cfg := &configurations.(*configv1alpha1.RotationConfigurationList).Items[i]
		s = s.WithConfiguration(cfg.Name, cfg)
	}
	records, err := list("RotationRecord", "rotationrecords")
	if err != nil {
		return nil, err
	}
	for i := range records.(*configv1alpha1.RotationRecordList).Items {
		r := &records.(*configv1alpha1.RotationRecordList).Items[i]
		s = s.WithRecord(r.Name, r)
	}
	return s, nil
}

// Sources implements rotation.Inventory.
func (w *world) Sources(namespace string) *inventory.Sources {
	s, err := w.Live(w.t.Context(), namespace)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// Namespace implements Inventory.
func (w *world) Namespace(namespace string) *inventory.Namespace {
	return inventory.Build(w.Sources(namespace))
}

// Eventf implements events.EventRecorder.
func (w *world) Eventf(regarding, _ runtime.Object, eventType, reason, _, note string, args ...any) {
	ref := regarding.(*corev1.ObjectReference)
	w.events = append(w.events, fmt.Sprintf("%s %s %s/%s: %s", eventType, reason, ref.Kind, ref.Name, fmt.Sprintf(note, args...)))
}

// said counts the events that contain a text.
func (w *world) said(text string) int {
	n := 0
	for _, e := range w.events {
		if strings.Contains(e, text) {
			n++
		}
	}
	return n
}

func (w *world) domain() *trust.Domain { return w.Namespace(home).Domain("web") }

func (w *world) stage() trust.Stage { return trust.Assess(w.domain(), w.clock.Now()).Stage }

// step has the rotation controller do what it can, without anybody loading anything.
func (w *world) step() {
	w.t.Helper()
	for range 20 {
		before := w.version
		if err := w.rotation.Reconcile(w.ctx(), home, "web"); err != nil && !strings.Contains(err.Error(), "not proposed") {
			w.t.Fatal(err)
		}
		if w.version == before {
			return
		}
		w.clock.Step(time.Second)
	}
	w.t.Fatal("the rotation finds no end")
}

// rotate lets everybody follow until nothing is to be done.
func (w *world) rotate() {
	w.t.Helper()
	for range 20 {
		before := w.version
		w.step()
		w.acknowledge()
		if w.version == before {
			return
		}
	}
	w.t.Fatal("the rotation does not end")
}

func (w *world) request() {
	w.t.Helper()
	made, err := record.OfRequest(home, "web", &trust.Request{Kind: trust.RequestRotate, Secret: "web-signer", Reason: "test"}, "somebody")
	if err != nil {
		w.t.Fatal(err)
	}
	w.put(home, made)
}

// acknowledge has every member report what is published and what is in its leaves.
func (w *world) acknowledge() {
	d := w.domain()
	var trusts []pki.Fingerprint
	for _, ca := range d.Bundle.Anchors {
		trusts = append(trusts, ca.Fingerprint)
	}
	for _, p := range d.Parties {
		for _, m := range p.Members {
			o := trust.Observation{
				Instance: m.Name, Kind: p.Kind, Trusts: trusts, ObservedAt: w.clock.Now(), Expires: w.clock.Now().Add(24 * time.Hour),
			}
			for _, name := range m.Holds {
				if c := d.Leaf(name).Certificate; c != nil {
					o.Presents = append(o.Presents, c.Fingerprint)
				}
			}
			if len(m.Observations) == 1 && record.Same(&m.Observations[0], &o) && m.Observations[0].Expires.After(w.clock.Now()) {
				continue
			}
			made, err := record.OfEvidence(home, d.Name, p.Name, m.Name, []trust.Observation{o})
			if err != nil {
				w.t.Fatal(err)
			}
			w.put(home, made)
		}
	}
}

// foreignCA is one that nobody knows.
func (w *world) foreignCA() *pki.Pair {
	w.t.Helper()
	ca, err := pki.NewAuthority(pki.Profile{CommonName: "somebody else", Key: pki.ECDSAP256, Validity: time.Hour}, w.clock.Now())
	if err != nil {
		w.t.Fatal(err)
	}
	return ca
}

var errRefused = errors.New("refused")
