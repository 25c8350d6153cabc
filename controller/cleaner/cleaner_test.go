// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package cleaner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"certrotation.dev/apis/config/load"
	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/controller/internal/apply"
	"certrotation.dev/registry/orphan"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/record"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
	"certrotation.dev/test/apifake"
	"certrotation.dev/test/apifake/sources"
)

const (
	demo   = "demo"
	config = `
apiVersion: config.certrotation.dev/v1alpha1
kind: RotationConfiguration
metadata: {name: mesh}
spec:
  trustDomains:
  - name: mesh
    signer: {secretName: signer}
    bundle: {configMapName: bundle}
    leaves:
    - {secretName: "peer-{node}", forEachNode: {matchLabels: {role: master}}, commonName: peer, usages: [ServerAuth]}
    relyingParties:
    - name: peers
      forEachNode: {matchLabels: {role: master}}
      verifies: {usages: [ServerAuth]}
      presents: ["peer-{node}"]
      evidence: {kind: acknowledgement}
`
)

// world is an API server with the nodes of a cluster.
type world struct {
	t   testing.TB
	api *apifake.Server
	// mu guards only wrote. A test changes the other fields only while the controller is idle.
	mu     sync.Mutex
	wrote  []string
	events []string
	// unread is the error of live reads.
	unread error
	skew   clocks
}

var _ events.EventRecorder = (*world)(nil)

// clocks is a rotation.Skew with a fixed answer.
type clocks struct {
	asked time.Duration
	err   error
}

func (c clocks) Ask(context.Context) (time.Duration, error) { return c.asked, c.err }

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{t: t}
	w.api = apifake.New(t, clock.RealClock{})
	w.api.Admit, w.api.Stored = w.preconditioned, w.note
	w.become("a", "b")
	configuration, err := load.Decode([]byte(config))
	if err != nil {
		t.Fatal(err)
	}
	w.put(configuration)
	ca, err := pki.NewAuthority(pki.Profile{CommonName: pki.GenerationName(demo, "signer", time.Now()), Key: pki.ECDSAP256, Validity: 24 * 365 * time.Hour}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	w.put(secretOf("signer", ca, nil))
	w.put(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "bundle", Annotations: consent()}, Data: map[string]string{inventory.BundleKey: string(ca.CertPEM())}})
	for _, node := range []string{"a", "b", "c"} {
		leaf, err := ca.Issue(pki.Profile{CommonName: "peer", Usages: []pki.Usage{pki.ServerAuth}, Key: pki.ECDSAP256, Validity: 24 * 300 * time.Hour}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		w.put(secretOf("peer-"+node, leaf, map[string]string{trust.LabelManagedType: trust.ManagedTypeTarget, trust.LabelTrustDomain: "mesh"}))
		seen, err := record.OfEvidence(demo, "mesh", "peers", node, []trust.Observation{{
			Instance: "one", Kind: trust.Acknowledgement, ObservedAt: time.Now(), Expires: time.Now().Add(time.Hour),
		}})
		if err != nil {
			t.Fatal(err)
		}
		w.put(seen)
	}
	return w
}

// consent returns the annotation that lets the configuration use an object.
func consent() map[string]string { return map[string]string{trust.AnnotationConfiguration: "mesh"} }

func secretOf(name string, pair *pki.Pair, labels map[string]string) *corev1.Secret {
	key, err := pair.KeyPEM()
	if err != nil {
		return nil
	}
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels, Annotations: consent()}, Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{inventory.ActiveCertKey: pair.CertPEM(), inventory.ActiveKeyKey: key},
	}
}

// become sets the nodes of the cluster.
func (w *world) become(nodes ...string) {
	w.t.Helper()
	for _, node := range apifake.All(w.api, apifake.Live, &corev1.Node{}, "") {
		if !slices.Contains(nodes, node.Name) {
			if err := w.api.Drop(node); err != nil {
				w.t.Fatal(err)
			}
		}
	}
	for _, name := range nodes {
		if err := w.api.Put(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"role": "master"}}}); err != nil {
			w.t.Fatal(err)
		}
	}
}

// put stores an object as another client would.
func (w *world) put(o runtime.Object) {
	w.t.Helper()
	o.(metav1.Object).SetNamespace(demo)
	if err := w.api.Put(o); err != nil {
		w.t.Fatal(err)
	}
}

// drop deletes an object as another client would.
func (w *world) drop(o runtime.Object) {
	w.t.Helper()
	if err := w.api.Drop(o); err != nil {
		w.t.Fatal(err)
	}
}

// preconditioned fails the test if a deletion has no UID or resource version as precondition.
func (w *world) preconditioned(r *apifake.Request) error {
	if p := r.Preconditions; r.Verb == "delete" && (p == nil || p.UID == nil || p.ResourceVersion == nil) {
		w.t.Errorf("%s is deleted whatever it is by now", r.Name)
	}
	return nil
}

func (w *world) note(r *apifake.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wrote = append(w.wrote, r.Verb+" "+r.Name)
}

// written returns the writes since the last call.
func (w *world) written() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.wrote
	w.wrote = nil
	return out
}

// Sources implements Inventory.
func (w *world) Sources(namespace string) *inventory.Sources { return sources.Cached(w.api, namespace) }

// Namespace implements Inventory.
func (w *world) Namespace(namespace string) *inventory.Namespace {
	return inventory.Build(w.Sources(namespace))
}

// Live implements Inventory.
func (w *world) Live(_ context.Context, namespace string) (*inventory.Sources, error) {
	return sources.Live(w.api, namespace), w.unread
}

// Eventf implements events.EventRecorder.
func (w *world) Eventf(regarding, _ runtime.Object, eventType, reason, _, note string, args ...any) {
	ref := regarding.(*corev1.ObjectReference)
	w.events = append(w.events, fmt.Sprintf("%s %s %s/%s: %s", eventType, reason, ref.Kind, ref.Name, fmt.Sprintf(note, args...)))
}

func (w *world) controller() *Controller {
	w.t.Helper()
	c, err := New(Config{Client: w.api.Client, Records: w.api.Own.ConfigV1alpha1(), Inventory: w, Recorder: w, Skew: w.skew})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(c.queue.ShutDown)
	return c
}

func (w *world) ctx() context.Context {
	return klog.NewContext(context.WithoutCancel(w.t.Context()), klog.Logger{})
}

const recordC = "evidence.mesh.peers.c"

// TestANodeLeaves runs the controller for days: node c is gone, and node b is gone for one day.
func TestANodeLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.put(func() runtime.Object {
			s := w.secret("peer-c")
			s.Annotations["example.com/owner"] = "me"
			return s
		}())
		c := w.controller()
		ctx, cancel := context.WithCancel(w.ctx())
		done := make(chan struct{})
		go func() {
			defer close(done)
			c.Run(ctx)
		}()
		look := func(want ...string) {
			t.Helper()
			c.NamespaceChanged(demo)
			synctest.Wait()
			if diff := cmp.Diff(want, w.written()); diff != "" {
				t.Errorf("writes (-want +got):\n%s", diff)
			}
		}
		look("update "+recordC, "update peer-c")
		if got := w.secret("peer-c").Annotations; got["example.com/owner"] != "me" || got[trust.AnnotationDeleteGraceStart] != time.Now().UTC().Format(time.RFC3339) {
			t.Errorf("annotations %v", got)
		}
		look()
		time.Sleep(24 * time.Hour) //nolint:forbidigo // the clock of the bubble
		w.become("a")
		look("update evidence.mesh.peers.b", "update peer-b")
		time.Sleep(24 * time.Hour) //nolint:forbidigo // the clock of the bubble
		w.become("a", "b")
		look("update evidence.mesh.peers.b", "update peer-b")
		if _, ok := w.secret("peer-b").Annotations[trust.AnnotationDeleteGraceStart]; ok {
			t.Error("b is back and still marked")
		}
		// Without any event, the deadline alone triggers the deletion.
		time.Sleep(24*time.Hour - time.Second) //nolint:forbidigo // the clock of the bubble
		synctest.Wait()
		if wrote := w.written(); len(wrote) > 0 {
			t.Errorf("too early: %v", wrote)
		}
		time.Sleep(time.Second) //nolint:forbidigo // the clock of the bubble
		synctest.Wait()
		if diff := cmp.Diff([]string{"delete " + recordC, "delete peer-c"}, w.written()); diff != "" {
			t.Errorf("writes (-want +got):\n%s", diff)
		}
		look()
		for _, reason := range []string{EventGraceStarted, EventGraceEnded, EventDeleted} {
			if !slices.ContainsFunc(w.events, func(e string) bool { return strings.Contains(e, reason) }) {
				t.Errorf("no event %s among %q", reason, w.events)
			}
		}
		cancel()
		<-done
	})
}

func (w *world) secret(name string) *corev1.Secret {
	w.t.Helper()
	secret, ok := apifake.Get(w.api, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: demo, Name: name}})
	if !ok {
		w.t.Fatalf("there is no Secret %s", name)
	}
	return secret
}

// due marks the leaf of c as orphaned for long enough.
func (w *world) due() {
	s := w.secret("peer-c")
	s.Annotations[trust.AnnotationDeleteGraceStart] = time.Now().Add(-orphan.Grace).UTC().Format(time.RFC3339)
	w.put(s)
	w.drop(&configv1alpha1.RotationRecord{ObjectMeta: metav1.ObjectMeta{Namespace: demo, Name: recordC}})
}

// TestDeletionIsConfirmed changes the state between the decision and the deletion.
func TestDeletionIsConfirmed(t *testing.T) {
	tests := []struct {
		name    string
		meddle  func(w *world)
		deleted bool
		fails   bool
	}{
		{name: "nothing happens", meddle: func(*world) {}, deleted: true},
		{name: "the cache is behind: the node is back", meddle: func(w *world) { w.api.Lag(apifake.Stale); w.become("a", "b", "c") }},
		{name: "the cache is behind: it was made anew", meddle: func(w *world) {
			w.api.Lag(apifake.Stale)
			s := w.secret("peer-c")
			w.drop(s)
			s.UID = ""
			w.put(s)
		}},
		{name: "it is gone already", meddle: func(w *world) {
			w.api.Lag(apifake.Stale)
			w.drop(w.secret("peer-c"))
		}},
		{name: "it is written at the last moment", meddle: func(w *world) {
			w.api.Admit = func(*apifake.Request) error { w.put(w.secret("peer-c")); return nil }
		}, fails: true},
		{name: "the clock is found to be off", meddle: func(w *world) { w.skew = clocks{asked: time.Hour} }},
		{name: "nobody can be asked about the clock", meddle: func(w *world) { w.skew = clocks{err: errors.New("no")} }, fails: true},
		{name: "the live read fails", meddle: func(w *world) { w.unread = errors.New("no") }, fails: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.due()
			tt.meddle(w)
			err := w.controller().Reconcile(w.ctx(), demo)
			if (err != nil) != tt.fails {
				t.Errorf("error %v", err)
			}
			if deleted := slices.Contains(w.written(), "delete peer-c"); deleted != tt.deleted {
				t.Errorf("deleted %t, want %t", deleted, tt.deleted)
			}
		})
	}
}

// TestMarkOnAnOutdatedDecision: the Secret is not marked, because it changed since the cached read.
func TestMarkOnAnOutdatedDecision(t *testing.T) {
	w := newWorld(t)
	w.api.Lag(apifake.Stale)
	w.put(w.secret("peer-c"))
	if err := w.controller().Reconcile(w.ctx(), demo); !errors.Is(err, apply.ErrStale) {
		t.Errorf("got %v, want to look again", err)
	}
	if diff := cmp.Diff([]string{"update " + recordC}, w.written()); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
}

func TestPanicIsAnError(t *testing.T) {
	w := newWorld(t)
	c := w.controller()
	c.inventory = nil
	if err := c.Reconcile(w.ctx(), demo); err == nil || !strings.Contains(err.Error(), "panic while working on demo") {
		t.Errorf("got %v", err)
	}
}

func TestNewWantsItsParts(t *testing.T) {
	if _, err := New(Config{}); err == nil {
		t.Error("no error")
	}
}
