// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/edition"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/record"
	"certrotation.dev/registry/trust"
)

// editionsWorld is a trust domain whose Secrets an operator writes as editions. A server verifies the client.
func editionsWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.secrets, w.configMaps = map[string]*corev1.Secret{}, map[string]*corev1.ConfigMap{}
	w.active, w.next = w.authority("ca-00000001", now), w.authority("ca-00000002", now)
	w.config.Spec = configv1alpha1.RotationConfigurationSpec{TrustDomains: []configv1alpha1.TrustDomain{{
		Name: "web", Editions: &configv1alpha1.Editions{Identity: "operator"},
		Signer: configv1alpha1.Signer{SecretName: "ca"}, Bundle: configv1alpha1.Bundle{ConfigMapName: "ca-bundle"},
		Leaves: []configv1alpha1.Leaf{{SecretName: "client", CommonName: "client", Usages: []configv1alpha1.Usage{configv1alpha1.ClientAuth}}},
		RelyingParties: []configv1alpha1.RelyingParty{
			{Name: "server", Evidence: configv1alpha1.Evidence{Kind: configv1alpha1.EvidenceAcknowledgement}},
			{
				Name: "client", Verifies: configv1alpha1.LeafSelection{Nothing: true}, Presents: []string{"client"},
				Evidence: configv1alpha1.Evidence{Kind: configv1alpha1.EvidenceNone, Reason: "it is a test"},
			},
		},
	}}}
	for _, secret := range []*corev1.Secret{w.caEdition(1, w.active), w.bundleEdition(1, w.active), w.leafEdition(1, w.active)} {
		w.secrets[secret.Name] = secret
	}
	return w
}

func (w *world) edition(name string, n int, data map[string][]byte) *corev1.Secret {
	object := fmt.Sprintf("%s-%08x", name, n)
	return &corev1.Secret{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: demo, Name: object, UID: types.UID("uid-of-" + object), ResourceVersion: "1", Annotations: consent(),
			CreationTimestamp: metav1.NewTime(now.Add(time.Duration(n-10) * time.Hour)),
			Labels: map[string]string{
				edition.LabelManagedBy: edition.ManagedBy, edition.LabelManagerIdentity: "operator", edition.LabelName: name,
				edition.LabelGeneration: fmt.Sprint(n),
			},
		},
		Type: corev1.SecretTypeOpaque, Data: data, Immutable: new(true),
	}
}

func (w *world) caEdition(n int, ca *pki.Pair) *corev1.Secret {
	return w.edition("ca", n, map[string][]byte{"ca.crt": ca.CertPEM(), "ca.key": w.key(ca)})
}

func (w *world) bundleEdition(n int, anchors ...*pki.Pair) *corev1.Secret {
	var certs []*pki.Certificate
	for _, ca := range anchors {
		certs = append(certs, ca.Certificate)
	}
	out := w.edition("ca-bundle", n, map[string][]byte{edition.BundleKey: pki.EncodeCertificates(certs...)})
	out.Labels[edition.LabelBundleFor] = "ca"
	return out
}

func (w *world) leafEdition(n int, by *pki.Pair) *corev1.Secret {
	w.t.Helper()
	pair, err := by.Issue(pki.Profile{CommonName: "client", Key: pki.ECDSAP256, Validity: time.Hour, Usages: []pki.Usage{pki.ClientAuth}}, now)
	if err != nil {
		w.t.Fatal(err)
	}
	out := w.edition("client", n, map[string][]byte{corev1.TLSCertKey: pair.CertPEM(), corev1.TLSPrivateKeyKey: w.key(pair), "ca.crt": by.CertPEM()})
	out.Type = corev1.SecretTypeTLS
	return out
}

// theirs removes the consent of an edition.
func theirs(secret *corev1.Secret) *corev1.Secret {
	return edited(secret, func(s *corev1.Secret) { s.Annotations = nil })
}

// adding adds editions.
func (w *world) adding(editions ...*corev1.Secret) *world {
	out := w.clone()
	for _, secret := range editions {
		out.secrets[secret.Name] = secret
	}
	return out
}

// loaded has the server report that it has loaded CAs.
func (w *world) loaded(cas ...*pki.Pair) *world {
	out := w.clone()
	o := trust.Observation{Instance: "process", Kind: trust.Acknowledgement, ObservedAt: now, StartedAt: now, Expires: now.Add(time.Hour)}
	for _, ca := range cas {
		o.Trusts = append(o.Trusts, ca.Certificate.Fingerprint)
	}
	r, err := record.OfEvidence(demo, "web", "server", "server", []trust.Observation{o})
	if err != nil {
		w.t.Fatal(err)
	}
	r.UID, r.ResourceVersion = "uid-of-evidence", "1"
	out.records[r.Name] = r
	return out
}

// TestReviewEditions: an edition that a verifier would refuse, or that would end what is in use, is denied before it
// exists.
func TestReviewEditions(t *testing.T) {
	rest := editionsWorld(t)
	next, both := rest.caEdition(2, rest.next), rest.bundleEdition(2, rest.active, rest.next)
	prepared := rest.adding(next, both)
	reissued := prepared.adding(rest.leafEdition(2, rest.next)).loaded(rest.active, rest.next)
	completed := reissued.clone()
	delete(completed.secrets, "client-00000001")
	denied := func(invariant string) answer { return answer{Code: 403, LiveReads: 1, Invariants: []string{invariant}} }
	third := rest.caEdition(3, rest.foreign)

	for _, tc := range []struct {
		name         string
		world        *world
		old, changed runtime.Object
		want         answer
	}{
		{name: "a new CA", world: rest, changed: next},
		{name: "a bundle with it", world: rest.adding(next), changed: both},
		{name: "a leaf of it, not in the bundle", world: rest.adding(next), changed: rest.leafEdition(2, rest.next), want: denied("TrustBeforeUse")},
		{name: "a leaf of it, not loaded", world: prepared.loaded(rest.active), changed: rest.leafEdition(2, rest.next), want: denied("TrustBeforeUse")},
		{name: "a leaf of it, loaded", world: prepared.loaded(rest.active, rest.next), changed: rest.leafEdition(2, rest.next), want: answer{LiveReads: 1}},
		{name: "a leaf of a stranger", world: rest, changed: rest.leafEdition(2, rest.foreign), want: denied("TrustBeforeUse")},
		{name: "a leaf without consent", world: rest, changed: theirs(rest.leafEdition(2, rest.foreign))},
		{name: "a leaf of another identity", world: rest,
			changed: edited(rest.leafEdition(2, rest.foreign), func(s *corev1.Secret) { s.Labels[edition.LabelManagerIdentity] = "other" })},
		{name: "an edition consents later", world: rest.adding(theirs(rest.leafEdition(2, rest.foreign))),
			old: theirs(rest.leafEdition(2, rest.foreign)), changed: rest.leafEdition(2, rest.foreign)},
		{name: "a second rotation", world: prepared, changed: third, want: denied("OneRotation")},
		{name: "a bundle without the former CA, in use", world: reissued, changed: rest.bundleEdition(3, rest.next), want: denied("AnchorInUse")},
		{name: "a bundle without the former CA", world: completed, changed: rest.bundleEdition(3, rest.next), want: answer{LiveReads: 1}},
		{name: "an empty bundle", world: rest, changed: rest.bundleEdition(2), want: denied("NeverEmpty")},
		{name: "an aborted CA goes", world: prepared, old: next, want: answer{LiveReads: 1}},
		{name: "its bundle goes before it", world: prepared, old: both, want: denied("AnchorInUse")},
		{name: "its bundle goes after it", world: rest.adding(both), old: both, want: answer{LiveReads: 1}},
		{name: "the newest bundle goes", world: reissued, old: both, want: denied("AnchorInUse")},
		{name: "a former bundle goes", world: prepared, old: rest.secrets["ca-bundle-00000001"]},
		{name: "the former CA goes, in use", world: reissued, old: rest.secrets["ca-00000001"], want: denied("AnchorInUse")},
		{name: "the former CA goes", world: completed.adding(rest.bundleEdition(3, rest.next)), old: rest.secrets["ca-00000001"], want: answer{LiveReads: 1}},
		{name: "a former leaf goes", world: reissued, old: rest.secrets["client-00000001"], want: answer{LiveReads: 1}},
		{name: "the only CA goes", world: rest.adding(rest.bundleEdition(2)), old: rest.secrets["ca-00000001"], want: denied("AnchorInUse")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if made, ok := tc.changed.(*corev1.Secret); ok && tc.old == nil {
				made.CreationTimestamp = metav1.NewTime(now)
			}
			v := viewOf(tc.world)
			got := ask(t, newHandler(t, v, namespaceOf(false)), v, request(t, tc.old, tc.changed))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}

// TestReviewOperations: an operation that is not possible in the phase is denied; the others need nothing of the model.
func TestReviewOperations(t *testing.T) {
	rest := editionsWorld(t)
	rest.config.Spec.Credentials = &configv1alpha1.Credentials{}
	rest.config.Status.Conditions = []metav1.Condition{{Type: configv1alpha1.ConditionAccepted, Status: metav1.ConditionTrue}}
	for _, tt := range []struct {
		operation string
		phase     edition.Phase
		// refused is in the message, "" if the operation is allowed.
		refused string
	}{
		{operation: "rotate-ca-start"},
		{operation: "rotate-ca-start", phase: edition.Prepared, refused: "rotate-ca-start in the phase Prepared: complete that rotation first"},
		{operation: "rotate-ca-complete", refused: "rotate-ca-complete in the phase never rotated"},
		{operation: "rotate-ca-complete", phase: edition.Preparing, refused: "rotate-ca-complete in the phase Preparing"},
		{operation: "rotate-ca-complete", phase: edition.Prepared},
		{operation: "rotate-ca-abort", phase: edition.Prepared},
		{operation: "rotate-ca-abort", phase: edition.Completing, refused: "rotate-ca-abort in the phase Completing"},
		{operation: "rotate-rollout-workers=a", phase: edition.Preparing, refused: "rotate-rollout-workers in the phase Preparing: wait until it is WaitingForWorkersRollout"},
		{operation: "reconcile", refused: `"reconcile" is unknown`},
	} {
		t.Run(tt.operation+" in the phase "+string(tt.phase), func(t *testing.T) {
			rest.config.Status.Credentials = &configv1alpha1.CredentialsStatus{CertificateAuthorities: configv1alpha1.CredentialRotation{Phase: tt.phase}}
			changed := rest.config.DeepCopy()
			changed.Annotations = map[string]string{edition.AnnotationOperation: tt.operation}
			v := viewOf(rest)
			h, req := newHandler(t, v, namespaceOf(false)), request(t, rest.config, changed)
			var want answer
			if tt.refused != "" {
				want.Code = 422
			}
			if diff := cmp.Diff(want, ask(t, h, v, req)); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			reviewed, err := h.review(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			if result := reviewed.response(req.UID).Result; result != nil && !strings.Contains(result.Message, tt.refused) {
				t.Errorf("message %q, want %q", result.Message, tt.refused)
			}
		})
	}
}
