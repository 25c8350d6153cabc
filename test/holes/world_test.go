// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package holes

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	testclock "k8s.io/utils/clock/testing"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/controller/rotation"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/record"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// world is a namespace with the real controller over an API server in memory, and processes that trust and present
// only what they have loaded. It belongs to one story.
type world struct {
	t     *testing.T
	api   *api
	rules rules
	// at is the true time. The controller's clock is ahead of it by skew.
	at         time.Time
	skew       time.Duration
	clock      *testclock.FakeClock
	controller *rotation.Controller
	processes  []*process
	// events of the controller as "type reason object: note".
	events []string
	// faults counts the injected faults. Errors of the controller after one are no failure.
	faults int
	// expires says that leaves may expire in this story.
	expires bool
	// damaged says that a person has just broken the bundle, so that no process can start now.
	damaged bool
	// failure is the first failure.
	failure  string
	verified map[string]window
	// facts are those of the objects. built is their inventory at builtVersion of the API server.
	facts        *inventory.Sources
	built        *inventory.Namespace
	builtVersion int
}

var (
	_ rotation.Inventory   = (*world)(nil)
	_ rotation.Evidence    = (*world)(nil)
	_ events.EventRecorder = (*world)(nil)
)

func newWorld(t *testing.T, s setting) *world {
	t.Helper()
	start := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	w := &world{
		t: t, at: start, clock: testclock.NewFakeClock(start), verified: map[string]window{},
		facts: &inventory.Sources{Namespace: namespace, Nodes: map[string]*inventory.Node{}},
	}
	w.api = newAPI(w)
	for _, name := range s.nodes {
		w.addNode(name)
	}
	w.configure(s.config)
	w.restartController()
	return w
}

// configure writes a configuration with that spec.
func (w *world) configure(text string) {
	const head = "apiVersion: config.certrotation.dev/v1alpha1\nkind: RotationConfiguration\nmetadata: {name: pki}\nspec:"
	cfg, err := configv1alpha1.Decode([]byte(head + strings.ReplaceAll("\n"+strings.TrimSpace(text), "\n", "\n  ")))
	if err != nil {
		w.t.Error(err)
		return
	}
	w.api.put(cfg)
}

// restartController starts a controller without any state.
func (w *world) restartController() {
	c, err := rotation.New(rotation.Config{
		Client: w.api.Client, Records: w.api.Own.ConfigV1alpha1(), Inventory: w, Evidence: w, Recorder: w, Clock: w.clock,
		Assess: func(d *trust.Domain, now time.Time) *trust.Assessment {
			judged := *d
			judged.ClockSkew = w.skew
			if w.rules.assess != nil {
				return w.rules.assess(&judged, now)
			}
			return trust.Assess(&judged, now)
		},
	})
	if err != nil {
		w.t.Error(err)
	}
	w.controller = c
}

func (w *world) addNode(name string) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: name, UID: types.UID(fmt.Sprintf("machine-%d", w.api.changes)), Labels: map[string]string{"role": "master"},
	}}
	if !strings.HasPrefix(name, "lost-") {
		node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: fmt.Sprintf("10.0.0.%d", len(w.facts.Nodes)+1)}}
	}
	w.setNode(name, inventory.ParseNode(node))
}

func (w *world) removeNode(name string) {
	w.setNode(name, nil)
	if w.rules.nodeLeft != nil {
		w.rules.nodeLeft(name)
	}
}

func (w *world) unlabel(name string) {
	node := *w.facts.Nodes[name]
	node.Labels = nil
	w.setNode(name, &node)
}

// lives reports whether there is a machine with that UID.
func (w *world) lives(machine string) bool {
	for _, node := range w.facts.Nodes {
		if string(node.UID) == machine {
			return true
		}
	}
	return false
}

// setNode writes a node, nil to delete it.
func (w *world) setNode(name string, node *inventory.Node) {
	facts := *w.facts
	facts.Nodes = maps.Clone(facts.Nodes)
	delete(facts.Nodes, name)
	if node != nil {
		facts.Nodes[name] = node
	}
	w.facts = &facts
	w.api.changes++
}

// Live implements rotation.Inventory.
func (w *world) Live(context.Context, string) (*inventory.Sources, error) { return w.facts, nil }

// Sources implements rotation.Inventory.
func (w *world) Sources(string) *inventory.Sources { return w.facts }

// Namespace implements rotation.Inventory.
func (w *world) Namespace(string) *inventory.Namespace {
	if w.builtVersion != w.api.changes {
		w.built, w.builtVersion = inventory.Build(w.facts), w.api.changes
	}
	return w.built
}

// Refresh implements rotation.Evidence. All evidence is reported.
func (w *world) Refresh(context.Context, *trust.Domain) error { return nil }

// LookedOnce implements rotation.Evidence. No member is probed.
func (w *world) LookedOnce(string, string) bool { return true }

// Absences implements rotation.Evidence. A member is gone when its machine is.
func (w *world) Absences(_ context.Context, _ *trust.Domain, missing []trust.RosterMember) (map[string]string, error) {
	out := map[string]string{}
	for i := range missing {
		r := &missing[i]
		if r.Instance != "" && !w.lives(r.Instance) {
			out[trust.AbsenceKey(r)] = "its machine is gone"
		}
	}
	return out, nil
}

// Eventf implements events.EventRecorder.
func (w *world) Eventf(regarding, _ runtime.Object, eventType, reason, _, note string, args ...any) {
	ref := regarding.(*corev1.ObjectReference)
	w.events = append(w.events, fmt.Sprintf("%s %s %s/%s: %s", eventType, reason, ref.Kind, ref.Name, fmt.Sprintf(note, args...)))
}

func (w *world) domain() *trust.Domain {
	n := w.Namespace(namespace)
	if n == nil || len(n.Domains) == 0 {
		w.failf("there is no trust domain: %v", n)
	}
	return n.Domains[0]
}

func (w *world) leaf(name string) *trust.Leaf {
	for _, d := range w.Namespace(namespace).Domains {
		for i := range d.Leaves {
			if d.Leaves[i].Name == name {
				return &d.Leaves[i]
			}
		}
	}
	w.failf("there is no leaf %s", name)
	return nil
}

// assess applies the rules of the story.
func (w *world) assess() *trust.Assessment {
	d := *w.domain()
	d.ClockSkew = w.skew
	if w.rules.assess != nil {
		return w.rules.assess(&d, w.clock.Now())
	}
	return trust.Assess(&d, w.clock.Now())
}

// stage is the true stage, whatever the rules of the story say.
func (w *world) stage() trust.Stage { return trust.Assess(w.domain(), w.at).Stage }

func (w *world) signedBy(leaf string, ca *pki.Certificate) bool {
	c := w.leaf(leaf).Certificate
	return c != nil && ca != nil && c.SignedBy(ca)
}

// pass lets time pass, for the controller too.
func (w *world) pass(d time.Duration) {
	w.at = w.at.Add(d)
	w.clock.SetTime(w.at.Add(w.skew))
}

// reconcile lets the controller reconcile everything once.
func (w *world) reconcile() {
	ctx := klog.NewContext(w.t.Context(), klog.Logger{})
	keys := []string{""}
	for _, d := range w.Namespace(namespace).Domains {
		keys = append(keys, d.Name)
	}
	w.renew()
	for _, domain := range keys {
		faults := w.faults
		err := w.controller.Reconcile(ctx, namespace, domain)
		w.expect(err == nil || w.faults > faults, "the controller fails: %v", err)
		w.meet()
		w.check()
		w.expect(true, "")
	}
}

// settle lets the controller work until it has nothing to do. No process loads anything meanwhile.
func (w *world) settle() {
	for range 100 {
		before, faults := w.api.changes, w.faults
		w.reconcile()
		if w.api.changes == before && w.faults == faults {
			return
		}
		w.pass(time.Second)
	}
	w.failf("the controller finds no end: %s", strings.Join(w.api.wrote[max(0, len(w.api.wrote)-5):], ", "))
}

// follow lets the processes load everything as it comes, as in a healthy system, until nothing changes.
func (w *world) follow() {
	for range 30 {
		w.settle()
		before := w.api.changes
		w.loadAll()
		if w.api.changes == before {
			return
		}
	}
	w.failf("the rotation does not end; the stage is %s", w.stage())
}

func (w *world) request(reason string) {
	w.ask(&trust.Request{Kind: trust.RequestRotate, Secret: "signer", Reason: reason})
}

func (w *world) requestOf(secret string) {
	w.ask(&trust.Request{Kind: trust.RequestRotate, Secret: secret, Reason: "test"})
}

func (w *world) abort(reason string) {
	w.ask(&trust.Request{Kind: trust.RequestAbort, Secret: "signer", Reason: reason})
}

// ask records a request as serve does: an existing request stays as it is.
func (w *world) ask(r *trust.Request) {
	name := record.RequestName(r.Kind, r.Secret)
	if w.api.find("RotationRecord/"+name) != nil {
		return
	}
	for _, d := range w.Namespace(namespace).Domains {
		if d.Signer.Name != r.Secret && !slices.ContainsFunc(d.Leaves, func(l trust.Leaf) bool { return l.Name == r.Secret }) {
			continue
		}
		made, err := record.OfRequest(namespace, d.Name, r, "a person")
		w.expect(err == nil, "record a request: %v", err)
		w.api.put(made)
	}
}

// annotate sets an annotation of a Secret, without the webhook.
func (w *world) annotate(secret, key, value string) {
	s := w.api.secret(secret)
	if s.Annotations == nil {
		s.Annotations = map[string]string{}
	}
	s.Annotations[key] = value
	w.api.put(s)
}

// distribute begins a rotation up to the published new CA, which no process has loaded. It returns the old and the
// new CA.
func (w *world) distribute() (old, next *pki.Certificate) {
	old = w.domain().Signer.Active
	w.request("test")
	w.settle()
	next = w.domain().Signer.Next
	w.expect(next != nil && len(w.domain().Bundle.Anchors) > 1, "the rotation is in the stage %s", w.stage())
	return old, next
}

// asks returns the webhook's violations for an edit of kind/name. A nil object is a deletion.
func (w *world) asks(object string, o runtime.Object) []trust.Violation {
	kind, name, _ := strings.Cut(object, "/")
	s := edited(w.facts, kind, name, o)
	judge := trust.Judge
	if w.rules.judge != nil {
		judge = w.rules.judge
	}
	before := w.domain()
	return judge(before, inventory.Build(s).Domain(before.Name), w.at)
}

// refuses reports whether one of the violations is of an invariant.
func refuses(found []trust.Violation, i trust.Invariant) bool {
	return slices.ContainsFunc(found, func(v trust.Violation) bool { return v.Invariant == i })
}

func sprintf(format string, args ...any) string { return fmt.Sprintf(format, args...) }
