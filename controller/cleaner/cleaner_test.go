// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package cleaner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

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

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/controller/internal/apply"
	ownfake "certrotation.dev/generated/clientset/versioned/fake"
	"certrotation.dev/registry/orphan"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/record"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
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

// world is an API server that keeps to resource versions and preconditions, with the nodes of a cluster.
type world struct {
	t       testing.TB
	client  *fake.Clientset
	own     *ownfake.Clientset
	nodes   []string
	version int
	// mu is for wrote alone: whatever else a test changes, it changes while the controller has nothing to do.
	mu     sync.Mutex
	wrote  []string
	events []string
	// cached is what the cache shows, nil for what there is.
	cached *inventory.Sources
	// read is called before each live read.
	read func() error
	skew clocks
	// beforeWrite is called before each write of the controller.
	beforeWrite func()
}

var _ events.EventRecorder = (*world)(nil)

// clocks are a rotation.Skew.
type clocks struct {
	asked time.Duration
	err   error
}

func (c clocks) Ask(context.Context) (time.Duration, error) { return c.asked, c.err }

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{
		t: t, client: fake.NewClientset(), nodes: []string{"a", "b"},
		own: ownfake.NewSimpleClientset(),
	}
	for _, fake := range []*clienttesting.Fake{&w.client.Fake, &w.own.Fake} {
		fake.PrependReactor("update", "*", w.write)
		fake.PrependReactor("delete", "*", w.write)
	}
	configuration, err := configv1alpha1.Decode([]byte(config))
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

// consent is the annotation of what the configuration may use.
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

// tracker holds the objects of a group.
func (w *world) tracker(gvr schema.GroupVersionResource) clienttesting.ObjectTracker {
	if gvr.Group == configv1alpha1.GroupName {
		return w.own.Tracker()
	}
	return w.client.Tracker()
}

// put stores an object as somebody else would.
func (w *world) put(o runtime.Object) {
	w.t.Helper()
	w.version++
	meta := o.(metav1.Object)
	meta.SetNamespace(demo)
	meta.SetResourceVersion(strconv.Itoa(w.version))
	err := w.tracker(resourceOf(o)).Update(resourceOf(o), o, demo)
	if apierrors.IsNotFound(err) {
		meta.SetUID(types.UID(fmt.Sprintf("uid-%d", w.version)))
		err = w.tracker(resourceOf(o)).Create(resourceOf(o), o, demo)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) write(action clienttesting.Action) (bool, runtime.Object, error) {
	if w.beforeWrite != nil {
		w.beforeWrite()
	}
	gvr := action.GetResource()
	conflict := func(name, text string) error {
		return apierrors.NewConflict(gvr.GroupResource(), name, errors.New(text))
	}
	switch a := action.(type) {
	case clienttesting.UpdateAction:
		o := a.GetObject().DeepCopyObject()
		meta := o.(metav1.Object)
		live, err := w.tracker(gvr).Get(gvr, demo, meta.GetName())
		if err != nil {
			return true, nil, err
		}
		if live.(metav1.Object).GetResourceVersion() != meta.GetResourceVersion() {
			return true, nil, conflict(meta.GetName(), "it has changed")
		}
		w.version++
		meta.SetResourceVersion(strconv.Itoa(w.version))
		w.note("update " + meta.GetName())
		return true, o, w.tracker(gvr).Update(gvr, o, demo)
	case clienttesting.DeleteActionImpl:
		live, err := w.tracker(gvr).Get(gvr, demo, a.Name)
		if err != nil {
			return true, nil, err
		}
		p, meta := a.DeleteOptions.Preconditions, live.(metav1.Object)
		if p == nil || p.UID == nil || p.ResourceVersion == nil {
			w.t.Errorf("%s is deleted whatever it is by now", a.Name)
		} else if *p.UID != meta.GetUID() || *p.ResourceVersion != meta.GetResourceVersion() {
			return true, nil, conflict(a.Name, "the preconditions do not hold")
		}
		w.version++
		w.note("delete " + a.Name)
		return true, nil, w.tracker(gvr).Delete(gvr, demo, a.Name)
	}
	return false, nil, nil
}

func (w *world) note(write string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wrote = append(w.wrote, write)
}

// written are the writes since the last call.
func (w *world) written() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.wrote
	w.wrote = nil
	return out
}

func (w *world) sources() *inventory.Sources {
	w.t.Helper()
	s := &inventory.Sources{Namespace: demo, Nodes: map[string]*inventory.Node{}}
	for _, name := range w.nodes {
		s.Nodes[name] = inventory.ParseNode(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"role": "master"}}})
	}
	secrets, err := w.client.Tracker().List(corev1.SchemeGroupVersion.WithResource("secrets"), corev1.SchemeGroupVersion.WithKind("Secret"), demo)
	if err != nil {
		w.t.Fatal(err)
	}
	for i := range secrets.(*corev1.SecretList).Items {
		secret := &secrets.(*corev1.SecretList).Items[i]
		s = s.WithSecret(secret.Name, secret)
	}
	configMaps, err := w.client.Tracker().List(corev1.SchemeGroupVersion.WithResource("configmaps"), corev1.SchemeGroupVersion.WithKind("ConfigMap"), demo)
	if err != nil {
		w.t.Fatal(err)
	}
	for i := range configMaps.(*corev1.ConfigMapList).Items {
		cm := &configMaps.(*corev1.ConfigMapList).Items[i]
		s = s.WithConfigMap(cm.Name, cm)
	}
	configurations, err := w.own.ConfigV1alpha1().RotationConfigurations(demo).List(context.WithoutCancel(w.t.Context()), metav1.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	for i := range configurations.Items {
		s = s.WithConfiguration(configurations.Items[i].Name, &configurations.Items[i])
	}
	records, err := w.own.ConfigV1alpha1().RotationRecords(demo).List(context.WithoutCancel(w.t.Context()), metav1.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	for i := range records.Items {
		s = s.WithRecord(records.Items[i].Name, &records.Items[i])
	}
	return s
}

// Sources implements Inventory.
func (w *world) Sources(string) *inventory.Sources {
	if w.cached != nil {
		return w.cached
	}
	return w.sources()
}

// Namespace implements Inventory.
func (w *world) Namespace(namespace string) *inventory.Namespace {
	return inventory.Build(w.Sources(namespace))
}

// Live implements Inventory.
func (w *world) Live(context.Context, string) (*inventory.Sources, error) {
	if w.read != nil {
		if err := w.read(); err != nil {
			return nil, err
		}
	}
	return w.sources(), nil
}

// Eventf implements events.EventRecorder.
func (w *world) Eventf(regarding, _ runtime.Object, eventType, reason, _, note string, args ...any) {
	ref := regarding.(*corev1.ObjectReference)
	w.events = append(w.events, fmt.Sprintf("%s %s %s/%s: %s", eventType, reason, ref.Kind, ref.Name, fmt.Sprintf(note, args...)))
}

func (w *world) controller() *Controller {
	w.t.Helper()
	c, err := New(Config{Client: w.client, Records: w.own.ConfigV1alpha1(), Inventory: w, Recorder: w, Skew: w.skew})
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

// TestANodeLeaves runs the controller through the days: c left, b goes for a day.
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
		w.nodes = []string{"a"}
		look("update evidence.mesh.peers.b", "update peer-b")
		time.Sleep(24 * time.Hour) //nolint:forbidigo // the clock of the bubble
		w.nodes = []string{"a", "b"}
		look("update evidence.mesh.peers.b", "update peer-b")
		if _, ok := w.secret("peer-b").Annotations[trust.AnnotationDeleteGraceStart]; ok {
			t.Error("b is back and still marked")
		}
		// Nobody says anything any more: the deadline alone brings the deletion.
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
	o, err := w.client.Tracker().Get(corev1.SchemeGroupVersion.WithResource("secrets"), demo, name)
	if err != nil {
		w.t.Fatal(err)
	}
	return o.(*corev1.Secret).DeepCopy()
}

// due marks what c has left behind as old enough.
func (w *world) due() {
	s := w.secret("peer-c")
	s.Annotations[trust.AnnotationDeleteGraceStart] = time.Now().Add(-orphan.Grace).UTC().Format(time.RFC3339)
	w.put(s)
	gvr := resourceOf(&configv1alpha1.RotationRecord{})
	if err := w.tracker(gvr).Delete(gvr, demo, recordC); err != nil {
		w.t.Fatal(err)
	}
}

// TestDeletionIsConfirmed has the world change between the decision and the deletion.
func TestDeletionIsConfirmed(t *testing.T) {
	tests := []struct {
		name    string
		meddle  func(w *world)
		deleted bool
		fails   bool
	}{
		{name: "nothing happens", meddle: func(*world) {}, deleted: true},
		{name: "the cache is behind: the node is back", meddle: func(w *world) { w.cached, w.nodes = w.sources(), []string{"a", "b", "c"} }},
		{name: "the cache is behind: it was made anew", meddle: func(w *world) {
			w.cached = w.sources()
			s := w.secret("peer-c")
			if err := w.client.Tracker().Delete(resourceOf(s), demo, s.Name); err != nil {
				w.t.Fatal(err)
			}
			w.put(s)
		}},
		{name: "it is gone already", meddle: func(w *world) {
			w.cached = w.sources()
			if err := w.client.Tracker().Delete(resourceOf(&corev1.Secret{}), demo, "peer-c"); err != nil {
				w.t.Fatal(err)
			}
		}},
		{name: "it is written at the last moment", meddle: func(w *world) {
			w.beforeWrite = func() { w.put(w.secret("peer-c")) }
		}, fails: true},
		{name: "the clock is found to be off", meddle: func(w *world) { w.skew = clocks{asked: time.Hour} }},
		{name: "nobody can be asked about the clock", meddle: func(w *world) { w.skew = clocks{err: errors.New("no")} }, fails: true},
		{name: "the live read fails", meddle: func(w *world) { w.read = func() error { return errors.New("no") } }, fails: true},
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

// TestMarkOnAnOutdatedDecision writes nothing.
func TestMarkOnAnOutdatedDecision(t *testing.T) {
	w := newWorld(t)
	w.cached = w.sources()
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
