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
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2/ktesting"
	testclock "k8s.io/utils/clock/testing"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/controller/internal/apply"
	"certrotation.dev/registry/quorum"
	"certrotation.dev/registry/rollout"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
	"certrotation.dev/test/apifake"
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

// fataler is a testing.TB or a rapid.T.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
	Logf(format string, args ...any)
}

// world is an API server, a clock, and machines with kubelets.
type world struct {
	t      fataler
	ctx    context.Context
	api    *apifake.Server
	client kubernetes.Interface
	clock  *testclock.FakeClock
	events *recorder
	config *configv1alpha1.StaticPodRollout
	// class is nil if none permits the rollout.
	class *configv1alpha1.StaticPodClassSpec
	// crashAt is the number of the write that kills the controller after it succeeds.
	crashAt  int
	machines []*machine
	// aggregate, domains and leaves are further content of the inventory.
	aggregate *trust.Aggregate
	domains   []*trust.Domain
	leaves    map[string][]string
	// trustChanges counts the contents that require a restart.
	trustChanges int
	serial       int
	// unreachable is true if the quorum check fails.
	unreachable bool
	// onInstall is called when the controller creates an installer pod.
	onInstall  func(*corev1.Pod)
	controller *Controller
}

func newWorld(t fataler, ctx context.Context, nodes int) *world { //nolint:revive // the testing context comes second to what tests
	w := &world{
		class: &configv1alpha1.StaticPodClassSpec{
			PodName: "etcd", Image: "certrotation:1", ResourceDirectory: "/etc/kubernetes/static-pod-resources", ManifestDirectory: "/etc/kubernetes/manifests",
			Pod: configv1alpha1.PermittedPod{Images: []string{"etcd"}, HostNetwork: true},
		},
		t: t, ctx: ctx, clock: testclock.NewFakeClock(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)),
		events: &recorder{}, leaves: map[string][]string{},
		config: &configv1alpha1.StaticPodRollout{
			Name: "etcd", NodeSelector: metav1.LabelSelector{MatchLabels: map[string]string{"role": "master"}},
			PodConfigMapName: "etcd-pod", ConfigMapNames: []string{"bundles"}, SecretNames: []string{"certs"}, ReloadedSecretNames: []string{"certs"},
			ClassName: "etcd",
			Coalesce:  duration(3 * time.Second), InstallerTimeout: duration(2 * time.Minute), StaticPodTimeout: duration(5 * time.Minute),
			FailedRevisionLimit: 5, SucceededRevisionLimit: 5,
			Quorum: &configv1alpha1.Quorum{Strategy: configv1alpha1.QuorumAutomatic},
		},
	}
	w.api = apifake.New(t, w.clock)
	w.client = w.api.Client
	w.api.Admit = w.admit
	w.api.Fault = func(write *apifake.Request) apifake.Fault {
		if w.crashAt > 0 && write.Number >= w.crashAt {
			return apifake.CrashAfterWrite
		}
		return apifake.NoFault
	}
	w.put(&corev1.ConfigMap{ObjectMeta: consenting("etcd-pod"), Data: map[string]string{"pod.yaml": podTemplate}})
	w.changeTrust()
	w.changeLeaves()
	for i := range nodes {
		w.addMachine(fmt.Sprintf("m%d", i))
	}
	w.restart()
	return w
}

// consenting returns the metadata of an object that the configuration may install on nodes.
func consenting(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Annotations: map[string]string{trust.AnnotationConfiguration: "pki"}}
}

func duration(d time.Duration) *metav1.Duration { return &metav1.Duration{Duration: d} }

// restart starts a new process of the controller.
func (w *world) restart() {
	w.api.Revive()
	w.crashAt = 0
	w.close()
	c, err := New(Config{Client: w.client, Inventory: w, Quorum: w, Recorder: w.events, Clock: w.clock})
	if err != nil {
		w.t.Fatalf("New: %v", err)
	}
	w.controller = c
}

// close shuts down the queue of the controller.
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

// look reconciles until the controller waits for something, and returns how long it wants to wait.
func (w *world) look() time.Duration {
	w.t.Helper()
	for range 50 {
		again, err := w.controller.Reconcile(w.ctx, testNamespace)
		if w.api.Dead() {
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

// run advances the time second by second until done, and reports whether done became true.
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

// converged reports whether every node has the content of the sources.
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

// admit calls onInstall for every installer pod.
func (w *world) admit(write *apifake.Request) error {
	pod, ok := write.Object.(*corev1.Pod)
	if !ok || write.Verb != "create" {
		return nil
	}
	if pod.Labels[labelApp] == appInstaller && w.onInstall != nil {
		w.onInstall(pod)
	}
	return nil
}

// put stores an object as another client would.
func (w *world) put(o metav1.Object) {
	w.t.Helper()
	if _, ok := o.(*corev1.Node); !ok {
		o.SetNamespace(testNamespace)
	}
	if err := w.api.Put(o.(runtime.Object)); err != nil {
		w.t.Fatalf("put %s: %v", o.GetName(), err)
	}
}

// drop deletes an object as another client would.
func (w *world) drop(resource, name string) {
	meta := metav1.ObjectMeta{Namespace: testNamespace, Name: name}
	o, ok := map[string]runtime.Object{
		"nodes": &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}, "pods": &corev1.Pod{ObjectMeta: meta},
		"configmaps": &corev1.ConfigMap{ObjectMeta: meta}, "secrets": &corev1.Secret{ObjectMeta: meta},
	}[resource]
	if !ok {
		w.t.Fatalf("drop: what are %s?", resource)
	}
	if err := w.api.Drop(o); err != nil && !apierrors.IsNotFound(err) {
		w.t.Fatalf("drop %s %s: %v", resource, name, err)
	}
}

// testContext has a logger that prints only if the test fails.
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
