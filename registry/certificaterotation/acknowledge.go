// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package certificaterotation

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/rest"

	"certrotation.dev/apis/certrotation"
	"certrotation.dev/apis/certrotation/v1alpha1"
	"certrotation.dev/apis/certrotation/validation"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
)

// AcknowledgeREST serves the subresource acknowledge of a signer: a member of a relying party reports what it has
// loaded. Fingerprints that nobody knows are fine: a report may be ahead of what this server has seen.
type AcknowledgeREST struct {
	actions *Actions
}

var (
	_ rest.Storage                  = (*AcknowledgeREST)(nil)
	_ rest.NamedCreater             = (*AcknowledgeREST)(nil)
	_ rest.GroupVersionKindProvider = (*AcknowledgeREST)(nil)
)

// NewAcknowledgeREST makes the subresource.
func NewAcknowledgeREST(actions *Actions) *AcknowledgeREST { return &AcknowledgeREST{actions: actions} }

// New implements rest.Storage.
func (r *AcknowledgeREST) New() runtime.Object { return &certrotation.Acknowledgement{} }

// Destroy implements rest.Storage. There is nothing to destroy.
func (r *AcknowledgeREST) Destroy() {}

// GroupVersionKind implements rest.GroupVersionKindProvider.
func (r *AcknowledgeREST) GroupVersionKind(schema.GroupVersion) schema.GroupVersionKind {
	return v1alpha1.SchemeGroupVersion.WithKind("Acknowledgement")
}

// Create implements rest.NamedCreater.
func (r *AcknowledgeREST) Create(ctx context.Context, name string, object runtime.Object, validate rest.ValidateObjectFunc, options *metav1.CreateOptions) (runtime.Object, error) {
	ack, ok := object.(*certrotation.Acknowledgement)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("%T is not an Acknowledgement", object))
	}
	if errs := validation.ValidateAcknowledgement(ack); len(errs) > 0 {
		return nil, apierrors.NewInvalid(certrotation.Kind("Acknowledgement"), name, errs)
	}
	if err := admitted(ctx, validate, object); err != nil {
		return nil, err
	}
	target, err := r.actions.findSigner(ctx, name, "acknowledged")
	if err != nil {
		return nil, err
	}
	report := r.observation(ack)
	if err := trust.CheckAcknowledgement(target.domain, ack.Party, ack.Member, report); err != nil {
		return nil, refused(name, err)
	}
	record := record{target: target, party: ack.Party, member: ack.Member, report: report, dryRun: options.DryRun}
	if err := r.actions.record(ctx, record); err != nil {
		return nil, err
	}
	return ack, nil
}

func (r *AcknowledgeREST) observation(ack *certrotation.Acknowledgement) *trust.Observation {
	out := &trust.Observation{
		Trusts:     fingerprints(ack.Trusts),
		Presents:   fingerprints(ack.Presents),
		ObservedAt: r.actions.clock.Now(),
	}
	if ack.StartedAt != nil {
		out.StartedAt = ack.StartedAt.Time
	}
	return out
}

func fingerprints(in []string) []pki.Fingerprint {
	var out []pki.Fingerprint
	for _, fingerprint := range in {
		out = append(out, pki.Fingerprint(fingerprint))
	}
	return out
}
