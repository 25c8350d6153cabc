// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"errors"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/edition"
	"certrotation.dev/test/apifake"
)

// whole is a RotationConfiguration whose credentials rotate.
func whole(annotations map[string]string) *configv1alpha1.RotationConfiguration {
	out := &configv1alpha1.RotationConfiguration{
		ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "web", Annotations: annotations},
		Spec: configv1alpha1.RotationConfigurationSpec{
			Credentials:  &configv1alpha1.Credentials{},
			TrustDomains: []configv1alpha1.TrustDomain{{Name: "web", Editions: &configv1alpha1.Editions{Identity: "operator"}}, {Name: "other"}},
		},
	}
	out.Status.Conditions = []metav1.Condition{{Type: configv1alpha1.ConditionAccepted, Status: metav1.ConditionTrue}}
	return out
}

// refused is one of which an operation was refused before.
func refused() *configv1alpha1.RotationConfiguration {
	out := whole(nil)
	out.Status.Credentials = &configv1alpha1.CredentialsStatus{Refused: "is unknown"}
	return out
}

// preparing is one whose authorities are being rotated.
func preparing() *configv1alpha1.RotationConfiguration {
	out := whole(nil)
	out.Status.Credentials = &configv1alpha1.CredentialsStatus{CertificateAuthorities: configv1alpha1.CredentialRotation{
		Phase: edition.Preparing, LastInitiationTime: &metav1.Time{Time: begin},
	}}
	return out
}

func requested(domain string, kind configv1alpha1.RequestKind) *configv1alpha1.RotationRecord {
	return &configv1alpha1.RotationRecord{
		ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: strings.ToLower(string(kind)) + ".ca." + domain},
		Spec: configv1alpha1.RotationRecordSpec{
			TrustDomain: domain, Kind: configv1alpha1.RecordRequest, Request: &configv1alpha1.RecordedRequest{Kind: kind, SecretName: "ca"},
		},
	}
}

// TestOperate: what a configuration is asked for is executed once, by an annotation or by a request, even if the operator
// ends after any of its writes.
func TestOperate(t *testing.T) {
	t.Parallel()
	asks := func(text string) map[string]string { return map[string]string{edition.AnnotationOperation: text} }
	for _, tt := range []struct {
		name    string
		objects []runtime.Object
		window  bool
		// phase of the authorities afterwards, what is said to be refused, and how many annotations are left.
		phase   edition.Phase
		refused string
		left    int
	}{
		{name: "nothing", objects: []runtime.Object{whole(nil)}},
		{name: "an annotation", objects: []runtime.Object{whole(asks("rotate-ca-start"))}, phase: edition.Preparing},
		{name: "one that is refused", objects: []runtime.Object{whole(asks("rotate-ca-complete"))}, refused: "in the phase never rotated"},
		{name: "one of no meaning", objects: []runtime.Object{whole(asks("reconcile"))}, refused: "is unknown"},
		{
			name: "one for the next window", objects: []runtime.Object{whole(map[string]string{edition.AnnotationMaintenanceOperation: "rotate-ca-start"})},
			left: 1,
		},
		{
			name: "in the window", objects: []runtime.Object{whole(map[string]string{edition.AnnotationMaintenanceOperation: "rotate-ca-start"})},
			window: true, phase: edition.Preparing,
		},
		{name: "a request", objects: []runtime.Object{whole(nil), requested("web", configv1alpha1.RequestRotate)}, phase: edition.Preparing},
		{name: "a request after a refusal", objects: []runtime.Object{refused(), requested("web", configv1alpha1.RequestRotate)}, phase: edition.Preparing},
		{name: "a request of another domain", objects: []runtime.Object{whole(nil), requested("other", configv1alpha1.RequestRotate)}},
		{name: "an abort of what is Preparing", objects: []runtime.Object{preparing(), requested("web", configv1alpha1.RequestAbort)}, phase: edition.Completing},
		{name: "an abort of nothing", objects: []runtime.Object{whole(nil), requested("web", configv1alpha1.RequestAbort)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for failing := range 8 {
				w := newWorld(t)
				for _, object := range tt.objects {
					if err := w.api.Put(object.DeepCopyObject()); err != nil {
						t.Fatal(err)
					}
				}
				writes := 0
				w.api.Fault = func(*apifake.Request) apifake.Fault {
					switch writes++; {
					case writes != failing/2:
						return apifake.NoFault
					case failing%2 == 0:
						return apifake.CrashBeforeWrite
					}
					return apifake.CrashAfterWrite
				}
				for range 3 {
					w.operate(tt.window)
				}
				got := w.operations()
				if got.Of(edition.Authorities).Phase != tt.phase || got.Executed != "" || (got.Refused == "") != (tt.refused == "") ||
					!strings.Contains(got.Refused, tt.refused) || len(got.configuration.Annotations) != tt.left {
					t.Errorf("a crash at write %d: status %+v, annotations %v", failing/2, got.CredentialRotations, got.configuration.Annotations)
				}
			}
		})
	}
}

func (w *world) operations() *Operations {
	w.Helper()
	o, err := LoadOperations(w.ctx, w.api.Own.ConfigV1alpha1(), "web", "web")
	if err != nil {
		w.Fatalf("%v", err)
	}
	return o
}

// operate is one reconciliation of an operator that may end in it.
func (w *world) operate(window bool) {
	w.Helper()
	if err := w.operations().Operate(w.ctx, w.clock.Now(), window); err != nil && !errors.Is(err, apifake.ErrCrash) {
		w.Fatalf("%v", err)
	}
	w.api.Revive()
}

// TestReconciledOnce: a phase that does not change is not written.
func TestReconciledOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if err := w.api.Put(whole(map[string]string{edition.AnnotationOperation: "rotate-credentials-start"})); err != nil {
		t.Fatal(err)
	}
	w.operate(false)
	var phases []edition.Phase
	before := 0
	for range 4 {
		o := w.operations()
		before = w.api.Writes()
		if err := o.Reconciled(w.ctx, w.clock.Now()); err != nil {
			t.Fatal(err)
		}
		phases = append(phases, o.Of(edition.ETCDEncryptionKey).Phase)
	}
	if want := []edition.Phase{edition.Preparing, edition.Prepared, edition.Prepared, edition.Prepared}; !slices.Equal(phases, want) {
		t.Errorf("phases %q, want %q", phases, want)
	}
	if w.api.Writes() != before {
		t.Error("at rest it writes")
	}
}
