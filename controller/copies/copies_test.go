// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package copies

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/controller/internal/apply"
	"certrotation.dev/controller/rotation"
	"certrotation.dev/registry/contenthash"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
	"certrotation.dev/test/apifake"
)

// same reports whether all copies hold the content of their sources.
func (w *world) same() bool {
	leaf, copied := w.secret(home, client), w.secret(away, "client")
	text := w.configMap(home, bundle).Data[inventory.BundleKey]
	return string(leaf.Data[inventory.ActiveCertKey]) == string(copied.Data[inventory.ActiveCertKey]) &&
		string(leaf.Data[inventory.ActiveKeyKey]) == string(copied.Data[inventory.ActiveKeyKey]) &&
		text == w.configMap(away, bundle).Data[inventory.BundleKey] && text == w.configMap(home, "bundle-here").Data[inventory.BundleKey]
}

func TestCopies(t *testing.T) {
	w, c := settled(t)
	if !w.same() {
		t.Fatal("the copies differ from their sources")
	}
	copied, source := w.secret(away, "client"), w.secret(home, client)
	if copied.Type != corev1.SecretTypeTLS || copied.Labels[trust.LabelCopyOf] != "demo.web-client" ||
		copied.Annotations[trust.AnnotationCopyOf] != "demo/web-client" ||
		copied.Annotations[trust.AnnotationNotAfter] != source.Annotations[trust.AnnotationNotAfter] ||
		copied.Annotations[rotation.AnnotationContentHash] != rotation.ContentHash(source.Data) {
		t.Errorf("type %s, labels %v, annotations %v", copied.Type, copied.Labels, copied.Annotations)
	}
	if _, ok := copied.Labels[trust.LabelManagedType]; ok {
		t.Error("the copy says that somebody manages its certificate")
	}
	w.reconcile(c)
	w.reconcile(w.copies(nil))
	if len(w.wrote) > 0 {
		t.Errorf("writes at rest: %v", w.wrote)
	}
}

// TestCopyHasTheUnreadBlock: some verifiers may read it.
func TestCopyHasTheUnreadBlock(t *testing.T) {
	w, c := settled(t)
	source := w.configMap(home, bundle)
	source.Data[inventory.BundleKey] = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n" + source.Data[inventory.BundleKey]
	w.put(home, source)
	w.reconcile(c)
	if !w.same() {
		t.Errorf("the copy is %s", w.configMap(away, bundle).Data[inventory.BundleKey])
	}
}

// TestCopiesFollowARotation checks after every write that users of the copies and users of the sources can verify
// each other.
func TestCopiesFollowARotation(t *testing.T) {
	w, c := settled(t)
	old := w.domain().Signer.Active
	w.request()
	had := map[string]bool{}
	check := func() {
		t.Helper()
		w.reconcile(c)
		had[contenthash.OfConfigMap(w.configMap(away, bundle))] = true
		anchors := anchorsOf(w.configMap(away, bundle)).Certificates
		pair, err := pki.ParsePair(w.secret(away, "client").Data[inventory.ActiveCertKey], w.secret(away, "client").Data[inventory.ActiveKeyKey])
		if err != nil {
			t.Fatal(err)
		}
		for name, cert := range map[string]*pki.Certificate{
			"the copied client": pair.Certificate, "the server": w.domain().Leaf("web-server").Certificate,
		} {
			verified := false
			for _, ca := range anchors {
				verified = verified || cert.SignedBy(ca)
			}
			if !verified {
				t.Fatalf("%s does not verify under the copied bundle in the stage %s", name, w.stage())
			}
		}
	}
	for range 60 {
		before := w.api.Version()
		if err := w.rotation.Reconcile(w.ctx(), home, "web"); err != nil && !strings.Contains(err.Error(), "not proposed") {
			t.Fatal(err)
		}
		check()
		if w.api.Version() == before {
			w.acknowledge()
			check()
		}
		w.clock.Step(time.Second)
	}
	d := w.domain()
	if w.stage() != trust.Stable || d.Signer.Active.Equal(old) || !w.same() || len(anchorsOf(w.configMap(away, bundle)).Certificates) != 1 {
		t.Errorf("stage %s, %d anchors in the copy", w.stage(), len(anchorsOf(w.configMap(away, bundle)).Certificates))
	}
	now := contenthash.ContentOfConfigMap(w.configMap(away, bundle))
	for hash := range had {
		if len(had) < 3 || !now.Reaches(hash) {
			t.Errorf("the copy had the contents %v, and has %+v", had, now)
		}
	}
}

func TestNothingBadIsSpread(t *testing.T) {
	setBundle := func(text string) func(w *world) {
		return func(w *world) {
			cm := w.configMap(home, bundle)
			cm.Data = map[string]string{inventory.BundleKey: text}
			w.put(home, cm)
		}
	}
	setLeaf := func(change func(w *world, data map[string][]byte)) func(w *world) {
		return func(w *world) {
			secret := w.secret(home, client)
			change(w, secret.Data)
			w.put(home, secret)
		}
	}
	tests := []struct {
		name string
		// before runs first, while the sources are whole.
		before, damage func(w *world)
		says           string
	}{
		{name: "the bundle is deleted", damage: func(w *world) { w.remove(home, w.configMap(home, bundle)) }, says: "does not exist or is empty"},
		{name: "the bundle is emptied", damage: setBundle(""), says: "does not exist or is empty"},
		{name: "the bundle is cut", damage: setBundle("-----BEGIN CERTIFICATE-----\nabc"), says: "restore it"},
		{name: "the bundle loses an anchor in use", before: func(w *world) { w.request(); w.step() }, damage: func(w *world) {
			setBundle(string(w.domain().Signer.Next.PEM()))(w)
		}, says: "keeps what its source has lost"},
		{name: "the leaf is deleted", damage: func(w *world) { w.remove(home, w.secret(home, client)) }, says: "does not exist"},
		{name: "the key is another one", damage: setLeaf(func(w *world, data map[string][]byte) {
			data[inventory.ActiveKeyKey] = w.secret(home, "web-server").Data[inventory.ActiveKeyKey]
		}), says: "does not belong to the certificate"},
		{name: "the leaf is cut", damage: setLeaf(func(_ *world, data map[string][]byte) {
			data[inventory.ActiveCertKey] = data[inventory.ActiveCertKey][:100]
		}), says: "cannot be read"},
		{name: "the leaf is of a CA that nobody knows", damage: setLeaf(func(w *world, data map[string][]byte) {
			leaf, err := w.foreignCA().Issue(pki.Profile{CommonName: "client", Usages: []pki.Usage{pki.ClientAuth}, Key: pki.ECDSAP256, Validity: time.Minute}, w.clock.Now())
			if err != nil {
				w.t.Fatal(err)
			}
			w.fill(data, leaf)
		}), says: "is signed by no CA that this trust domain knows"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w, c := settled(t)
			if tt.before != nil {
				tt.before(w)
				w.reconcile(c)
			}
			leaf, anchors := w.secret(away, "client").Data, len(anchorsOf(w.configMap(away, bundle)).Certificates)
			tt.damage(w)
			for range 3 {
				w.reconcile(c)
				w.clock.Step(patience)
			}
			if diff := cmp.Diff(leaf, w.secret(away, "client").Data); diff != "" {
				t.Error("the copy of the leaf has changed")
			}
			if got := len(anchorsOf(w.configMap(away, bundle)).Certificates); got != anchors {
				t.Errorf("the copy of the bundle has %d anchors, had %d", got, anchors)
			}
			if w.said("CopyHeld") == 0 || w.said(tt.says) == 0 {
				t.Errorf("events %q do not say %q", w.events, tt.says)
			}
			told := len(w.events)
			w.reconcile(c)
			if len(w.events) != told {
				t.Errorf("said again: %q", w.events[told:])
			}
			if heldCopies(t, c) == 0 {
				t.Error("the metric says that nothing is held")
			}
			w.rotate()
			w.reconcile(c)
			if strings.Contains(tt.says, "does not belong") || strings.Contains(tt.says, "cannot be read") || strings.Contains(tt.says, "restore") {
				return // only a person can repair this
			}
			w.reconcile(c)
			if !w.same() || w.said("CopyResumed") == 0 {
				t.Errorf("the copies differ when all is well again; events %q", w.events)
			}
		})
	}
}

func TestCopiesAreRestored(t *testing.T) {
	tests := map[string]func(w *world){
		"the leaf is deleted":   func(w *world) { w.remove(away, w.secret(away, "client")) },
		"the bundle is deleted": func(w *world) { w.remove(away, w.configMap(away, bundle)) },
		"the bundle is emptied": func(w *world) {
			cm := w.configMap(away, bundle)
			cm.Data = nil
			w.put(away, cm)
		},
		"the bundle is binary": func(w *world) {
			cm := w.configMap(away, bundle)
			cm.Data, cm.BinaryData = nil, map[string][]byte{inventory.BundleKey: []byte(cm.Data[inventory.BundleKey])}
			w.put(away, cm)
		},
		"the bundle is another's": func(w *world) {
			cm := w.configMap(away, bundle)
			cm.Data[inventory.BundleKey] = string(w.foreignCA().CertPEM())
			w.put(away, cm)
		},
		"the key is lost": func(w *world) {
			secret := w.secret(away, "client")
			secret.Data[inventory.ActiveKeyKey] = nil
			w.put(away, secret)
		},
	}
	for name, damage := range tests {
		t.Run(name, func(t *testing.T) {
			w, c := settled(t)
			damage(w)
			w.reconcile(c)
			if !w.same() || len(w.wrote) != 1 || w.secret(away, "client").Labels[trust.LabelCopyOf] == "" {
				t.Errorf("restored %t with the writes %v", w.same(), w.wrote)
			}
			if cm := w.configMap(away, bundle); len(cm.BinaryData) > 0 {
				t.Error("the bundle is there twice")
			}
		})
	}
}

// TestObstacles creates an obstacle that only a person can remove, and removes it.
func TestObstacles(t *testing.T) {
	namespaceMissing := func(r *apifake.Request) error {
		if r.Verb == "create" && r.Namespace == away {
			return apierrors.NewNotFound(corev1.Resource("namespaces"), away)
		}
		return nil
	}
	terminating := func(r *apifake.Request) error {
		if err := namespaceMissing(r); err == nil {
			return nil
		}
		err := apierrors.NewForbidden(corev1.Resource("secrets"), "client", errRefused)
		err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
		return err
	}
	opaque := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Name: "client", Labels: map[string]string{trust.LabelCopyOf: "demo.web-client"},
		Annotations: map[string]string{trust.AnnotationCopyOf: "demo/web-client"},
	}, Type: corev1.SecretTypeOpaque}
	plain := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "client"}, Type: corev1.SecretTypeTLS}
	tests := []struct {
		name, says string
		before     func(w *world)
		config     func(*Config)
		repair     func(w *world)
	}{
		{name: "the namespace does not exist", says: "namespace elsewhere does not exist",
			before: func(w *world) { w.api.Admit = namespaceMissing }, repair: func(w *world) { w.api.Admit = nil }},
		{name: "the namespace is being deleted", says: "is being deleted",
			before: func(w *world) { w.api.Admit = terminating }, repair: func(w *world) { w.api.Admit = nil }},
		{name: "a Secret of another type is there", says: "is of type Opaque",
			before: func(w *world) { w.put(away, opaque) }, repair: func(w *world) { w.remove(away, opaque) }},
		{name: "a Secret is there", says: "was there before and is not overwritten; delete it",
			before: func(w *world) { w.put(away, plain) }, repair: func(w *world) { w.remove(away, plain) }},
		{name: "half a mark is on a Secret", says: "is not overwritten", before: func(w *world) {
			half := plain.DeepCopy()
			half.Annotations = map[string]string{trust.AnnotationCopyOf: "demo/web-client"}
			w.put(away, half)
		}, repair: func(w *world) { w.remove(away, plain) }},
		{name: "writes are refused", says: "injected", before: func(w *world) {
			w.befalls(apifake.Forbidden, func(write string) bool { return strings.Contains(write, away) })
		}, repair: func(w *world) { w.api.Fault = nil }},
		{name: "a configuration there has that name for something else", says: "as a signer", before: func(w *world) {
			w.put(away, configuration(w.t, strings.NewReplacer("web-signer", "client", "web-", "other-", "name: web\n", "name: other\n").Replace(withoutCopies)))
		}, repair: func(w *world) { w.remove(away, configuration(w.t, webConfig)) }},
		{name: "another configuration has a copy there", says: "is a copy of third/web-client already", before: func(w *world) {
			w.put("third", configuration(w.t, webConfig))
			w.put(away, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
				Name: "client", Labels: map[string]string{trust.LabelCopyOf: "third.web-client"},
				Annotations: map[string]string{trust.AnnotationCopyOf: "third/web-client"},
			}, Type: corev1.SecretTypeTLS})
		}, repair: func(w *world) { w.remove(away, w.secret(away, "client")) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, webConfig)
			w.rotate()
			tt.before(w)
			c := w.copies(tt.config)
			for range 3 {
				if err := c.Reconcile(w.ctx(), home); err == nil {
					t.Error("no error: it would not be tried again")
				}
				w.clock.Step(patience)
			}
			if w.said("CopyHeld Secret/web-client: copy elsewhere/client: ") != 1 || w.said(tt.says) == 0 {
				t.Errorf("events %q do not say once %q", w.events, tt.says)
			}
			if w.configMap(home, "bundle-here").Data[inventory.BundleKey] == "" {
				t.Error("another copy suffers")
			}
			tt.repair(w)
			w.reconcile(c)
			if !w.same() || w.said("CopyResumed Secret/web-client: copy elsewhere/client ") != 1 {
				t.Errorf("not resumed: %q", w.events)
			}
		})
	}
}

var withoutCopies, _, _ = strings.Cut(webConfig, "  copies:")

// TestEveryWriteFails makes each write of the first copies fail once with each fault.
func TestEveryWriteFails(t *testing.T) {
	for _, fault := range append(apifake.WriteFaults(), apifake.AlreadyExists) {
		t.Run(string(fault), func(t *testing.T) {
			for n := range 3 {
				w := newWorld(t, webConfig)
				w.rotate()
				seen := 0
				w.befalls(fault, func(string) bool {
					seen++
					return seen == n+1
				})
				c := w.copies(nil)
				if err := c.Reconcile(w.ctx(), home); err == nil {
					t.Error("no error: it would not be tried again")
				}
				w.api.Revive()
				w.reconcile(c)
				if !w.same() {
					t.Errorf("the copies differ after the failure of write %d", n+1)
				}
			}
		})
	}
}

// TestOutdatedDecision changes the source between the decision and the write.
func TestOutdatedDecision(t *testing.T) {
	w, c := settled(t)
	for _, name := range []string{bundle, client} {
		for _, target := range c.memory.replaceNamespace(home, w.Namespace(home)) {
			if task := c.task(target); task.copy.Name == name {
				if name == bundle {
					w.put(home, w.configMap(home, bundle))
				} else {
					w.put(home, w.secret(home, client))
				}
				if _, _, err := c.write(t.Context(), task); !apply.Benign(err) || err == nil {
					t.Errorf("%s: got %v, want to look again", name, err)
				}
			}
		}
	}
	if len(w.wrote) > 0 {
		t.Errorf("writes %v", w.wrote)
	}
}

func TestSourceOfNoDomain(t *testing.T) {
	w := newWorld(t, webConfig)
	c := w.copies(nil)
	n := w.Namespace(home)
	n.Domains = nil
	c.inventory = fixed{n}
	for range 2 {
		w.reconcile(c)
		w.clock.Step(patience)
	}
	if w.said("takes effect") != 3 || len(w.wrote) > 0 {
		t.Errorf("events %q, writes %v", w.events, w.wrote)
	}
}

type fixed struct{ n *inventory.Namespace }

func (f fixed) Namespace(namespace string) *inventory.Namespace {
	if namespace != f.n.Name {
		return nil
	}
	return f.n
}

func TestNewWantsItsParts(t *testing.T) {
	if _, err := New(Config{}); err == nil {
		t.Error("no error")
	}
}
