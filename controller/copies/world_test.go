// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package copies

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	testclock "k8s.io/utils/clock/testing"

	"certrotation.dev/apis/config/load"
	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/controller/rotation"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
	"certrotation.dev/test/apifake"
	"certrotation.dev/test/apifake/sources"
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

// world is an API server with resource versions and conflicts, the real rotation controller, and members.
type world struct {
	t      testing.TB
	api    *apifake.Server
	clock  *testclock.FakeClock
	events []string
	// wrote are the attempted writes, as "verb resource namespace/name".
	mu       sync.Mutex
	wrote    []string
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
	w := &world{t: t, clock: testclock.NewFakeClock(start)}
	w.api = apifake.New(t, w.clock)
	w.api.Admit = w.note
	w.agree(away, accepting)
	w.manage(home, true)
	w.put(home, configuration(t, config))
	var err error
	if w.rotation, err = rotation.New(rotation.Config{
		Client: w.api.Client, Records: w.api.Own.ConfigV1alpha1(), Inventory: w, Recorder: w, Clock: w.clock,
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// Run with an ended context shuts down the queue of a controller that never ran.
		over, end := context.WithCancel(w.ctx())
		end()
		w.rotation.Run(over)
	})
	return w
}

func configuration(t testing.TB, text string) *configv1alpha1.RotationConfiguration {
	t.Helper()
	cfg, err := load.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func (w *world) note(r *apifake.Request) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wrote = append(w.wrote, written(r))
	return nil
}

// written formats a write as "verb resource namespace/name".
func written(r *apifake.Request) string {
	return fmt.Sprintf("%s %s %s/%s", r.Verb, r.Resource.Resource, r.Namespace, r.Name)
}

// befalls injects a fault into the writes that so selects.
func (w *world) befalls(fault apifake.Fault, so func(write string) bool) {
	w.api.Fault = func(r *apifake.Request) apifake.Fault {
		if so(written(r)) {
			return fault
		}
		return apifake.NoFault
	}
}

// reads counts the get requests.
func (w *world) reads() int {
	n := 0
	for _, action := range w.api.Actions() {
		if action.GetVerb() == "get" {
			n++
		}
	}
	return n
}

// accepting is the annotation of the namespace away that accepts every copy of webConfig.
const accepting = "other, demo/ConfigMap/web-bundle , demo/Secret/client"

// agree creates a namespace with the annotation of the copies that it accepts.
func (w *world) agree(name, accepted string) {
	w.t.Helper()
	w.namespace(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{trust.CopiesFrom: accepted}}})
}

// manage creates a namespace, with the label of managed namespaces or without.
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
	if err := w.api.Put(namespace); err != nil {
		w.t.Fatal(err)
	}
}

// ctx has a logger that discards its output.
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
	cfg := Config{Client: w.api.Client, Configurations: w.api.Own.ConfigV1alpha1(), Inventory: w, Recorder: w, Clock: w.clock}
	if change != nil {
		change(&cfg)
	}
	c, err := New(cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(c.queue.ShutDown)
	w.t.Cleanup(c.remotes.ShutDown)
	return c
}

func (w *world) reconcile(c *Controller) {
	w.t.Helper()
	if err := c.Reconcile(w.ctx(), home); err != nil {
		w.t.Fatal(err)
	}
}

// put stores an object as another client would.
func (w *world) put(namespace string, o runtime.Object) {
	w.t.Helper()
	o = o.DeepCopyObject()
	o.(metav1.Object).SetNamespace(namespace)
	if err := w.api.Put(o); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) remove(namespace string, o runtime.Object) {
	w.t.Helper()
	o = o.DeepCopyObject()
	o.(metav1.Object).SetNamespace(namespace)
	if err := w.api.Drop(o); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) secret(namespace, name string) *corev1.Secret {
	w.t.Helper()
	secret, ok := apifake.Get(w.api, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}})
	if !ok {
		w.t.Fatalf("there is no Secret %s/%s", namespace, name)
	}
	return secret
}

func (w *world) configMap(namespace, name string) *corev1.ConfigMap {
	w.t.Helper()
	cm, ok := apifake.Get(w.api, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}})
	if !ok {
		w.t.Fatalf("there is no ConfigMap %s/%s", namespace, name)
	}
	return cm
}

// fill puts a leaf and its key into the data of a Secret.
func (w *world) fill(data map[string][]byte, leaf *pki.Pair) {
	w.t.Helper()
	key, err := leaf.KeyPEM()
	if err != nil {
		w.t.Fatal(err)
	}
	data[inventory.ActiveCertKey], data[inventory.ActiveKeyKey] = leaf.Certificate.PEM(), key
}

// Live implements rotation.Inventory.
func (w *world) Live(_ context.Context, namespace string) (*inventory.Sources, error) {
	return sources.Live(w.api, namespace), nil
}

// Sources implements rotation.Inventory.
func (w *world) Sources(namespace string) *inventory.Sources { return sources.Cached(w.api, namespace) }

// Namespace implements Inventory.
func (w *world) Namespace(namespace string) *inventory.Namespace {
	return inventory.Build(w.Sources(namespace))
}

// Eventf implements events.EventRecorder.
func (w *world) Eventf(regarding, _ runtime.Object, eventType, reason, _, note string, args ...any) {
	ref := regarding.(*corev1.ObjectReference)
	w.events = append(w.events, fmt.Sprintf("%s %s %s/%s: %s", eventType, reason, ref.Kind, ref.Name, fmt.Sprintf(note, args...)))
}

func (w *world) said(text string) int {
	n := 0
	for _, e := range w.events {
		if strings.Contains(e, text) {
			n++
		}
	}
	return n
}

var errRefused = errors.New("refused")
