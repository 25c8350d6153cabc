// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"certrotation.dev/admission"
	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/trust"
	"certrotation.dev/test/apifake"
)

// guarded is a world whose user edits pass the admission webhook first.
type guarded struct {
	*world
	guard *admission.Handler
	// issuer of a world whose leaves are issued by others.
	issuer *certManager
}

// HasSynced implements admission.Inventory.
func (guarded) HasSynced() bool { return true }

// Managed implements admission.Inventory.
func (guarded) Managed(string) bool { return true }

// Await implements admission.Inventory.
func (guarded) Await(context.Context, string) error { return nil }

func guard(w *world) *guarded {
	w.t.Helper()
	g := &guarded{world: w}
	namespaces := apifake.New(w.t, w.clock, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: testNamespace}})
	handler, err := admission.New(admission.Config{Inventory: g, Client: namespaces.Client, Clock: w.clock, RecordWriters: []string{"controller"}})
	if err != nil {
		w.t.Fatal(err)
	}
	g.guard = handler
	return g
}

// edit makes a user's edit if the webhook allows it, and returns the answer. If changed is nil, it deletes.
func (g *guarded) edit(old, changed runtime.Object) *admissionv1.AdmissionResponse {
	g.t.Helper()
	gvr, kind := corev1.SchemeGroupVersion.WithResource("secrets"), "Secret"
	switch old.(type) {
	case *corev1.ConfigMap:
		gvr, kind = corev1.SchemeGroupVersion.WithResource("configmaps"), "ConfigMap"
	case *configv1alpha1.RotationConfiguration:
		gvr, kind = configv1alpha1.SchemeGroupVersion.WithResource("rotationconfigurations"), configv1alpha1.Kind
	}
	name := old.(metav1.Object).GetName()
	req := &admissionv1.AdmissionRequest{
		UID: "review", Namespace: testNamespace, Name: name, Operation: admissionv1.Delete,
		Kind:     metav1.GroupVersionKind{Group: gvr.Group, Version: gvr.Version, Kind: kind},
		Resource: metav1.GroupVersionResource(gvr),
		UserInfo: authenticationv1.UserInfo{Username: "admin"},
	}
	req.OldObject.Raw = g.encode(old)
	if changed != nil {
		req.Operation, req.Object.Raw = admissionv1.Update, g.encode(changed)
	}
	body := g.encode(&admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"}, Request: req,
	})
	post := httptest.NewRequestWithContext(g.t.Context(), http.MethodPost, "/", bytes.NewReader(body))
	post.Header.Set("Content-Type", "application/json")
	answer := httptest.NewRecorder()
	g.guard.ServeHTTP(answer, post)
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(answer.Body.Bytes(), &review); err != nil || review.Response == nil {
		g.t.Fatalf("%d %s: %v", answer.Code, answer.Body, err)
	}
	switch {
	case !review.Response.Allowed:
	case changed != nil:
		g.put(changed)
	default:
		g.drop(old)
	}
	return review.Response
}

func (g *guarded) encode(o runtime.Object) []byte {
	g.t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		g.t.Fatal(err)
	}
	return text
}

// habitOutcome is the result of a habit.
type habitOutcome struct {
	// Refused names the invariant, "" if the edit is allowed. Warned is true if the answer has a warning.
	Refused string
	Warned  bool
	// NewCA and NewLeaf are true if the signer and the server's leaf changed.
	NewCA, NewLeaf bool
}

// TestHabits makes the edits that the documentation of cluster-etcd-operator describes. In the stage Stable each
// has the expected effect, and world.check verifies after each step that every leaf chains to the bundle. In
// flight, an edit that would break this is refused.
func TestHabits(t *testing.T) {
	deleteSecret := func(name string) func(*guarded) *admissionv1.AdmissionResponse {
		return func(g *guarded) *admissionv1.AdmissionResponse { return g.edit(g.secret(name), nil) }
	}
	deleteConfigMap := func(name string) func(*guarded) *admissionv1.AdmissionResponse {
		return func(g *guarded) *admissionv1.AdmissionResponse { return g.edit(g.configMap(name), nil) }
	}
	unannotate := func(name, annotation string) func(*guarded) *admissionv1.AdmissionResponse {
		return func(g *guarded) *admissionv1.AdmissionResponse {
			changed := g.secret(name)
			delete(changed.Annotations, annotation)
			return g.edit(g.secret(name), changed)
		}
	}
	gate := func(value string) func(*guarded) *admissionv1.AdmissionResponse {
		return func(g *guarded) *admissionv1.AdmissionResponse {
			changed := g.configMap("all-bundles")
			delete(changed.Annotations, trust.AnnotationRolloutRevision)
			if value != "" {
				changed.Annotations[trust.AnnotationRolloutRevision] = value
			}
			return g.edit(g.configMap("all-bundles"), changed)
		}
	}
	refused := func(i trust.Invariant) habitOutcome {
		return habitOutcome{Refused: string(i), NewCA: true, NewLeaf: true}
	}
	inFlight := habitOutcome{NewCA: true, NewLeaf: true}
	tests := []struct {
		name           string
		do             func(*guarded) *admissionv1.AdmissionResponse
		stable, flight habitOutcome
	}{
		{"delete the leaf", deleteSecret(serverLeaf), habitOutcome{Warned: true, NewLeaf: true}, habitOutcome{Warned: true, NewCA: true, NewLeaf: true}},
		{"delete the signer", deleteSecret(signerName), habitOutcome{Warned: true, NewCA: true, NewLeaf: true}, refused(trust.OneRotation)},
		{"delete the bundle", deleteConfigMap(bundleName), habitOutcome{Warned: true}, refused(trust.AnchorInUse)},
		{"delete the aggregate of leaves", deleteSecret("all-certs"), habitOutcome{Warned: true}, refused(trust.NeverEmpty)},
		{"delete the aggregate of bundles", deleteConfigMap("all-bundles"), habitOutcome{Warned: true}, refused(trust.NeverEmpty)},
		{"delete not-after of the leaf", unannotate(serverLeaf, trust.AnnotationNotAfter), habitOutcome{Warned: true, NewLeaf: true}, refused(trust.ContentDecides)},
		{"delete not-before of the leaf", unannotate(serverLeaf, trust.AnnotationNotBefore), habitOutcome{Warned: true, NewLeaf: true}, refused(trust.ContentDecides)},
		{"delete not-after of the signer", unannotate(signerName, trust.AnnotationNotAfter),
			habitOutcome{Warned: true, NewCA: true, NewLeaf: true}, refused(trust.ContentDecides)},
		{"delete not-before of the signer", unannotate(signerName, trust.AnnotationNotBefore),
			habitOutcome{Warned: true, NewCA: true, NewLeaf: true}, refused(trust.ContentDecides)},
		{"lower the gate", gate("2"), habitOutcome{}, refused(trust.ContentDecides)},
		{"delete the gate", gate(""), habitOutcome{}, refused(trust.ContentDecides)},
		{"raise the gate", gate("8"), habitOutcome{}, inFlight},
	}
	for _, tt := range tests {
		for stage, want := range map[trust.Stage]habitOutcome{trust.Stable: tt.stable, trust.Distributing: tt.flight} {
			t.Run(tt.name+", "+string(stage), func(t *testing.T) {
				w, c := settled(t)
				all := w.configMap("all-bundles")
				all.Annotations[trust.AnnotationRolloutRevision] = "7"
				w.put(all)
				ca, leaf := w.domain().Signer.Active, w.domain().Leaf(serverLeaf).Certificate
				if stage != trust.Stable {
					requestRotation(w)
					// The next CA, the anchors beside the leaves, and the bundle.
					for range 3 {
						if err := c.queue.Do(t.Context(), key{namespace: testNamespace, domain: "web"}); err != nil {
							t.Fatal(err)
						}
					}
				}
				if got := trust.Assess(w.domain(), w.clock.Now()).Stage; got != stage {
					t.Fatalf("the stage is %s, want %s", got, stage)
				}
				answer := tt.do(guard(w))
				got := habitOutcome{Warned: len(answer.Warnings) > 0}
				if !answer.Allowed {
					for _, i := range []trust.Invariant{trust.OneRotation, trust.AnchorInUse, trust.NeverEmpty, trust.ContentDecides} {
						if strings.Contains(refusal(t, answer), string(i)) {
							got.Refused += string(i)
						}
					}
				}
				// world.check needs a bundle, so let the controller restore it first.
				if err := c.queue.Do(t.Context(), key{namespace: testNamespace, domain: "web"}); err != nil {
					t.Fatal(err)
				}
				w.settle(c)
				d := w.domain()
				got.NewCA, got.NewLeaf = !d.Signer.Active.Equal(ca), !d.Leaf(serverLeaf).Certificate.Equal(leaf)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("habitOutcome (-want +got):\n%s\n%+v", diff, answer)
				}
				if diff := cmp.Diff(rested, endOf(w)); diff != "" {
					t.Errorf("at the end (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// refusal returns the result of an answer as text.
func refusal(t *testing.T, answer *admissionv1.AdmissionResponse) string {
	t.Helper()
	text, err := json.Marshal(answer.Result)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
