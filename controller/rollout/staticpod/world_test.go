// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package staticpod

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2/ktesting"
	testclock "k8s.io/utils/clock/testing"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/controller/internal/apply"
	"certrotation.dev/registry/quorum"
	"certrotation.dev/registry/rollout"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

const testNamespace = "openshift-etcd"

const podTemplate = `
apiVersion: v1
kind: Pod
metadata: {name: etcd, namespace: openshift-etcd}
spec:
  hostNetwork: true
  terminationGracePeriodSeconds: 15
  containers:
  - name: etcd
    image: etcd
    command: [etcd, --name=NODE_NAME, "--listen-client-urls=https://NODE_IP:2379"]
    volumeMounts: [{name: resources, mountPath: /etc/kubernetes/static-pod-resources, readOnly: true}]
  volumes:
  - name: resources
    hostPath: {path: /etc/kubernetes/static-pod-resources/etcd-pod-REVISION}
`

// errCrash is what every write gets after the process is dead.
var errCrash = errors.New("the process is dead")

// fataler is a testing.TB or a rapid.T.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
	Logf(format string, args ...any)
}

// world is an API server with resource versions, a clock, and machines with kubelets.
type world struct {
	t       fataler
	ctx     context.Context
	client  *fake.Clientset
	tracker clienttesting.ObjectTracker
	clock   *testclock.FakeClock
	events  *recorder
	config  *configv1alpha1.StaticPodRollout
	// class is nil where none permits the rollout.
	class   *configv1alpha1.StaticPodClassSpec
	version int
	// writes of the controller so far; the one with the number crashAt happens, and kills it.
	writes, crashAt int
	dead            bool
	// inside says that a write is the world's own.
	inside   bool
	machines []*machine
	// aggregate and domains are what the inventory says besides.
	aggregate *trust.Aggregate
	domains   []*trust.Domain
	leaves    map[string][]string
	// trustChanges counts the contents that have to restart somebody.
	trustChanges int
	serial       int
	// unreachable says that the members cannot be asked.
	unreachable bool
	// onInstall is called when the controller makes an installer pod.
	onInstall  func(*corev1.Pod)
	controller *Controller
}

func newWorld(t fataler, ctx context.Context, nodes int) *world { //nolint:revive // the testing context comes second to what tests
	w := &world{
		class: &configv1alpha1.StaticPodClassSpec{
			Image: "certrotation:1", ResourceDirectory: "/etc/kubernetes/static-pod-resources", ManifestDirectory: "/etc/kubernetes/manifests",
			Pod: configv1alpha1.PermittedPod{Images: []string{"etcd"}, HostNetwork: true},
		},
		t: t, ctx: ctx, client: &fake.Clientset{}, tracker: clienttesting.NewObjectTracker(scheme.Scheme, scheme.Codecs.UniversalDecoder()), clock: testclock.NewFakeClock(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)),
		events: &recorder{}, version: 100, leaves: map[string][]string{},
		config: &configv1alpha1.StaticPodRollout{
			Name: "etcd", NodeSelector: metav1.LabelSelector{MatchLabels: map[string]string{"role": "master"}},
			PodConfigMapName: "etcd-pod", ConfigMapNames: []string{"bundles"}, SecretNames: []string{"certs"}, ReloadedSecretNames: []string{"certs"},
			ClassName: "etcd",
			Coalesce:  duration(3 * time.Second), InstallerTimeout: duration(2 * time.Minute), StaticPodTimeout: duration(5 * time.Minute),
			FailedRevisionLimit: 5, SucceededRevisionLimit: 5,
			Quorum: &configv1alpha1.Quorum{Strategy: configv1alpha1.QuorumAutomatic},
		},
	}
	// A clientset of fake.NewClientset tracks managed fields, for which it makes a REST mapper at every write.
	w.client.AddReactor("create", "*", w.create)
	w.client.AddReactor("update", "*", w.update)
	w.client.AddReactor("delete", "*", w.remove)
	w.client.AddReactor("*", "*", clienttesting.ObjectReaction(w.tracker))
	w.client.AddWatchReactor("*", func(action clienttesting.Action) (bool, watch.Interface, error) {
		watcher, err := w.tracker.Watch(action.GetResource(), action.GetNamespace())
		return true, watcher, err
	})
	w.put(&corev1.ConfigMap{ObjectMeta: consenting("etcd-pod"), Data: map[string]string{"pod.yaml": podTemplate}})
	w.changeTrust()
	w.changeLeaves()
	for i := range nodes {
		w.addMachine(fmt.Sprintf("m%d", i))
	}
	w.restart()
	return w
}

// consenting is the metadata of what the configuration may bring to nodes.
func consenting(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Annotations: map[string]string{trust.AnnotationConfiguration: "pki"}}
}

func duration(d time.Duration) *metav1.Duration { return &metav1.Duration{Duration: d} }

// restart begins a new process of the controller.
func (w *world) restart() {
	w.dead, w.crashAt = false, 0
	w.close()
	c, err := New(Config{Client: w.client, Inventory: w, Quorum: w, Recorder: w.events, Clock: w.clock})
	if err != nil {
		w.t.Fatalf("New: %v", err)
	}
	w.controller = c
}

// close ends what the process has started.
func (w *world) close() {
	if w.controller != nil {
		w.controller.queue.ShutDown()
	}
}

func (w *world) changeTrust() {
	w.trustChanges++
	w.put(&corev1.ConfigMap{ObjectMeta: consenting("bundles"), Data: map[string]string{"ca.crt": "trust " + strconv.Itoa(w.trustChanges)}})
}

func (w *world) changeLeaves() {
	w.serial++
	w.put(&corev1.Secret{ObjectMeta: consenting("certs"), Data: map[string][]byte{"leaf": []byte(strconv.Itoa(w.serial))}})
}

// Namespace implements Inventory.
func (w *world) Namespace(string) *inventory.Namespace {
	r := &inventory.Rollout{Configuration: "pki", Config: w.config, Class: w.class, Aggregate: w.aggregate, Leaves: w.leaves}
	if nodes, err := w.client.CoreV1().Nodes().List(context.Background(), metav1.ListOptions{}); err == nil {
		for i := range nodes.Items {
			r.Nodes = append(r.Nodes, inventory.ParseNode(&nodes.Items[i]))
		}
	}
	return &inventory.Namespace{Name: testNamespace, Rollouts: []*inventory.Rollout{r}, Domains: w.domains}
}

// Check implements QuorumChecker.
func (w *world) Check(context.Context, string, string, *configv1alpha1.Quorum, []*inventory.Node) (quorum.Observation, error) {
	if w.unreachable {
		return quorum.Observation{}, errors.New("no client certificate")
	}
	return w.observe(), nil
}

// look has the controller look until it waits for something, and says how long it wants to wait.
func (w *world) look() time.Duration {
	w.t.Helper()
	for range 50 {
		again, err := w.controller.Reconcile(w.ctx, testNamespace)
		if w.dead {
			w.restart()
			continue
		}
		if err != nil && !apply.Benign(err) {
			w.t.Fatalf("Reconcile: %v", err)
		}
		if again != settle && err == nil {
			return again
		}
	}
	w.t.Fatalf("the controller does not come to rest; status:\n%s", w.statusText())
	return 0
}

// run lets the time go by, second by second, until done; it says whether that came to be.
func (w *world) run(seconds int, done func() bool) bool {
	w.t.Helper()
	for range seconds {
		w.look()
		for _, m := range w.machines {
			m.tick()
		}
		if done != nil && done() {
			return true
		}
		w.clock.Step(time.Second)
	}
	return false
}

// converged says whether every node has what the sources hold.
func (w *world) converged() bool {
	status := w.status()
	if status == nil || len(status.Nodes) != len(w.machines) {
		return false
	}
	for i := range status.Nodes {
		if n := &status.Nodes[i]; n.PendingSince != nil || n.CurrentRevision != status.LatestAvailableRevision {
			return false
		}
	}
	for _, m := range w.machines {
		if m.disk.trust != w.trustChanges || m.disk.leaf != w.serial || !m.ready() || m.runs != m.disk.hash {
			return false
		}
	}
	return len(status.Blockers) == 0
}

func (w *world) statusText() string {
	cm, err := w.client.CoreV1().ConfigMaps(testNamespace).Get(w.ctx, rollout.StatusName("etcd"), metav1.GetOptions{})
	if err != nil {
		return ""
	}
	return cm.Data[rollout.StatusKey]
}

func (w *world) status() *rollout.Status {
	w.t.Helper()
	text := w.statusText()
	if text == "" {
		return nil
	}
	status, err := rollout.Decode(text)
	if err != nil {
		w.t.Fatalf("Decode: %v\n%s", err, text)
	}
	return status
}

func (w *world) condition(conditionType string) rollout.Condition {
	w.t.Helper()
	c := w.status().Condition(conditionType)
	if c == nil {
		w.t.Fatalf("condition %s is missing", conditionType)
	}
	return *c
}

func (w *world) blocker(node string, reason rollout.Reason) *rollout.Blocker {
	status := w.status()
	for i := range status.Blockers {
		if b := &status.Blockers[i]; b.Node == node && b.Reason == reason {
			return b
		}
	}
	return nil
}

func (w *world) create(action clienttesting.Action) (bool, runtime.Object, error) {
	created := action.(clienttesting.CreateAction)
	if pod, ok := created.GetObject().(*corev1.Pod); ok && !w.dead && pod.Labels[labelApp] == appInstaller && w.onInstall != nil {
		w.onInstall(pod)
	}
	return w.write(action, created.GetObject(), func(gvr schema.GroupVersionResource, o runtime.Object) error {
		meta := o.(metav1.Object)
		meta.SetUID(types.UID(fmt.Sprintf("uid-%d", w.version)))
		meta.SetCreationTimestamp(metav1.NewTime(w.clock.Now()))
		if pod, ok := o.(*corev1.Pod); ok {
			pod.Status.Phase = corev1.PodPending
		}
		return w.tracker.Create(gvr, o, action.GetNamespace())
	})
}

func (w *world) update(action clienttesting.Action) (bool, runtime.Object, error) {
	o := action.(clienttesting.UpdateAction).GetObject()
	want := o.(metav1.Object).GetResourceVersion()
	return w.write(action, o, func(gvr schema.GroupVersionResource, o runtime.Object) error {
		name := o.(metav1.Object).GetName()
		live, err := w.tracker.Get(gvr, action.GetNamespace(), name)
		if err != nil {
			return err
		}
		if have := live.(metav1.Object).GetResourceVersion(); have != want {
			return apierrors.NewConflict(gvr.GroupResource(), name, fmt.Errorf("it is %s, not %s", have, want))
		}
		return w.tracker.Update(gvr, o, action.GetNamespace())
	})
}

func (w *world) remove(action clienttesting.Action) (bool, runtime.Object, error) {
	return w.write(action, &corev1.ConfigMap{}, func(gvr schema.GroupVersionResource, _ runtime.Object) error {
		return w.tracker.Delete(gvr, action.GetNamespace(), action.(clienttesting.DeleteAction).GetName())
	})
}

// write does a write of the controller.
func (w *world) write(action clienttesting.Action, o runtime.Object, store func(schema.GroupVersionResource, runtime.Object) error) (bool, runtime.Object, error) {
	if w.inside {
		return false, nil, nil
	}
	if w.dead {
		return true, nil, errCrash
	}
	w.writes++
	w.version++
	o = o.DeepCopyObject()
	o.(metav1.Object).SetResourceVersion(strconv.Itoa(w.version))
	if err := store(action.GetResource(), o); err != nil {
		return true, nil, err
	}
	if w.crashAt > 0 && w.writes >= w.crashAt {
		w.dead = true
		return true, nil, errCrash
	}
	return true, o, nil
}

// put stores an object behind the controller's back.
func (w *world) put(o runtime.Object) {
	w.t.Helper()
	w.version++
	o = o.DeepCopyObject()
	meta := o.(metav1.Object)
	resource, namespace := "", testNamespace
	switch o.(type) {
	case *corev1.Node:
		resource, namespace = "nodes", ""
	case *corev1.Pod:
		resource = "pods"
	case *corev1.ConfigMap:
		resource = "configmaps"
	case *corev1.Secret:
		resource = "secrets"
	}
	meta.SetNamespace(namespace)
	meta.SetResourceVersion(strconv.Itoa(w.version))
	if meta.GetUID() == "" {
		meta.SetUID(types.UID(fmt.Sprintf("uid-%d", w.version)))
	}
	if created := meta.GetCreationTimestamp(); created.IsZero() {
		meta.SetCreationTimestamp(metav1.NewTime(w.clock.Now()))
	}
	gvr := corev1.SchemeGroupVersion.WithResource(resource)
	err := w.tracker.Create(gvr, o, namespace)
	if apierrors.IsAlreadyExists(err) {
		err = w.tracker.Update(gvr, o, namespace)
	}
	if err != nil {
		w.t.Fatalf("put %s: %v", meta.GetName(), err)
	}
}

// drop deletes an object behind the controller's back.
func (w *world) drop(resource, name string) {
	namespace := testNamespace
	if resource == "nodes" {
		namespace = ""
	}
	if err := w.tracker.Delete(corev1.SchemeGroupVersion.WithResource(resource), namespace, name); err != nil && !apierrors.IsNotFound(err) {
		w.t.Fatalf("drop %s %s: %v", resource, name, err)
	}
}

// testContext has a logger that is quiet unless the test fails.
func testContext(t testing.TB) context.Context {
	_, ctx := ktesting.NewTestContext(t)
	return ctx
}

type recorder struct{ reasons []string }

// Eventf implements events.EventRecorder.
func (r *recorder) Eventf(_, _ runtime.Object, _, reason, _, note string, args ...any) {
	r.reasons = append(r.reasons, reason+": "+fmt.Sprintf(note, args...))
}

func (r *recorder) has(reason string) bool {
	for _, text := range r.reasons {
		if strings.HasPrefix(text, reason+":") {
			return true
		}
	}
	return false
}

var _ events.EventRecorder = (*recorder)(nil)
