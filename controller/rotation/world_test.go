// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"context"
	"errors"
	"fmt"
	"strconv"
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
	"k8s.io/klog/v2/ktesting"
	testclock "k8s.io/utils/clock/testing"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/controller/internal/apply"
	ownfake "certrotation.dev/generated/clientset/versioned/fake"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/record"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

const (
	testNamespace = "demo"
	signerName    = "web-signer"
	bundleName    = "web-bundle"
	serverLeaf    = "web-server"
	clientLeaf    = "web-client"
)

// webConfig is a domain in which both sides verify each other, and an aggregate over it.
const webConfig = `
apiVersion: config.certrotation.dev/v1alpha1
kind: RotationConfiguration
metadata: {name: web}
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
  aggregate:
    secretName: all-certs
    leaves: [web-server, web-client]
    configMapName: all-bundles
    bundles: [{key: web.crt, configMapName: web-bundle}]
`

// errCrash is what every write gets after the process is dead.
var errCrash = errors.New("the process is dead")

// world is an API server with resource versions and conflicts, a clock, and the members that follow what is published.
type world struct {
	t      testing.TB
	client *fake.Clientset
	own    *ownfake.Clientset
	clock  *testclock.FakeClock
	events *recorder

	mu      sync.Mutex
	version int
	// writes of the controller so far; fault is asked before each (number from 1) and may name what goes wrong.
	writes int
	fault  func(write int) fault
	dead   bool
	// refuse is asked before each write of the controller what the API server says to it; nil for yes.
	refuse func(verb string, o metav1.Object) error
	// known are the Sources and the Namespace at a version, so that equal content is parsed once.
	known          *inventory.Sources
	knownNamespace *inventory.Namespace
	knownVersion   int
	// frozen is the answer of a cache that has stopped, nil for one that is up to date.
	frozen *inventory.Sources
	// clocks is what the process of the controller measures of its clock, nil for nothing.
	clocks *clocks
}

// fault says what goes wrong with a write.
type fault int

const (
	noFault fault = iota
	conflict
	internalError
	timeoutAfterSuccess
	crashAfterSuccess
)

func newWorld(t testing.TB, config string) *world {
	w := &world{
		t: t, client: fake.NewClientset(), own: ownfake.NewSimpleClientset(),
		clock:  testclock.NewFakeClock(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)),
		events: &recorder{}, version: 100,
	}
	for _, fake := range []*clienttesting.Fake{&w.client.Fake, &w.own.Fake} {
		fake.PrependReactor("create", "*", w.create)
		fake.PrependReactor("update", "*", w.update)
		fake.PrependReactor("delete", "*", w.remove)
		fake.PrependReactor("patch", "*", w.apply)
	}
	w.put(configuration(t, config))
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

// put stores an object behind the controller's back, as another client would.
func (w *world) put(o runtime.Object) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.version++
	o = o.DeepCopyObject()
	meta := o.(metav1.Object)
	meta.SetNamespace(testNamespace)
	meta.SetResourceVersion(strconv.Itoa(w.version))
	if meta.GetUID() == "" {
		meta.SetUID(types.UID(fmt.Sprintf("uid-%d", w.version)))
		meta.SetCreationTimestamp(metav1.NewTime(w.clock.Now()))
	}
	gvr := resourceOf(o)
	err := w.tracker(gvr).Create(gvr, o, testNamespace)
	if apierrors.IsAlreadyExists(err) {
		err = w.tracker(gvr).Update(gvr, o, testNamespace)
	}
	if err != nil {
		w.t.Fatalf("put %s: %v", meta.GetName(), err)
	}
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

// drop deletes an object behind the controller's back.
func (w *world) drop(o runtime.Object) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.version++
	gvr := resourceOf(o)
	if err := w.tracker(gvr).Delete(gvr, testNamespace, o.(metav1.Object).GetName()); err != nil {
		w.t.Fatal(err)
	}
}

// records are those of a kind, by name.
func (w *world) records(kind configv1alpha1.RecordKind) map[string]*configv1alpha1.RotationRecord {
	w.t.Helper()
	list, err := w.own.ConfigV1alpha1().RotationRecords(testNamespace).List(context.WithoutCancel(w.t.Context()), metav1.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	out := map[string]*configv1alpha1.RotationRecord{}
	for i := range list.Items {
		if list.Items[i].Spec.Kind == kind {
			out[list.Items[i].Name] = &list.Items[i]
		}
	}
	return out
}

// request records what somebody has asked for, as serve does.
func (w *world) request(kind trust.RequestKind, secret string) {
	w.t.Helper()
	made, err := record.OfRequest(testNamespace, "web", &trust.Request{Kind: kind, Secret: secret, Reason: "test"}, "somebody")
	if err != nil {
		w.t.Fatal(err)
	}
	w.put(made)
}

// configuration is the one of webConfig.
func (w *world) configuration() *configv1alpha1.RotationConfiguration {
	w.t.Helper()
	cfg, err := w.own.ConfigV1alpha1().RotationConfigurations(testNamespace).Get(context.WithoutCancel(w.t.Context()), "web", metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return cfg
}

func (w *world) secret(name string) *corev1.Secret {
	w.t.Helper()
	secret, err := w.client.CoreV1().Secrets(testNamespace).Get(context.WithoutCancel(w.t.Context()), name, metav1.GetOptions{})
	if err != nil {
		w.t.Fatalf("get Secret %s: %v", name, err)
	}
	return secret
}

func (w *world) configMap(name string) *corev1.ConfigMap {
	w.t.Helper()
	cm, err := w.client.CoreV1().ConfigMaps(testNamespace).Get(context.WithoutCancel(w.t.Context()), name, metav1.GetOptions{})
	if err != nil {
		w.t.Fatalf("get ConfigMap %s: %v", name, err)
	}
	return cm
}

// Live implements Inventory.
func (w *world) Live(ctx context.Context, namespace string) (*inventory.Sources, error) {
	s, err := w.stored(ctx, namespace)
	if err != nil || w.clocks == nil {
		return s, err
	}
	return s.WithClockSkew(w.clocks.latest), nil
}

// stored is what every process finds in the API server.
func (w *world) stored(ctx context.Context, namespace string) (*inventory.Sources, error) {
	s := &inventory.Sources{Namespace: namespace}
	secrets, err := w.client.CoreV1().Secrets(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for i := range secrets.Items {
		s = s.WithSecret(secrets.Items[i].Name, &secrets.Items[i])
	}
	configMaps, err := w.client.CoreV1().ConfigMaps(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for i := range configMaps.Items {
		s = s.WithConfigMap(configMaps.Items[i].Name, &configMaps.Items[i])
	}
	configurations, err := w.own.ConfigV1alpha1().RotationConfigurations(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for i := range configurations.Items {
		s = s.WithConfiguration(configurations.Items[i].Name, &configurations.Items[i])
	}
	records, err := w.own.ConfigV1alpha1().RotationRecords(namespace).List(ctx, metav1.ListOptions{})
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
	if w.frozen != nil {
		return w.frozen
	}
	w.refresh(namespace)
	return w.known
}

// Namespace implements Inventory.
func (w *world) Namespace(namespace string) *inventory.Namespace {
	if w.frozen != nil {
		return inventory.Build(w.frozen)
	}
	w.refresh(namespace)
	return w.knownNamespace
}

func (w *world) refresh(namespace string) {
	measured := w.known != nil && (w.clocks == nil || w.known.ClockSkew != nil && *w.known.ClockSkew == w.clocks.latest)
	if measured && w.knownVersion == w.version {
		return
	}
	s, err := w.Live(context.WithoutCancel(w.t.Context()), namespace)
	if err != nil {
		w.t.Fatalf("list: %v", err)
	}
	w.known, w.knownNamespace, w.knownVersion = s, inventory.Build(s), w.version
}

func (w *world) domain() *trust.Domain {
	w.t.Helper()
	d := w.Namespace(testNamespace).Domain("web")
	if d == nil {
		w.t.Fatal("the domain is gone")
	}
	return d
}

// acknowledge has every member report what is published and what is in its leaves, as hot-reloading programs do.
func (w *world) acknowledge() (changed bool) {
	d := w.domain()
	var trusts []pki.Fingerprint
	for _, ca := range d.Bundle.Anchors {
		trusts = append(trusts, ca.Fingerprint)
	}
	for _, p := range d.Parties {
		for _, m := range p.Members {
			o := trust.Observation{
				Instance: m.Name, Kind: p.Kind, Trusts: trusts, ObservedAt: w.clock.Now(), Expires: w.clock.Now().Add(time.Hour),
			}
			for _, name := range m.Holds {
				if l := d.Leaf(name); l != nil && l.Certificate != nil {
					o.Presents = append(o.Presents, l.Certificate.Fingerprint)
				}
			}
			if !w.evidenceLapses(m.Observations, &o) {
				continue
			}
			changed = true
			made, err := record.OfEvidence(testNamespace, d.Name, p.Name, m.Name, []trust.Observation{o})
			if err != nil {
				w.t.Fatal(err)
			}
			w.put(made)
		}
	}
	return changed
}

// evidenceLapses says whether what is recorded of a member does not say the same as o for another while.
func (w *world) evidenceLapses(recorded []trust.Observation, o *trust.Observation) bool {
	return len(recorded) != 1 || !record.Same(&recorded[0], o) || !recorded[0].Expires.After(w.clock.Now().Add(time.Minute))
}

func (w *world) controller() *Controller {
	w.t.Helper()
	c, err := New(Config{Client: w.client, Records: w.own.ConfigV1alpha1(), Inventory: w, Recorder: w.events, Clock: w.clock})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(c.queue.ShutDown)
	return c
}

// settle lets the controller and the members work until neither has anything to do, and returns the number of writes.
func (w *world) settle(c *Controller) int {
	w.t.Helper()
	_, ctx := ktesting.NewTestContext(w.t)
	start := w.writes
	for range 200 {
		before := w.version
		for _, k := range []key{{namespace: testNamespace}, {namespace: testNamespace, domain: "web"}, {namespace: testNamespace, status: true}} {
			if err := c.queue.Do(ctx, k); err != nil && !w.tolerates(err) {
				w.t.Fatalf("reconcile %s: %v", k, err)
			}
			w.check()
		}
		if w.dead {
			return w.writes - start
		}
		if !w.acknowledge() && w.version == before && !w.faultAhead() {
			return w.writes - start
		}
		w.clock.Step(time.Second)
	}
	w.t.Fatalf("does not settle; the domain is in the stage %s", trust.Assess(w.domain(), w.clock.Now()).Stage)
	return 0
}

// tolerates says whether an error is one that the test has caused.
func (w *world) tolerates(err error) bool {
	return w.fault != nil || apply.Benign(err)
}

// faultAhead says whether the last write failed, so that nothing has changed though something is to be done.
func (w *world) faultAhead() bool {
	return w.fault != nil && w.writes > 0 && (w.fault(w.writes) == conflict || w.fault(w.writes) == internalError)
}

// check holds after every step: what is in the Secrets is whole, and whoever has the bundle can verify it.
func (w *world) check() {
	w.t.Helper()
	d := w.domain()
	for _, o := range []*trust.Object{&d.Signer.Object, &d.Bundle.Object} {
		if o.Problem != nil && !o.Unadopted() {
			w.t.Fatalf("half-written: %s %s", o.Problem.Object, o.Problem.Message)
		}
	}
	for i := range d.Leaves {
		l := &d.Leaves[i]
		if l.Problem != nil && !l.Unadopted() {
			w.t.Fatalf("half-written: %s %s", l.Problem.Object, l.Problem.Message)
		}
		if l.Certificate == nil {
			continue
		}
		verified := false
		for _, ca := range d.Bundle.Anchors {
			verified = verified || l.Certificate.SignedBy(ca)
		}
		if !verified {
			w.t.Fatalf("leaf %s chains to no anchor of the bundle", l.Name)
		}
	}
}

// recorder keeps events as "type reason object: note".
type recorder struct {
	mu  sync.Mutex
	all []string
}

var _ events.EventRecorder = (*recorder)(nil)

func (r *recorder) Eventf(regarding, _ runtime.Object, eventType, reason, _, note string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	ref := regarding.(*corev1.ObjectReference)
	r.all = append(r.all, fmt.Sprintf("%s %s %s/%s: %s", eventType, reason, ref.Kind, ref.Name, fmt.Sprintf(note, args...)))
}
