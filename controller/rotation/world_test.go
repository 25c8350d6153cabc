// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2/ktesting"
	testclock "k8s.io/utils/clock/testing"

	"certrotation.dev/apis/config/load"
	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/controller/internal/apply"
	"certrotation.dev/generated/clientset/versioned"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/record"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
	"certrotation.dev/test/apifake"
	"certrotation.dev/test/apifake/sources"
)

const (
	testNamespace = "demo"
	signerName    = "web-signer"
	bundleName    = "web-bundle"
	serverLeaf    = "web-server"
	clientLeaf    = "web-client"
)

// webConfig is a domain in which both sides verify each other, and an aggregate of it.
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

// world is an API server, a clock, and members that follow what is published.
type world struct {
	t      testing.TB
	api    *apifake.Server
	client kubernetes.Interface
	own    versioned.Interface
	clock  *testclock.FakeClock
	events *recorder

	// known and knownNamespace belong to knownVersion, so that the same content is parsed only once.
	known          *inventory.Sources
	knownNamespace *inventory.Namespace
	knownVersion   int
	// former is an outdated configuration in the cache, nil if the cache is current.
	former *configv1alpha1.RotationConfiguration
	// shows may change what the cache shows.
	shows func(*inventory.Sources) *inventory.Sources
	// reports may change the report of a member, or suppress it by returning false.
	reports func(*trust.Party, *trust.Observation) bool
	// clocks is the skew that the controller measures, nil for none.
	clocks *clocks
}

func newWorld(t testing.TB, config string) *world {
	w := &world{t: t, clock: testclock.NewFakeClock(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)), events: &recorder{}}
	w.api = apifake.New(t, w.clock)
	w.client, w.own = w.api.Client, w.api.Own
	w.put(configuration(t, config))
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

// put stores an object as another client would.
func (w *world) put(o runtime.Object) {
	w.t.Helper()
	o = o.DeepCopyObject()
	o.(metav1.Object).SetNamespace(testNamespace)
	if err := w.api.Put(o); err != nil {
		w.t.Fatal(err)
	}
}

// drop deletes an object as another client would.
func (w *world) drop(o runtime.Object) {
	w.t.Helper()
	o = o.DeepCopyObject()
	o.(metav1.Object).SetNamespace(testNamespace)
	if err := w.api.Drop(o); err != nil {
		w.t.Fatal(err)
	}
}

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

// request records a request, as serve does.
func (w *world) request(kind trust.RequestKind, secret string) {
	w.t.Helper()
	made, err := record.OfRequest(testNamespace, "web", &trust.Request{Kind: kind, Secret: secret, Reason: "test"}, "somebody")
	if err != nil {
		w.t.Fatal(err)
	}
	w.put(made)
}

// configuration returns the configuration of webConfig as stored.
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
func (w *world) Live(_ context.Context, namespace string) (*inventory.Sources, error) {
	return w.timed(sources.Live(w.api, namespace)), nil
}

// timed adds the skew that the controller measures to sources.
func (w *world) timed(s *inventory.Sources) *inventory.Sources {
	if w.clocks == nil {
		return s
	}
	return s.WithClockSkew(w.clocks.latest)
}

// Sources implements Inventory.
func (w *world) Sources(namespace string) *inventory.Sources {
	w.refresh(namespace)
	return w.known
}

// Namespace implements Inventory.
func (w *world) Namespace(namespace string) *inventory.Namespace {
	w.refresh(namespace)
	return w.knownNamespace
}

func (w *world) refresh(namespace string) {
	measured := w.known != nil && (w.clocks == nil || w.known.ClockSkew != nil && *w.known.ClockSkew == w.clocks.latest)
	if measured && w.knownVersion == w.api.CachedVersion() {
		return
	}
	w.knownVersion = w.api.CachedVersion()
	w.known = w.timed(sources.Cached(w.api, namespace))
	if w.former != nil {
		w.known = w.known.WithConfiguration(w.former.Name, w.former)
	}
	if w.shows != nil {
		w.known = w.shows(w.known)
	}
	w.knownNamespace = inventory.Build(w.known)
}

func (w *world) domain() *trust.Domain {
	w.t.Helper()
	d := w.Namespace(testNamespace).Domain("web")
	if d == nil {
		w.t.Fatal("the domain is gone")
	}
	return d
}

// acknowledge has every member report the published anchors and its own leaves, as hot-reloading programs do.
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
			if w.reports != nil && !w.reports(&p, &o) || !w.evidenceLapses(m.Observations, &o) {
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

// evidenceLapses reports whether the recorded evidence differs from o or expires within a minute.
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

// settle runs controller and members until nothing changes, and returns the number of writes.
func (w *world) settle(c *Controller) int {
	w.t.Helper()
	_, ctx := ktesting.NewTestContext(w.t)
	start := w.api.Writes()
	for range 200 {
		before := w.api.Version()
		for _, k := range []key{{namespace: testNamespace}, {namespace: testNamespace, domain: "web"}, {namespace: testNamespace, status: true}} {
			if err := c.queue.Do(ctx, k); err != nil && !w.tolerates(err) {
				w.t.Fatalf("reconcile %s: %v", k, err)
			}
			w.check()
		}
		if w.api.Dead() {
			return w.api.Writes() - start
		}
		if !w.acknowledge() && w.api.Version() == before && !w.faultAhead() {
			return w.api.Writes() - start
		}
		w.clock.Step(time.Second)
	}
	w.t.Fatalf("does not settle; the domain is in the stage %s", trust.Assess(w.domain(), w.clock.Now()).Stage)
	return 0
}

// tolerates reports whether the test caused an error.
func (w *world) tolerates(err error) bool {
	return w.api.Fault != nil || apply.Benign(err)
}

// faultAhead reports whether the last write failed. Then something is left to do although nothing changed.
func (w *world) faultAhead() bool {
	if w.api.Fault == nil || w.api.Writes() == 0 {
		return false
	}
	return w.api.Fault(&apifake.Request{Number: w.api.Writes()}).Before(schema.GroupResource{}, "") != nil
}

// check must hold after every step: the content of the Secrets is whole, and every leaf chains to the bundle.
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
			verified = verified || l.Certificate.SignedBy(ca) || slices.ContainsFunc(l.Authorities, func(signer *pki.Certificate) bool {
				path := signer.Path(append(slices.Clone(l.Authorities), ca), 0)
				return l.Certificate.SignedBy(signer) && len(path) > 0 && path[len(path)-1].Equal(ca)
			})
		}
		if !verified {
			w.t.Fatalf("leaf %s chains to no anchor of the bundle", l.Name)
		}
	}
	for _, a := range w.Namespace(testNamespace).Aggregates {
		for _, b := range a.Bundles {
			if a.ConfigMap.Present && !a.ConfigMap.Unadopted() && len(a.Anchors[b.Key]) == 0 {
				w.t.Fatalf("the aggregate holds no anchor under %s", b.Key)
			}
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
