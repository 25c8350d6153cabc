// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package copies

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
	"certrotation.dev/test/apifake"
)

// gone are the deletions of all copies in the other namespace.
var gone = []string{"delete configmaps elsewhere/web-bundle", "delete secrets elsewhere/client"}

func (w *world) wroteSorted() []string {
	out := slices.Clone(w.wrote)
	slices.Sort(out)
	return out
}

// TestTakenBack withdraws what copies depend on.
func TestTakenBack(t *testing.T) {
	unmanaged := func(w *world) { w.manage(home, false) }
	dropped := func(w *world) { w.put(home, configuration(w.t, withoutCopies)) }
	deleted := func(w *world) { w.remove(home, configuration(w.t, webConfig)) }
	here := "delete configmaps demo/bundle-here"
	tests := []struct {
		name     string
		withdraw func(w *world)
		wrote    []string
	}{
		{name: "nothing", withdraw: func(*world) {}},
		{name: "one entry", withdraw: func(w *world) { w.agree(away, "demo/ConfigMap/web-bundle") }, wrote: gone[1:]},
		{name: "every entry", withdraw: func(w *world) { w.agree(away, "") }, wrote: gone},
		{name: "an entry that is misspelt", withdraw: func(w *world) { w.agree(away, "demo/secret/client, demo/ConfigMap/web-bundle") }, wrote: gone[1:]},
		{name: "the copies of the configuration", withdraw: dropped, wrote: append([]string{here}, gone...)},
		{name: "the configuration", withdraw: deleted, wrote: append([]string{here}, gone...)},
		{name: "a configuration that cannot be read takes nothing", withdraw: func(w *world) {
			broken := configuration(w.t, withoutCopies)
			broken.Spec.TrustDomains[0].Signer.SecretName = "not a name"
			w.put(home, broken)
		}},
		{name: "the namespace is not managed any more, and is not written to", withdraw: func(w *world) { unmanaged(w); dropped(w) }, wrote: gone},
		{name: "while the source is broken", withdraw: func(w *world) {
			w.remove(home, w.secret(home, client))
			w.remove(home, w.configMap(home, bundle))
			w.agree(away, "")
		}, wrote: gone},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w, c := settled(t)
			tt.withdraw(w)
			w.wrote = nil
			for range 3 {
				// The controller returns an error for a held copy, so that it is retried.
				_ = c.Reconcile(w.ctx(), home)
			}
			if diff := cmp.Diff(tt.wrote, w.wroteSorted()); diff != "" {
				t.Errorf("writes (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTakenBackAndGivenAgain: a destination that accepts again gets the copies again.
func TestTakenBackAndGivenAgain(t *testing.T) {
	w, c := settled(t)
	w.agree(away, "")
	if err := c.Reconcile(w.ctx(), home); err == nil {
		t.Error("no error: it would not be tried again")
	}
	w.agree(away, accepting)
	w.reconcile(c)
	if !w.same() {
		t.Error("the copies are not there")
	}
}

// TestTakenBackFromOthers: foreign data in a copy stay, and so do objects that are no copies.
func TestTakenBackFromOthers(t *testing.T) {
	w, c := settled(t)
	secret, cm := w.secret(away, "client"), w.configMap(away, bundle)
	secret.Data["keystore.p12"], secret.Annotations["example.com/owner"] = []byte("mine"), "me"
	cm.Data["readme"] = "mine"
	w.put(away, secret)
	w.put(away, cm)
	w.agree(away, "")
	for range 3 {
		_ = c.Reconcile(w.ctx(), home)
	}
	secret, cm = w.secret(away, "client"), w.configMap(away, bundle)
	if diff := cmp.Diff(map[string][]byte{"keystore.p12": []byte("mine"), inventory.ActiveCertKey: {}, inventory.ActiveKeyKey: {}}, secret.Data); diff != "" {
		t.Errorf("Secret (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"readme": "mine"}, cm.Data); diff != "" {
		t.Errorf("ConfigMap (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"example.com/owner": "me"}, secret.Annotations); diff != "" || len(secret.Labels) > 0 {
		t.Errorf("labels %v, annotations (-want +got):\n%s", secret.Labels, diff)
	}
	if slices.ContainsFunc(w.wrote, func(write string) bool { return strings.HasPrefix(write, "delete") }) {
		t.Errorf("writes %v", w.wrote)
	}
}

// TestTakenBackWithoutTheRightToDelete: without the right to delete, the key is still removed.
func TestTakenBackWithoutTheRightToDelete(t *testing.T) {
	w, c := settled(t)
	w.befalls(apifake.Forbidden, func(write string) bool { return strings.HasPrefix(write, "delete") })
	w.agree(away, "")
	_ = c.Reconcile(w.ctx(), home)
	secret, cm := w.secret(away, "client"), w.configMap(away, bundle)
	if len(secret.Data[inventory.ActiveKeyKey]) > 0 || len(cm.Data) > 0 || secret.Labels[trust.LabelCopyOf] != "" || cm.Labels[trust.LabelCopyOf] != "" {
		t.Errorf("the key has %d bytes, the bundle %d keys", len(secret.Data[inventory.ActiveKeyKey]), len(cm.Data))
	}
}

// TestNotTakenBack: a foreign object in the place of the copy stays.
func TestNotTakenBack(t *testing.T) {
	w, c := settled(t)
	secret := w.secret(away, "client")
	secret.Data[inventory.ActiveCertKey] = []byte("theirs")
	w.put(away, secret)
	w.put(home, configuration(t, withoutCopies))
	w.wrote = nil
	for range 3 {
		_ = c.Reconcile(w.ctx(), home)
		w.clock.Step(patience)
	}
	if string(w.secret(away, "client").Data[inventory.ActiveCertKey]) != "theirs" || slices.Contains(w.wrote, gone[1]) {
		t.Errorf("writes %v", w.wrote)
	}
	if w.said("CopyHeld Secret/web-client: copy elsewhere/client: ") != 1 || w.said("others have changed it") != 1 || c.memory.held()[home] != 1 {
		t.Errorf("events %q, held %v", w.events, c.memory.held())
	}
	w.remove(away, secret)
	w.reconcile(c)
	if len(c.memory.states) > 0 {
		t.Errorf("still known: %v", c.memory.states)
	}
}

// TestTakenBackAsItWasRead: a copy that changes before its deletion is tried again.
func TestTakenBackAsItWasRead(t *testing.T) {
	w, c := settled(t)
	w.agree(away, "")
	raced := false
	w.api.Admit = func(r *apifake.Request) error {
		if written(r) == gone[1] && !raced {
			raced = true
			live := w.secret(away, "client")
			live.Data["theirs"] = []byte("x")
			w.put(away, live)
		}
		return nil
	}
	for range 3 {
		_ = c.Reconcile(w.ctx(), home)
	}
	if secret := w.secret(away, "client"); string(secret.Data["theirs"]) != "x" || len(secret.Data[inventory.ActiveKeyKey]) > 0 {
		t.Errorf("the Secret has the keys %v", len(secret.Data))
	}
}
