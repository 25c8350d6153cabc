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

// AcknowledgeREST serves the subresource acknowledge of a signer: a process of a relying party's member reports its
// loaded anchors and leaves. Unknown fingerprints are accepted, because a report may be ahead of what this server has
// observed.
type AcknowledgeREST struct {
	actions *Actions
}

var (
	_ rest.Storage                  = (*AcknowledgeREST)(nil)
	_ rest.NamedCreater             = (*AcknowledgeREST)(nil)
	_ rest.GroupVersionKindProvider = (*AcknowledgeREST)(nil)
)

// NewAcknowledgeREST returns the storage of the subresource.
func NewAcknowledgeREST(actions *Actions) *AcknowledgeREST { return &AcknowledgeREST{actions: actions} }

// New implements rest.Storage.
func (r *AcknowledgeREST) New() runtime.Object { return &certrotation.Acknowledgement{} }

// Destroy implements rest.Storage.
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
	// Check this first, also for a dry run, so that a refusal discloses nothing about the party and its members.
	if err := r.actions.mayReport(ctx, target, ack); err != nil {
		return nil, err
	}
	report := r.actions.reported(ctx, target, ack)
	report.dryRun = options.DryRun
	if err := checkReport(target.domain, report, r.actions.clock.Now()); err != nil {
		return nil, refused(name, err)
	}
	expires, err := r.actions.record(ctx, report)
	if err != nil {
		return nil, err
	}
	out := ack.DeepCopy()
	out.Expires = &metav1.MicroTime{Time: expires}
	return out, nil
}

// reported returns a report with the lease that this server grants from now on. Its ObservedAt is never in the
// future.
func (a *Actions) reported(ctx context.Context, t *target, ack *certrotation.Acknowledgement) *report {
	said := &trust.Observation{
		Instance:   ack.Instance,
		Kind:       trust.Acknowledgement,
		Trusts:     fingerprints(ack.Trusts),
		Presents:   fingerprints(ack.Presents),
		StartedAt:  ack.StartedAt.Time,
		ObservedAt: ack.ObservedAt.Time,
	}
	recorded, now := *said, a.clock.Now()
	if recorded.ObservedAt.After(now) {
		recorded.ObservedAt = now
	}
	recorded.Expires = now.Add(leaseOf(t.domain, ack.Party))
	recorded.ReportedBy, recorded.ReportedByUID = userName(ctx), userUID(ctx)
	return &report{target: t, party: ack.Party, member: ack.Member, said: said, recorded: &recorded}
}

func fingerprints(in []string) []pki.Fingerprint {
	var out []pki.Fingerprint
	for _, fingerprint := range in {
		out = append(out, pki.Fingerprint(fingerprint))
	}
	return out
}
