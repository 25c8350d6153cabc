// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"certrotation.dev/registry/nodepod"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
	"certrotation.dev/test/apifake"
)

func TestPlaced(t *testing.T) {
	caA, caB := newAuthority(t, "ca@1"), newAuthority(t, "ca@2")
	old, renewed := newLeaf(t, caA, "peer", pki.ServerAuth), newLeaf(t, caB, "peer", pki.ServerAuth)
	// Revision 1 trusts one CA, 2 both; 3 has a new leaf and the trust of 2.
	first := frozen{number: 1, leaf: old, anchors: []*pki.Pair{caA}}
	second := frozen{number: 2, leaf: old, anchors: []*pki.Pair{caA, caB}}
	third := frozen{number: 3, leaf: renewed, anchors: []*pki.Pair{caA, caB}}
	back := frozen{number: 3, leaf: renewed, anchors: []*pki.Pair{caA}}
	is := func(trusts []pki.Fingerprint, leaf *pki.Pair) *trust.Observation {
		return &trust.Observation{Instance: process, Kind: trust.StaticPodRevision, Trusts: trusts, Presents: prints(leaf), StartedAt: started}
	}
	all := slices.Concat[[]runtime.Object]
	with := func(pod *corev1.Pod, change func(*corev1.Pod)) *corev1.Pod { change(pod); return pod }
	installer := func(phase corev1.PodPhase) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: "installer-2-a", CreationTimestamp: metav1.NewTime(started)},
			Spec:       corev1.PodSpec{NodeName: nodeName}, Status: corev1.PodStatus{Phase: phase},
		}
	}
	tampered := func(list []runtime.Object, kind string) []runtime.Object {
		for _, object := range list {
			switch o := object.(type) {
			case *corev1.ConfigMap:
				if kind == "ConfigMap" && strings.HasPrefix(o.Name, "etcd-all-bundles") {
					o.BinaryData = map[string][]byte{"server-ca-bundle.crt": append(caA.Certificate.PEM(), caB.Certificate.PEM()...)}
				}
			case *corev1.Secret:
				if kind == "Secret" {
					o.Data[leafA+".crt"] = renewed.CertPEM()
				}
			}
		}
		return list
	}
	for _, test := range []struct {
		name    string
		objects []runtime.Object
		want    *trust.Observation
		// failure is a part of the recorded one.
		failure string
	}{
		{
			name:    "the revision of the manifest",
			objects: all([]runtime.Object{theNode(nodeUID), first.pod(t)}, first.objects(t)),
			want:    is(prints(caA), old),
		},
		{
			name:    "a later revision that is not on the node yet",
			objects: all([]runtime.Object{theNode(nodeUID), first.pod(t)}, first.objects(t), second.objects(t), third.objects(t)),
			want:    is(prints(caA), old),
		},
		{
			name:    "a later revision with the same trust, not installed",
			objects: all([]runtime.Object{theNode(nodeUID), second.pod(t)}, second.objects(t), third.objects(t)),
			want:    is(prints(caA, caB), old),
		},
		{
			name:    "leaves under the running manifest",
			objects: all([]runtime.Object{theNode(nodeUID), second.pod(t)}, second.objects(t), third.objects(t, nodeUID)),
			want:    is(prints(caA, caB), renewed),
		},
		{
			name:    "leaves under the running manifest, whose own revision was pruned",
			objects: all([]runtime.Object{theNode(nodeUID), second.pod(t)}, third.objects(t, nodeUID)),
			want:    is(prints(caA, caB), renewed),
		},
		{
			name:    "leaves that an earlier node of that name had",
			objects: all([]runtime.Object{theNode(nodeUID), second.pod(t)}, second.objects(t), third.objects(t, "uid-before")),
			want:    is(prints(caA, caB), old),
		},
		{
			name: "a manifest that was rolled back",
			objects: all([]runtime.Object{theNode(nodeUID), first.pod(t)},
				first.objects(t, nodeUID), second.objects(t, nodeUID), third.objects(t, nodeUID)),
			want: is(prints(caA), old),
		},
		{
			name: "a manifest that was rolled back, and a later one with the same trust",
			objects: all([]runtime.Object{theNode(nodeUID), first.pod(t)},
				first.objects(t, nodeUID), second.objects(t, nodeUID), back.objects(t, nodeUID)),
			want: is(prints(caA), old),
		},
		{
			name: "the same number with other content",
			objects: all([]runtime.Object{theNode(nodeUID), first.pod(t)},
				frozen{number: 1, leaf: old, anchors: []*pki.Pair{caA, caB}}.objects(t, nodeUID)),
			failure: "no revision that is on the node has the content",
		},
		{
			name:    "a copy of trust that is not what was recorded",
			objects: all([]runtime.Object{theNode(nodeUID), first.pod(t)}, tampered(first.objects(t), "ConfigMap")),
			failure: "the copies of revision 1 are not what ConfigMap/revision-status-1 recorded",
		},
		{
			name:    "a copy of leaves that is not what was recorded",
			objects: all([]runtime.Object{theNode(nodeUID), first.pod(t)}, tampered(first.objects(t), "Secret")),
			failure: "the copies of revision 1 are not what ConfigMap/revision-status-1 recorded",
		},
		{
			name:    "a revision whose copies are gone",
			objects: all([]runtime.Object{theNode(nodeUID), first.pod(t)}, first.objects(t)[:3]),
			failure: "Secret/etcd-all-certs-1 of the revision that runs does not exist any more",
		},
		{
			name:    "a revision that is gone",
			objects: []runtime.Object{theNode(nodeUID), first.pod(t)},
			failure: "it was pruned, deleted or changed; the next revision",
		},
		{
			name: "a pod that restarts",
			objects: all([]runtime.Object{theNode(nodeUID), with(second.pod(t), func(p *corev1.Pod) {
				p.Status.Conditions[0].Status = corev1.ConditionFalse
			}), installer(corev1.PodSucceeded)}, second.objects(t)),
			failure: "its static pod etcd-a is not ready (phase Running): look at its events and its log",
		},
		{
			name: "a pod that is on its way out",
			objects: all([]runtime.Object{theNode(nodeUID), with(second.pod(t), func(p *corev1.Pod) {
				p.DeletionTimestamp = &metav1.Time{Time: started}
				p.Finalizers = []string{"test/test"}
			})}, second.objects(t)),
			failure: "is not ready",
		},
		{
			name:    "no pod, an installer waits",
			objects: []runtime.Object{theNode(nodeUID), installer(corev1.PodPending)},
			failure: "does not exist: its installer installer-2-a is pending since 2026-05-01T12:00:00Z",
		},
		{
			name:    "no pod, an installer has failed",
			objects: []runtime.Object{theNode(nodeUID), installer(corev1.PodFailed)},
			failure: "its installer installer-2-a has failed: look at its log",
		},
		{
			name:    "no pod",
			objects: []runtime.Object{theNode(nodeUID)},
			failure: "look at what kubelet says on the node",
		},
		{
			name:    "no node",
			objects: all([]runtime.Object{first.pod(t)}, first.objects(t)),
			failure: "its node does not exist",
		},
		{
			name:    "a node that was replaced, with the pod of the earlier one",
			objects: all([]runtime.Object{theNode("uid-new"), first.pod(t)}, first.objects(t, nodeUID)),
			failure: "is that of an earlier node of the same name",
		},
		{
			name: "a pod that somebody made",
			objects: all([]runtime.Object{theNode(nodeUID), with(first.pod(t), func(p *corev1.Pod) {
				delete(p.Annotations, corev1.MirrorPodAnnotationKey)
			})}, first.objects(t)),
			failure: "is no static pod of the node: delete it",
		},
		{
			name: "a pod that no revision has installed",
			objects: []runtime.Object{theNode(nodeUID), with(first.pod(t), func(p *corev1.Pod) {
				delete(p.Annotations, nodepod.AnnotationRestartHash)
			})},
			failure: "was not installed by a revision",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			n := etcdNamespace(caA, caB)
			c, records := newCollector(t, &fixed{n: n}, test.objects...)
			d := n.Domains[0]
			if err := c.Refresh(t.Context(), d); err != nil {
				t.Fatal(err)
			}
			got := placedRecord(t, records)
			if test.want != nil {
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("record (-want +got):\n%s", diff)
				}
			} else if got == nil || len(got.Trusts) > 0 || len(got.Presents) > 0 || !strings.Contains(got.Failure, test.failure) {
				t.Errorf("record: %+v\nwant a failure: ...%s...", got, test.failure)
			}
			written := writes(records)
			d.Parties[0].Members[0].Observations = recordOf(t, records, "etcd", "etcd", nodeName)
			if err := c.Refresh(t.Context(), d); err != nil {
				t.Fatal(err)
			}
			if n := writes(records); n != written {
				t.Errorf("%d writes for what was known", n-written)
			}
		})
	}
}

func TestPlacedWithoutRollout(t *testing.T) {
	ca := newAuthority(t, "ca@1")
	for name, change := range map[string]func(*inventory.Namespace){
		"no rollout":                   func(n *inventory.Namespace) { n.Rollouts = nil },
		"no aggregate":                 func(n *inventory.Namespace) { n.Rollouts[0].Aggregate = nil },
		"the bundle is not aggregated": func(n *inventory.Namespace) { n.Rollouts[0].Aggregate.Bundles = nil },
		"the aggregate is left out":    func(n *inventory.Namespace) { n.Rollouts[0].Config.ConfigMapNames = nil },
	} {
		t.Run(name, func(t *testing.T) {
			n := etcdNamespace(ca)
			change(n)
			c, records := newCollector(t, &fixed{n: n}, theNode(nodeUID))
			if err := c.Refresh(t.Context(), n.Domains[0]); err != nil {
				t.Fatal(err)
			}
			if got := placedRecord(t, records); got == nil || !strings.Contains(got.Failure, "no rollout brings ConfigMap/etcd-ca-bundle") {
				t.Errorf("record: %+v", got)
			}
		})
	}
}

// TestPlacedFailure: of a static pod that cannot be observed, the record keeps what counts against it.
func TestPlacedFailure(t *testing.T) {
	ca := newAuthority(t, "ca@1")
	leaf := newLeaf(t, ca, "peer", pki.ServerAuth)
	first := frozen{number: 1, leaf: leaf, anchors: []*pki.Pair{ca}}
	unready := func(change func(*corev1.Pod)) *corev1.Pod {
		pod := first.pod(t)
		pod.Status.Conditions[0].Status = corev1.ConditionFalse
		change(pod)
		return pod
	}
	now := time.Now()
	for _, test := range []struct {
		name string
		pod  *corev1.Pod
		want trust.Observation
	}{
		{
			name: "the same process is not ready", pod: unready(func(*corev1.Pod) {}),
			want: trust.Observation{Instance: process, Presents: prints(leaf), StartedAt: started},
		},
		{
			name: "its container was restarted",
			pod:  unready(func(p *corev1.Pod) { p.Status.ContainerStatuses[1] = running("etcd", started.Add(time.Minute)) }),
			want: trust.Observation{Instance: "uid-pod/2026-05-01T12:01:00Z", StartedAt: started.Add(time.Minute)},
		},
		{
			name: "another pod", pod: unready(func(p *corev1.Pod) { p.UID = "uid-other" }),
			want: trust.Observation{Instance: "uid-other/2026-05-01T12:00:00Z", StartedAt: started},
		},
		{name: "the pod is gone", want: trust.Observation{Instance: noPod, StartedAt: started}},
	} {
		t.Run(test.name, func(t *testing.T) {
			n := etcdNamespace(ca)
			was := trust.Observation{
				Instance: process, Kind: trust.StaticPodRevision, Trusts: prints(ca), Presents: prints(leaf), StartedAt: started,
				ObservedAt: now, Expires: now.Add(time.Minute),
			}
			n.Domains[0].Parties[0].Members[0].Observations = []trust.Observation{was}
			objects := append(first.objects(t), theNode(nodeUID))
			if test.pod != nil {
				objects = append(objects, test.pod)
			}
			c, records := newCollector(t, &fixed{n: n}, objects...)
			keep(t, records, "etcd", "etcd", nodeName, was)
			if err := c.Refresh(t.Context(), n.Domains[0]); err != nil {
				t.Fatal(err)
			}
			got := placedRecord(t, records)
			if got == nil || got.Failure == "" {
				t.Fatalf("record %+v, want a failure", got)
			}
			got.Failure = ""
			test.want.Kind = trust.StaticPodRevision
			if diff := cmp.Diff(&test.want, got); diff != "" {
				t.Errorf("record (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPlacedLeavesTheRecordAloneWhenNobodyAnswers(t *testing.T) {
	n := etcdNamespace(newAuthority(t, "ca@1"))
	c, api := newCollector(t, &fixed{n: n}, theNode(nodeUID))
	api.ReadFault = func(r *apifake.Request) apifake.Fault {
		if r.Verb == "list" && r.Resource.Resource == "pods" {
			return apifake.Unavailable
		}
		return apifake.NoFault
	}
	if err := c.Refresh(t.Context(), n.Domains[0]); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("got %v, want that the API server is away", err)
	}
	if got := writes(api); got != 0 {
		t.Errorf("%d writes although nothing is known", got)
	}
}

// TestPlacedFollowsEvents runs the collector. It reads after events, and not while nothing happens.
func TestPlacedFollowsEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		caA, caB := newAuthority(t, "ca@1"), newAuthority(t, "ca@2")
		old, renewed := newLeaf(t, caA, "peer", pki.ServerAuth), newLeaf(t, caB, "peer", pki.ServerAuth)
		first := frozen{number: 1, leaf: old, anchors: []*pki.Pair{caA}}
		second := frozen{number: 2, leaf: renewed, anchors: []*pki.Pair{caA}}
		third := frozen{number: 3, leaf: renewed, anchors: []*pki.Pair{caA, caB}}
		inv := &fixed{n: etcdNamespace(caA)}
		objects := slices.Concat([]runtime.Object{theNode(nodeUID), first.pod(t)}, first.objects(t), second.objects(t), third.objects(t))
		c, api := newCollector(t, inv, objects...)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); c.Run(ctx) }()
		c.NamespaceChanged(testNamespace)
		expect := func(what string, trusts []pki.Fingerprint, leaf *pki.Pair) {
			t.Helper()
			synctest.Wait()
			want := &trust.Observation{
				Instance: process, Kind: trust.StaticPodRevision, Trusts: trusts, Presents: prints(leaf), StartedAt: started,
			}
			if diff := cmp.Diff(want, placedRecord(t, api)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", what, diff)
			}
		}
		expect("at first", prints(caA), old)

		status := second.objects(t, nodeUID)[0].(*corev1.ConfigMap)
		if err := api.Put(status); err != nil {
			t.Fatal(err)
		}
		expect("new leaves are installed", prints(caA), renewed)

		if err := api.Put(third.pod(t)); err != nil {
			t.Fatal(err)
		}
		expect("the pod was restarted", prints(caA, caB), renewed)

		api.ForgetActions()
		c.NamespaceChanged(testNamespace)
		time.Sleep(time.Hour) //nolint:forbidigo // this hour passes in no time
		synctest.Wait()
		if actions := api.Actions(); len(actions) > 0 {
			t.Errorf("%d requests while nothing happened, the first is %v", len(actions), actions[0])
		}

		inv.set(&trust.Domain{Namespace: testNamespace, Name: "other"})
		c.NamespaceChanged(testNamespace)
		synctest.Wait()
		if len(c.pods.stops) > 0 {
			t.Error("the namespace is still watched")
		}
		cancel()
		<-ended
	})
}

func TestPodChangesThatMatter(t *testing.T) {
	base := frozen{number: 1, leaf: newLeaf(t, newAuthority(t, "ca"), "peer", pki.ServerAuth)}.pod(t)
	for name, test := range map[string]struct {
		change func(*corev1.Pod)
		same   bool
	}{
		"nothing":              {func(*corev1.Pod) {}, true},
		"a label":              {func(p *corev1.Pod) { p.Labels = map[string]string{"x": "y"} }, true},
		"an address":           {func(p *corev1.Pod) { p.Status.PodIP = "10.0.0.1" }, true},
		"the resource version": {func(p *corev1.Pod) { p.ResourceVersion = "7" }, true},
		"readiness":            {func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse }, false},
		"the restart hash":     {func(p *corev1.Pod) { p.Annotations[nodepod.AnnotationRestartHash] = "x" }, false},
		"a restart":            {func(p *corev1.Pod) { p.Status.ContainerStatuses[1] = running("etcd", started.Add(time.Minute)) }, false},
		"the end":              {func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: started} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			changed := base.DeepCopy()
			test.change(changed)
			x, errX := podFacts(base.DeepCopy())
			y, errY := podFacts(changed)
			if err := errors.Join(errX, errY); err != nil {
				t.Fatal(err)
			}
			if got := samePod(x.(*corev1.Pod), y.(*corev1.Pod)); got != test.same {
				t.Errorf("the same: %t, want %t", got, test.same)
			}
		})
	}
}

// TestPlacedIsRenewedInFlight: in flight, a static pod is visited again before half of its lease is over. In the
// stage Stable this happens only if it runs something else than it should.
func TestPlacedIsRenewedInFlight(t *testing.T) {
	caA, caB := newAuthority(t, "ca@1"), newAuthority(t, "ca@2")
	leaf := newLeaf(t, caA, "peer", pki.ServerAuth)
	first := frozen{number: 1, leaf: leaf, anchors: []*pki.Pair{caA}}
	for _, test := range []struct {
		name   string
		change func(*trust.Domain)
		pod    bool
		want   bool
	}{
		{name: "in flight", pod: true, change: func(d *trust.Domain) { d.Signer.Next = caB.Certificate }, want: true},
		{name: "in flight, of a pod that does not exist", change: func(d *trust.Domain) { d.Signer.Next = caB.Certificate }, want: true},
		{name: "stable", pod: true, change: func(*trust.Domain) {}},
		{name: "stable, and its pod does not exist", change: func(*trust.Domain) {}},
	} {
		t.Run(test.name, func(t *testing.T) {
			n := etcdNamespace(caA)
			d := n.Domains[0]
			d.Leaves[0].Certificate = leaf.Certificate
			d.Bundle.Anchors = []*pki.Certificate{caA.Certificate}
			test.change(d)
			objects := append(first.objects(t), theNode(nodeUID))
			if test.pod {
				objects = append(objects, first.pod(t))
			}
			c, records := newCollector(t, &fixed{n: n}, objects...)
			again, err := c.visit(t.Context(), observed(d)[0].target)
			if err != nil {
				t.Fatal(err)
			}
			if comes := again > 0; comes != test.want || again > lease/2 {
				t.Errorf("it comes again after %s; again: %t, want %t", again, comes, test.want)
			}
			if placedRecord(t, records) == nil {
				t.Error("nothing is recorded")
			}
		})
	}
}
