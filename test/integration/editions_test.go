// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"certrotation.dev/apis/certrotation/v1alpha1"
	"certrotation.dev/controller/secrets"
	"certrotation.dev/controller/secrets/kinds"
	"certrotation.dev/registry/edition"
	"certrotation.dev/registry/pki"
)

// editionsConfiguration is a PKI whose Secrets an operator writes with controller/secrets.
const editionsConfiguration = `apiVersion: config.certrotation.dev/v1alpha1
kind: RotationConfiguration
metadata: {name: web}
spec:
  credentials: {}
  trustDomains:
  - name: web
    editions: {identity: ` + secretsController + `}
    signer: {secretName: ca}
    bundle: {configMapName: ca-bundle}
    leaves:
    - {secretName: server, commonName: web, dnsNames: [` + webServerName + `], usages: [ServerAuth]}
    relyingParties:
    - name: clients
      pods: {selector: {matchLabels: {app: client}}}
      evidence: {kind: mounted, mounted: {trustVolume: files, trustKey: bundle.crt}}
    - name: servers
      verifies: {nothing: true}
      presents: [server]
      evidence: {kind: none, reason: a former edition counts until it is deleted}
`

// hastyOperator goes from phase to phase as soon as its Secrets are made, and restarts no pod.
type hastyOperator struct{ *gardener }

// newHastyOperator makes one in a guarded namespace of that name.
func newHastyOperator(t *testing.T, namespace string) *hastyOperator {
	t.Helper()
	o := &hastyOperator{&gardener{workingPlane.use(t).podStage(t, namespace)}}
	if _, err := o.client.CoreV1().Namespaces().Patch(t.Context(), o.namespace, types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"certrotation.dev/guard":"enabled"}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	return o
}

// TestEditions rotates a CA of an operator that runs ahead: certrotation holds each edition that a pod could not verify
// yet, or would still need, and names the pod.
func TestEditions(t *testing.T) {
	t.Parallel()
	o := newHastyOperator(t, "editions")
	configure(t, o.own, o.namespace, editionsConfiguration)
	o.reaches(t, v1alpha1.StageStable, "")
	o.restart(t, "client", "ca-bundle", edition.BundleKey)
	o.restart(t, "server", "server", corev1.TLSCertKey)

	rotations := o.own.CertrotationV1alpha1().CertificateRotations(o.namespace)
	plan, err := rotations.Rotate(t.Context(), "ca", &v1alpha1.RotationRequest{Reason: "test"}, metav1.CreateOptions{})
	if err != nil || len(plan.Steps) == 0 {
		t.Fatalf("plan %+v, %v", plan, err)
	}
	o.waitsForOperator(t, 1)
	if err := o.ask(t.Context(), edition.OperationComplete); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "in the phase never rotated") {
		t.Errorf("what cannot be completed: %v", err)
	}
	o.reaches(t, v1alpha1.StageDistributing, "")
	o.waitsForOperator(t, 0)
	eventually(t, "it is prepared, and can be completed", func(ctx context.Context) error {
		if _, err := o.reconcile(ctx); err != nil {
			return err
		}
		return o.ask(ctx, edition.OperationComplete)
	})
	o.reaches(t, v1alpha1.StageDistributing, "server TrustBeforeUse clients/"+o.mounting(t, "client"))
	o.restart(t, "client", "ca-bundle", edition.BundleKey)
	o.reaches(t, v1alpha1.StageReissuing, "ca-bundle AnchorInUse Secret/server-")
	o.restart(t, "server", "server", corev1.TLSCertKey)
	o.reaches(t, v1alpha1.StageStable, "")
	o.isIn(t, edition.Completed)
	o.abort(t)
}

// abort begins a rotation and aborts it when it is prepared. The authority is the one of before.
func (o *hastyOperator) abort(t *testing.T) {
	t.Helper()
	rotations := o.own.CertrotationV1alpha1().CertificateRotations(o.namespace)
	before := o.newest(t, "ca", corev1.ServiceAccountRootCAKey)
	if _, err := rotations.Rotate(t.Context(), "ca", &v1alpha1.RotationRequest{Reason: "test"}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	o.reaches(t, v1alpha1.StageDistributing, "")
	o.isIn(t, edition.Prepared)
	o.waitsForOperator(t, 0)
	if next := o.newest(t, "ca", corev1.ServiceAccountRootCAKey); next == before {
		t.Fatal("it is prepared without a new authority")
	}
	if _, err := rotations.Abort(t.Context(), "ca", &v1alpha1.AbortRequest{Reason: "test"}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	o.isIn(t, edition.Completed)
	o.reaches(t, v1alpha1.StageStable, "")
	if after := o.newest(t, "ca", corev1.ServiceAccountRootCAKey); after != before {
		t.Errorf("after the abort the authority is %s, before it was %s", after, before)
	}
}

// isIn reconciles until a phase is recorded, and nothing is left to execute.
func (o *hastyOperator) isIn(t *testing.T, phase edition.Phase) {
	t.Helper()
	eventually(t, "it is "+string(phase), func(ctx context.Context) error {
		if _, err := o.reconcile(ctx); err != nil {
			return err
		}
		configuration, err := o.own.ConfigV1alpha1().RotationConfigurations(o.namespace).Get(ctx, "web", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if status := configuration.Status.Credentials; status == nil || status.CertificateAuthorities.Phase != phase ||
			status.Executed != "" || status.Refused != "" || len(configuration.Annotations) > 0 {
			return fmt.Errorf("annotations %v, status %+v", configuration.Annotations, status)
		}
		return nil
	})
}

// ask annotates the configuration.
func (o *hastyOperator) ask(ctx context.Context, operation edition.Operation) error {
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, edition.AnnotationOperation, operation)
	_, err := o.own.ConfigV1alpha1().RotationConfigurations(o.namespace).Patch(ctx, "web", types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// waitsForOperator waits until as many requests are open as wanted, and each is a blocker that names the operator.
func (o *hastyOperator) waitsForOperator(t *testing.T, want int) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d requests are open", want), func(ctx context.Context) error {
		shown, err := o.own.CertrotationV1alpha1().CertificateRotations(o.namespace).Get(ctx, "ca", metav1.GetOptions{})
		if err != nil {
			return err
		}
		open := 0
		for _, b := range shown.Status.Blockers {
			if b.Reason == "RotationQueued" && strings.Contains(b.Message, secretsController) {
				open++
			}
		}
		records, err := o.own.ConfigV1alpha1().RotationRecords(o.namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		recorded := 0
		for i := range records.Items {
			if records.Items[i].Spec.Request != nil {
				recorded++
			}
		}
		if open != want || recorded != want {
			return fmt.Errorf("%d blockers, %d records", open, recorded)
		}
		return nil
	})
}

// reaches reconciles until a stage is shown and nothing else is held than what is wanted.
func (o *hastyOperator) reaches(t *testing.T, stage v1alpha1.Stage, wanted string) {
	t.Helper()
	eventually(t, fmt.Sprintf("stage %s, held: %q", stage, wanted), func(ctx context.Context) error {
		held, err := o.reconcile(ctx)
		if err != nil {
			return err
		}
		shown, err := o.own.CertrotationV1alpha1().CertificateRotations(o.namespace).Get(ctx, "ca", metav1.GetOptions{})
		switch {
		case err != nil:
			return err
		case shown.Status.Stage != stage || (wanted == "") != (len(held) == 0):
			return fmt.Errorf("stage %s, held: %s", shown.Status.Stage, held)
		}
		for word := range strings.FieldsSeq(wanted) {
			if !strings.Contains(held.String(), word) {
				return fmt.Errorf("held without %s: %s", word, held)
			}
		}
		return nil
	})
}

// reconcile generates everything, and goes on to the next phase if nothing was held.
func (o *hastyOperator) reconcile(ctx context.Context) (held edition.Plan, err error) {
	operations, err := secrets.LoadOperations(ctx, o.own.ConfigV1alpha1(), o.namespace, "web")
	if err != nil {
		return nil, err
	}
	if err := operations.Operate(ctx, time.Now(), false); err != nil {
		return nil, err
	}
	state := operations.Of(edition.Authorities)
	instance, err := secrets.New(ctx, clock.RealClock{}, o.client.CoreV1(), secretsController, secrets.WithNamespaces(o.namespace),
		secrets.WithGroupRotation(state, "ca"), secrets.WithConfiguration("web"))
	if err != nil {
		return nil, err
	}
	if _, err := instance.Generate(ctx, &kinds.CertificateSecretConfig{Name: "ca", CertType: kinds.CACert, Key: pki.ECDSAP256}, secrets.InPhase(state)); err != nil {
		return nil, err
	}
	if _, err := instance.Generate(ctx, &kinds.CertificateSecretConfig{
		Name: "server", CommonName: "web", DNSNames: []string{webServerName}, CertType: kinds.ServerCert, Key: pki.ECDSAP256,
	}, secrets.SignedInPhase(state, "ca")); err != nil {
		return nil, err
	}
	if err := instance.Cleanup(ctx); err != nil {
		return nil, err
	}
	if held = instance.Plan().Of(edition.Hold); len(held) > 0 {
		return held, nil
	}
	return nil, operations.Reconciled(ctx, time.Now())
}

// restart replaces the pod of a workload by one that mounts the newest edition of a name.
func (o *hastyOperator) restart(t *testing.T, app, name, key string) {
	t.Helper()
	newest := o.newest(t, name, key)
	eventually(t, app+" mounts "+newest, func(ctx context.Context) error {
		return o.replace(ctx, app, newest, corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: newest}})
	})
}

// newest returns the newest edition of a name. Each edition must have the key.
func (o *hastyOperator) newest(t *testing.T, name, key string) string {
	t.Helper()
	list, err := o.client.CoreV1().Secrets(o.namespace).List(t.Context(), metav1.ListOptions{LabelSelector: edition.LabelName + "=" + name})
	if err != nil {
		t.Fatal(err)
	}
	var all []*edition.Edition
	for i := range list.Items {
		if len(list.Items[i].Data[key]) == 0 {
			t.Fatalf("Secret %s has no %s", list.Items[i].Name, key)
		}
		all = append(all, edition.Of(&list.Items[i]))
	}
	edition.Order(all)
	return all[len(all)-1].Name
}
