// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package cabundle

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/injection"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/record"
	"certrotation.dev/registry/trust"
	"certrotation.dev/test/property"
)

// webhook is the server behind the target guard. It serves the leaf that it loaded last.
type webhook struct {
	*world

	injector *Controller
	serves   *pki.Certificate
	// rotations counts how often another CA became active, and cuts how often the bundle lost its anchors.
	rotations, cuts int
	foreign         *pki.Certificate
}

func (w *webhook) load() {
	o, err := w.api.Client.CoreV1().Secrets(home).Get(w.ctx(), serverLeaf, metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	chain, err := pki.ParseChain(o.Data[corev1.TLSCertKey])
	if err != nil {
		w.t.Fatal(err)
	}
	w.serves = chain[0]
}

// trusted returns the anchors that every entry of the target holds. kube-apiserver reports these.
func (w *webhook) trusted() []pki.Fingerprint {
	var all []pki.Fingerprint
	counts := map[pki.Fingerprint]int{}
	held := injection.Held(w.entries(guard))
	for _, entry := range held {
		for _, anchor := range entry.Anchors {
			if counts[anchor]++; counts[anchor] == len(held) {
				all = append(all, anchor)
			}
		}
	}
	return all
}

// ask requests a rotation of the signer, if none is in flight.
func (w *webhook) ask() {
	if len(w.domain().Requests) > 0 || w.domain().Signer.Next != nil {
		return
	}
	made, err := record.OfRequest(home, "web", &trust.Request{Kind: trust.RequestRotate, Secret: signerName, Reason: "test"}, "somebody")
	if err != nil {
		w.t.Fatal(err)
	}
	w.put(made)
}

// inject has the injector work on the target once.
func (w *webhook) inject() {
	// An error is allowed: the injector may work on outdated data.
	_ = w.injector.queue.Do(w.ctx(), key{target: guard})
}

// cut removes every anchor in use from the bundle.
func (w *webhook) cut() {
	w.cuts++
	w.publish(w.foreign)
}

// dirty adds a foreign anchor to the target, in front of the others.
func (w *webhook) dirty() {
	w.edit(guard, func(o *unstructured.Unstructured) {
		entries, err := injection.Entries(configv1alpha1.InjectValidatingWebhook, o)
		if err != nil {
			w.t.Fatal(err)
		}
		entries[0].Put(append([]*pki.Certificate{w.foreign}, entries[0].Anchors...))
	})
}

// verified reports whether every entry of the target verifies the leaf that the server serves.
func (w *webhook) verified() bool {
	for _, entry := range w.entries(guard) {
		ok := false
		for _, anchor := range entry.Anchors {
			ok = ok || w.serves.SignedBy(anchor)
		}
		if !ok {
			return false
		}
	}
	return true
}

// TestNoCallFails: in any order of events, each entry of the target verifies the leaf that its server serves.
func TestNoCallFails(t *testing.T) {
	rotations, cuts := 0, 0
	property.Check(t, func(rt *rapid.T) {
		w := newWebhook(rt)
		defer w.end(w.injector)
		active := w.domain().Signer.Active
		steps := map[string]func(){
			"the rotation goes on":   w.turn,
			"the injector looks":     w.inject,
			"the watch delivers":     func() { w.notice(w.injector, guard) },
			"the server loads":       w.load,
			"the server reports":     func() { w.report("server", nil, []pki.Fingerprint{w.serves.Fingerprint}) },
			"kube-apiserver reports": func() { w.report("kube-apiserver", w.trusted(), nil) },
			"time passes":            func() { w.clock.Step(time.Minute) },
			"a rotation is asked":    w.ask,
			"the target is edited":   w.dirty,
			"the bundle is cut down": w.cut,
		}
		names := rapid.SampledFrom([]string{
			"the rotation goes on", "the injector looks", "the watch delivers", "the server loads", "the server reports", "kube-apiserver reports",
			"time passes", "a rotation is asked", "the target is edited", "the bundle is cut down",
			// Draw these more often, so that rotations finish.
			"the rotation goes on", "the rotation goes on", "the injector looks", "the watch delivers", "kube-apiserver reports", "the server reports",
		})
		for range rapid.IntRange(30, 90).Draw(rt, "steps") {
			step := names.Draw(rt, "step")
			steps[step]()
			if !w.verified() {
				rt.Fatalf("after %q the target holds %v, and the server serves a leaf of %s", step, w.held(guard), w.serves.Issuer)
			}
			if now := w.domain().Signer.Active; now != nil && !now.Equal(active) {
				w.rotations, active = w.rotations+1, now
			}
		}
		rotations, cuts = rotations+w.rotations, cuts+w.cuts
	})
	t.Logf("%d rotations, %d cuts of the bundle", rotations, cuts)
	if rotations == 0 || cuts == 0 {
		t.Errorf("%d rotations and %d cuts: this has shown nothing", rotations, cuts)
	}
}

func newWebhook(rt *rapid.T) *webhook {
	w := &webhook{world: newWorld(rt, time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))}
	w.rotate()
	w.injector = w.world.injector(nil)
	w.register(guard, annotated(home+"/"+bundleName))
	w.look(w.injector, guard)
	foreign, err := pki.NewAuthority(pki.Profile{CommonName: "foreign", Key: pki.ECDSAP256, Validity: time.Hour}, w.clock.Now())
	if err != nil {
		rt.Fatal(err)
	}
	w.foreign = foreign.Certificate
	w.load()
	return w
}
