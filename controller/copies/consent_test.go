// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package copies

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
	"certrotation.dev/test/apifake"
)

// TestConsent varies what the destination namespace accepts and what it already has.
func TestConsent(t *testing.T) {
	theirs := map[string][]byte{"tls.crt": []byte("theirs"), "tls.key": []byte("theirs")}
	marked := func(source, label string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
			Name: "client", Labels: map[string]string{trust.LabelCopyOf: label}, Annotations: map[string]string{trust.AnnotationCopyOf: source},
		}, Type: corev1.SecretTypeTLS, Data: theirs}
	}
	plain := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "client"}, Type: corev1.SecretTypeTLS, Data: theirs}
	const refused = "namespace elsewhere does not accept Secret/client from namespace demo"
	const others = "demo/ConfigMap/web-bundle"
	tests := []struct {
		name, accepted string
		there          *corev1.Secret
		want           string
	}{
		{name: "nothing says so", want: refused},
		{name: "another's Secret is there, and nothing says so", there: plain, want: refused},
		{name: "another name", accepted: "demo/Secret/client2", want: refused},
		{name: "the name of the source", accepted: "demo/Secret/web-client", want: refused},
		{name: "another namespace", accepted: "demo2/Secret/client", want: refused},
		{name: "the namespace as a whole", accepted: "demo", want: refused + ` ("demo" is not of the form`},
		{name: "nothing stands for all", accepted: "*,demo/*,demo/Secret/*", want: refused},
		{name: "accepted", accepted: "a,demo/Secret/client"},
		{name: "accepted, with another's Secret there", accepted: "demo/Secret/client", there: plain, want: "is not overwritten"},
		{name: "accepted, with the copy there", accepted: "demo/Secret/client", there: marked("demo/web-client", "demo.web-client")},
		{name: "accepted, with the copy of another leaf there", accepted: "demo/Secret/client", there: marked("demo/web-server", "demo.web-server")},
		{name: "accepted, with a copy from another namespace there", accepted: "demo/Secret/client", there: marked("gone/web-client", "gone.web-client"),
			want: "is a copy of gone/web-client already"},
		{name: "accepted, with half a mark", accepted: "demo/Secret/client", there: marked("demo/web-client", "x"), want: "is not overwritten"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, webConfig)
			w.rotate()
			w.agree(away, others+","+tt.accepted)
			if tt.there != nil {
				w.put(away, tt.there)
			}
			w.wrote = nil
			c := w.copies(nil)
			var err error
			for range 3 {
				err = c.Reconcile(w.ctx(), home)
				w.clock.Step(patience)
			}
			wrote := slices.ContainsFunc(w.wrote, func(write string) bool { return strings.HasSuffix(write, " secrets elsewhere/client") })
			if tt.want == "" {
				if !wrote || string(w.secret(away, "client").Data["tls.crt"]) == "theirs" {
					t.Errorf("not copied: %v", err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got error %v, want %q", err, tt.want)
			}
			if wrote {
				t.Errorf("writes %v", w.wrote)
			}
			if w.said("CopyHeld Secret/web-client: copy elsewhere/client: ") != 1 || w.said(tt.want) != 1 || c.memory.held()[home] != 1 {
				t.Errorf("events %q, %v copies held", w.events, c.memory.held()[home])
			}
			if tt.there != nil {
				w.remove(away, tt.there)
			}
			w.agree(away, accepting)
			w.reconcile(c)
			if !w.same() || c.memory.held()[home] != 0 {
				t.Error("not copied after the namespace has agreed")
			}
		})
	}
}

// TestConsentWithinTheNamespace: an existing object is overwritten only if it consents itself.
func TestConsentWithinTheNamespace(t *testing.T) {
	tests := []struct {
		name, consents, says string
	}{
		{name: "it says nothing", says: "kubectl certrotation adopt -n demo certrotation"},
		{name: "it names another configuration", consents: "other", says: "may be used by the configuration other"},
		{name: "it consents", consents: "certrotation"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, webConfig)
			w.rotate()
			theirs := &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Name: "bundle-here", Labels: map[string]string{"team": "us"}},
				Data:       map[string]string{inventory.BundleKey: "theirs", "readme": "mine"},
			}
			if tt.consents != "" {
				theirs.Annotations = map[string]string{trust.AnnotationConfiguration: tt.consents}
			}
			w.put(home, theirs)
			c := w.copies(nil)
			var err error
			for range 3 {
				err = c.Reconcile(w.ctx(), home)
				w.clock.Step(patience)
			}
			got := w.configMap(home, "bundle-here")
			if got.Data["readme"] != "mine" || got.Labels["team"] != "us" {
				t.Errorf("what belongs to others is gone: %v, %v", got.Data, got.Labels)
			}
			if tt.says == "" {
				if err != nil || !w.same() {
					t.Errorf("not copied: %v", err)
				}
				return
			}
			if err == nil || w.said("CopyHeld ConfigMap/web-bundle: copy demo/bundle-here: ") != 1 || w.said(tt.says) != 1 ||
				got.Data[inventory.BundleKey] != "theirs" {
				t.Errorf("error %v, events %q", err, w.events)
			}
		})
	}
}

// TestBornWithConsent: a new copy in the source namespace has the consent annotation, a copy elsewhere has not.
func TestBornWithConsent(t *testing.T) {
	w, _ := settled(t)
	if got := w.configMap(home, "bundle-here").Annotations[trust.AnnotationConfiguration]; got != "certrotation" {
		t.Errorf("the copy within the namespace consents to %q", got)
	}
	if got, ok := w.secret(away, "client").Annotations[trust.AnnotationConfiguration]; ok {
		t.Errorf("the copy elsewhere consents to %q, which is no configuration there", got)
	}
}

// TestConsentThatCannotBeRead is neither consent nor withdrawal.
func TestConsentThatCannotBeRead(t *testing.T) {
	for name, failure := range map[string]struct {
		fault apifake.Fault
		says  string
	}{
		"not allowed": {apifake.Forbidden, "may not read namespace elsewhere"},
		"a fault":     {apifake.FailedRead, "read whether namespace elsewhere consents"},
	} {
		t.Run(name, func(t *testing.T) {
			w, c := settled(t)
			w.remove(home, w.secret(home, client))
			w.api.ReadFault = func(r *apifake.Request) apifake.Fault {
				if r.Verb == "get" && r.Resource.Resource == "namespaces" && r.Name == away {
					return failure.fault
				}
				return apifake.NoFault
			}
			w.rotate()
			before := w.secret(away, "client")
			w.wrote = nil
			err := c.Reconcile(w.ctx(), home)
			if err == nil || !strings.Contains(err.Error(), failure.says) {
				t.Errorf("got %v", err)
			}
			if diff := cmp.Diff(before, w.secret(away, "client")); diff != "" || len(w.wrote) > 0 {
				t.Errorf("writes %v", w.wrote)
			}
		})
	}
}

// TestNamedNamespaces: a namespace named to the controller needs no label. The destination must still accept.
func TestNamedNamespaces(t *testing.T) {
	w := newWorld(t, webConfig)
	w.rotate()
	w.manage(home, false)
	c := w.copies(func(cfg *Config) { cfg.Namespaces = []string{home, away} })
	w.reconcile(c)
	if !w.same() {
		t.Error("not copied")
	}
	w.agree(away, "")
	w.wrote = nil
	if err := c.Reconcile(w.ctx(), home); err == nil || !strings.Contains(err.Error(), "does not accept") {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff(gone, w.wroteSorted()); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
}

// TestNamespacesOfTheController: with a list of namespaces, the controller touches no other.
func TestNamespacesOfTheController(t *testing.T) {
	w := newWorld(t, webConfig)
	w.rotate()
	w.wrote = nil
	c := w.copies(func(cfg *Config) { cfg.Namespaces = []string{home} })
	err := c.Reconcile(w.ctx(), home)
	if err == nil || !strings.Contains(err.Error(), "namespace elsewhere is not among the --namespaces") {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff([]string{"create configmaps demo/bundle-here"}, w.wrote); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	k := key{from: home, target: target{kind: configv1alpha1.CopySecret, namespace: away, name: "gone"}}
	c.memory.know(k, client)
	if err := c.queue.Do(w.ctx(), k); err != nil || len(w.wrote) > 1 {
		t.Errorf("error %v, writes %v", err, w.wrote)
	}
}
