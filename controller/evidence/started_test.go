// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"certrotation.dev/registry/contenthash"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
	"certrotation.dev/test/apifake"
)

// starters is a pod that reads bundle and leaf only at its start, with the API server that stores them.
type starters struct {
	t            *testing.T
	active, next *pki.Pair
	leaf         *pki.Pair
	api          *apifake.Server
	collector    *Collector
	d            *trust.Domain
	pod          *corev1.Pod
}

// newStarters returns a pod that started with the current objects, before a rotation.
func newStarters(t *testing.T) *starters {
	t.Helper()
	s := &starters{t: t, active: newAuthority(t, "ca@1"), next: newAuthority(t, "ca@2"), api: apifake.New(t, clock.RealClock{})}
	s.leaf = newLeaf(t, s.active, serverDNS, pki.ServerAuth)
	s.d = domain("", s.leaf.Certificate, s.active)
	p := &s.d.Parties[0]
	p.Kind, p.OfPods, p.StartAssumed = trust.WorkloadRollout, true, true
	p.Members = []trust.Member{{Name: "web-a", Instance: "uid-web-a", Pod: &trust.Pod{Started: true}, Holds: []string{"web-server"}}}
	s.publish(s.active)
	s.present(s.leaf)
	s.pod = &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: "web-a", UID: types.UID("uid-web-a"), Annotations: s.current()},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{running("web", started)}},
	}
	s.run("c1")
	s.collector = collectorWith(t, s.api, &Config{Inventory: &fixed{}})
	return s
}

func (s *starters) put(object runtime.Object) {
	s.t.Helper()
	if err := s.api.Put(object); err != nil {
		s.t.Fatal(err)
	}
}

func (s *starters) drop(object runtime.Object) {
	s.t.Helper()
	if err := s.api.Drop(object); err != nil {
		s.t.Fatal(err)
	}
}

func (s *starters) publish(anchors ...*pki.Pair) {
	cm := &corev1.ConfigMap{ObjectMeta: consenting("web-bundle"), Data: map[string]string{}}
	s.d.Bundle.Anchors = nil
	for _, ca := range anchors {
		cm.Data[inventory.BundleKey] += string(ca.Certificate.PEM())
		s.d.Bundle.Anchors = append(s.d.Bundle.Anchors, ca.Certificate)
	}
	s.d.Bundle.ContentHash = contenthash.OfConfigMap(cm)
	s.put(cm)
}

func (s *starters) present(leaf *pki.Pair) {
	key, err := leaf.KeyPEM()
	if err != nil {
		s.t.Fatal(err)
	}
	secret := &corev1.Secret{ObjectMeta: consenting("web-server"), Type: corev1.SecretTypeTLS, Data: map[string][]byte{
		inventory.ActiveCertKey: leaf.CertPEM(), inventory.ActiveKeyKey: key,
	}}
	s.d.Leaves[0].Certificate, s.d.Leaves[0].ContentHash = leaf.Certificate, contenthash.OfSecret(secret)
	s.put(secret)
}

func (s *starters) current() map[string]string {
	return map[string]string{
		trust.ContentAnnotation(trust.ConfigMapKind, "web-bundle"): s.d.Bundle.ContentHash,
		trust.ContentAnnotation(trust.SecretKind, "web-server"):    s.d.Leaves[0].ContentHash,
	}
}

// run has the pod run a container, and updates the inventory.
func (s *starters) run(container string) {
	s.pod.Status.ContainerStatuses[0].ContainerID = container
	s.put(s.pod)
	facts := inventory.ParsePod(s.pod)
	m := &s.d.Parties[0].Members[0]
	m.Pod, m.Content = &facts.Life, facts.Content
}

// look refreshes the evidence of the pod and returns its observation, without times.
func (s *starters) look() trust.Observation {
	s.t.Helper()
	refreshed(s.t, s.collector, s.d, s.api)
	seen := s.d.Parties[0].Members[0].Observations
	if len(seen) != 1 || seen[0].Kind != trust.WorkloadRollout || seen[0].Expires.Before(time.Now()) {
		s.t.Fatalf("recorded %+v", seen)
	}
	return seen[0]
}

// reads returns the read requests since the last call.
func (s *starters) reads() (names []string) {
	for _, action := range s.api.Actions() {
		switch action.GetResource().Resource {
		case "configmaps", "secrets", "pods":
			names = append(names, action.GetVerb()+" "+action.GetResource().Resource)
		}
	}
	s.api.ForgetActions()
	return names
}

// TestWhatAPodHasStartedWith changes something, and then observes the pod for the first time.
func TestWhatAPodHasStartedWith(t *testing.T) {
	for name, tt := range map[string]struct {
		change           func(s *starters)
		trusts, presents bool
		failure          string
	}{
		"what there is":                    {change: func(*starters) {}, trusts: true, presents: true},
		"after a restart of its container": {change: func(s *starters) { s.run("c2") }, trusts: true, presents: true},
		"the bundle is newer":              {change: func(s *starters) { s.publish(s.active, s.next) }, presents: true},
		"the leaf is newer":                {change: func(s *starters) { s.present(newLeaf(t, s.active, serverDNS, pki.ServerAuth)) }, trusts: true},
		"both are newer": {change: func(s *starters) {
			s.publish(s.active, s.next)
			s.present(newLeaf(t, s.active, serverDNS, pki.ServerAuth))
		}, failure: "names a content that ConfigMap/web-bundle does not have now"},
		"the bundle is gone":       {change: func(s *starters) { s.drop(&corev1.ConfigMap{ObjectMeta: consenting("web-bundle")}) }, presents: true},
		"the leaf is gone":         {change: func(s *starters) { s.drop(&corev1.Secret{ObjectMeta: consenting("web-server")}) }, trusts: true},
		"it does not say":          {change: func(s *starters) { s.pod.Annotations = nil; s.run("c1") }, failure: "it does not say which content of ConfigMap/web-bundle it starts with"},
		"a gate is asked for":      {change: func(s *starters) { s.d.Parties[0].StartAssumed = false }, failure: "it has no start gate for ConfigMap/web-bundle"},
		"it is gone":               {change: func(s *starters) { s.drop(s.pod) }, failure: "no container that runs"},
		"it verifies nothing":      {change: func(s *starters) { s.d.Parties[0].VerifiesNothing = true }, presents: true},
		"another pod has its name": {change: func(s *starters) { s.pod.UID = "uid-new"; s.put(s.pod) }, failure: "no container that runs"},
		"its container has just ended": {change: func(s *starters) {
			s.pod.Status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}
			s.put(s.pod)
		}, failure: "no container that runs"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStarters(t)
			tt.change(s)
			got := s.look()
			if trusts := len(got.Trusts) > 0; trusts != tt.trusts || trusts && got.Trusts[0] != s.active.Certificate.Fingerprint {
				t.Errorf("trusts %v", got.Trusts)
			}
			if presents := len(got.Presents) > 0; presents != tt.presents || presents && got.Presents[0] != s.leaf.Certificate.Fingerprint {
				t.Errorf("presents %v", got.Presents)
			}
			if (got.Failure == "") != (tt.failure == "") || !strings.Contains(got.Failure, tt.failure) {
				t.Errorf("failure %q, want one with %q", got.Failure, tt.failure)
			}
			written := writes(s.api)
			if again := s.look(); again.Failure != got.Failure || writes(s.api) != written {
				t.Errorf("written again, and nothing has changed: %+v", again)
			}
		})
	}
}

// TestWhatAPodHasStartedWithStays: an observation of a process stays valid and is not read again. It proves
// nothing for the next process.
func TestWhatAPodHasStartedWithStays(t *testing.T) {
	s := newStarters(t)
	first := s.look()
	s.reads()
	s.d.Signer.Next = s.next.Certificate
	s.publish(s.active, s.next)
	s.present(newLeaf(t, s.next, serverDNS, pki.ServerAuth))
	if diff := cmp.Diff(first, s.look()); diff != "" {
		t.Errorf("when the contents are newer (-first +second):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"get pods"}, s.reads()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	// Annotations claim that the pod started with the current objects.
	s.pod.Annotations = s.current()
	s.run("c1")
	if got := s.look(); got.Trusts[0] != first.Trusts[0] || len(got.Trusts) != 1 || got.Presents[0] != first.Presents[0] {
		t.Errorf("an annotation changes what a process has loaded: %+v", got)
	}
	s.run("c2")
	second := s.look()
	if len(second.Trusts) != 2 || len(second.Presents) != 1 || second.Presents[0] == first.Presents[0] {
		t.Errorf("after a restart with the newer contents %+v", second)
	}
	if left := untrusting(s.d); len(left) > 0 {
		t.Errorf("%v are not proven to trust the next CA", left)
	}
	if diff := cmp.Diff([]string{"get pods", "get pods", "get configmaps", "get secrets"}, s.reads()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// TestAPodThatStartsIsLookedAtAtOnce: in any stage, and not again before the next event.
func TestAPodThatStartsIsLookedAtAtOnce(t *testing.T) {
	s := newStarters(t)
	inv := s.collector.inventory.(*fixed)
	queued := func() int {
		inv.set(s.d)
		s.collector.fanOut(t.Context(), testNamespace)
		n := s.collector.queue.Len()
		for range n {
			key, _ := s.collector.queue.Get()
			if _, err := s.collector.visit(t.Context(), key); err != nil {
				t.Fatal(err)
			}
			s.collector.queue.Done(key)
		}
		recall(t, s.d, s.api)
		return n
	}
	for _, step := range []struct {
		name string
		do   func()
		want int
	}{
		{"at first", func() {}, 1},
		{"what was recorded is known", func() {}, 1},
		{"nothing", func() {}, 0},
		{"its container was restarted", func() { s.run("c2") }, 1},
		{"the bundle has changed", func() { s.publish(s.active, s.next) }, 1},
		{"the leaf has changed", func() { s.present(newLeaf(t, s.active, serverDNS, pki.ServerAuth)) }, 1},
		{"nothing again", func() {}, 0},
	} {
		step.do()
		if got := queued(); got != step.want {
			t.Errorf("%s: %d looks, want %d", step.name, got, step.want)
		}
	}
}
