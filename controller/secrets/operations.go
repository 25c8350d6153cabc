// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	configclient "certrotation.dev/generated/clientset/versioned/typed/config/v1alpha1"
	"certrotation.dev/registry/edition"
)

// Operations keeps the phases of a whole in the status of its RotationConfiguration, and executes what the configuration
// is asked for. Load it in each reconciliation:
//
//	LoadOperations ──► Operate ──► Of (WithGroupRotation, InPhase, ...) ──► deploy ──► Reconciled
//
// Each write has the version that was read, so another edit in between is a conflict: reconcile again.
type Operations struct {
	edition.CredentialRotations

	api           configclient.ConfigV1alpha1Interface
	configuration *configv1alpha1.RotationConfiguration
}

// LoadOperations reads a RotationConfiguration. The caller needs get and patch on it, update on its status, and list on
// RotationRecords.
func LoadOperations(ctx context.Context, api configclient.ConfigV1alpha1Interface, namespace, name string) (*Operations, error) {
	configuration, err := api.RotationConfigurations(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read RotationConfiguration %s/%s: %w", namespace, name, err)
	}
	o := &Operations{api: api}
	o.have(configuration)
	return o, nil
}

func (o *Operations) have(configuration *configv1alpha1.RotationConfiguration) {
	o.configuration, o.CredentialRotations = configuration, edition.RotationsOf(configuration)
}

// Operate executes the operations of the annotations, or what `kubectl certrotation rotate` or `abort` has asked for.
// window says whether it is time for maintenance. What is refused is said in status.credentials.refused.
func (o *Operations) Operate(ctx context.Context, now time.Time, window bool) error {
	annotations := []string{edition.AnnotationOperation}
	if window {
		annotations = append(annotations, edition.AnnotationMaintenanceOperation)
	}
	var asked []string
	for _, annotation := range annotations {
		if text, is := o.configuration.Annotations[annotation]; is {
			asked = append(asked, text)
		}
	}
	if len(asked) == 0 && o.Executed == "" {
		return o.request(ctx, now)
	}
	if len(asked) > 0 {
		if err := o.execute(ctx, strings.Join(asked, ";"), now); err != nil {
			return err
		}
		if err := o.unannotate(ctx, annotations); err != nil {
			return err
		}
	}
	after := o.CredentialRotations
	after.Executed = ""
	return o.record(ctx, after)
}

// execute records operations, once: should the operator end before the annotation is removed, they are known as executed.
func (o *Operations) execute(ctx context.Context, text string, now time.Time) error {
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte(text)))
	if o.Executed == sum {
		return nil
	}
	after, err := o.Do(text, edition.CircumstancesOf(o.configuration), now)
	after.Executed, after.Refused = sum, ""
	if err != nil {
		after.Refused = fmt.Sprintf("%.1000s", err)
	}
	return o.record(ctx, after)
}

// request executes the first request that can be executed: the others wait until that rotation has ended.
func (o *Operations) request(ctx context.Context, now time.Time) error {
	records, err := o.api.RotationRecords(o.configuration.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list the requests in %s: %w", o.configuration.Namespace, err)
	}
	domains := map[string]bool{}
	for i := range o.configuration.Spec.TrustDomains {
		d := &o.configuration.Spec.TrustDomains[i]
		domains[d.Name] = d.Editions != nil
	}
	operations := map[configv1alpha1.RequestKind]edition.Operation{
		configv1alpha1.RequestRotate: edition.OperationStart, configv1alpha1.RequestAbort: edition.OperationAbort,
	}
	for i := range records.Items {
		spec := &records.Items[i].Spec
		if spec.Request == nil || !domains[spec.TrustDomain] {
			continue
		}
		if after, err := o.Do(string(operations[spec.Request.Kind]), edition.CircumstancesOf(o.configuration), now); err == nil {
			after.Refused = ""
			return o.record(ctx, after)
		}
	}
	return nil
}

// Reconciled goes on to the next phases. Call it when everything that was generated is deployed and nothing is held, and,
// if Rewrites says so, everything that is stored was rewritten.
func (o *Operations) Reconciled(ctx context.Context, now time.Time) error {
	return o.record(ctx, o.CredentialRotations.Reconciled(edition.CircumstancesOf(o.configuration), now))
}

func (o *Operations) record(ctx context.Context, after edition.CredentialRotations) error {
	if reflect.DeepEqual(after, o.CredentialRotations) {
		return nil
	}
	changed := o.configuration.DeepCopy()
	status := configv1alpha1.CredentialsStatus(after)
	changed.Status.Credentials = &status
	written, err := o.api.RotationConfigurations(changed.Namespace).UpdateStatus(ctx, changed, metav1.UpdateOptions{})
	if err != nil {
		return fmt.Errorf("record the phases of RotationConfiguration %s/%s: %w", changed.Namespace, changed.Name, err)
	}
	o.have(written)
	return nil
}

func (o *Operations) unannotate(ctx context.Context, annotations []string) error {
	removed := map[string]any{}
	for _, annotation := range annotations {
		removed[annotation] = nil
	}
	c := o.configuration
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": c.ResourceVersion, "annotations": removed}})
	if err != nil {
		return fmt.Errorf("encode the annotations of RotationConfiguration %s/%s: %w", c.Namespace, c.Name, err)
	}
	written, err := o.api.RotationConfigurations(c.Namespace).Patch(ctx, c.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("remove the operation of RotationConfiguration %s/%s: %w", c.Namespace, c.Name, err)
	}
	o.have(written)
	return nil
}
