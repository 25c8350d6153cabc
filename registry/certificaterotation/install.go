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
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"

	"certrotation.dev/apis/certrotation"
	"certrotation.dev/apis/certrotation/v1alpha1"
	"certrotation.dev/apis/certrotation/validation"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
)

// InstallREST serves the subresource install of a signer. It hands the CA that the signer has requested to the
// controller, and returns the plan. Its root becomes an anchor of the trust domain, so it has its own RBAC.
type InstallREST struct {
	actions *Actions
}

var (
	_ rest.Storage                  = (*InstallREST)(nil)
	_ rest.NamedCreater             = (*InstallREST)(nil)
	_ rest.GroupVersionKindProvider = (*InstallREST)(nil)
	_ rest.StorageMetadata          = (*InstallREST)(nil)
)

// NewInstallREST returns the storage of the subresource.
func NewInstallREST(actions *Actions) *InstallREST { return &InstallREST{actions: actions} }

// New implements rest.Storage.
func (r *InstallREST) New() runtime.Object { return &certrotation.AuthorityInstallation{} }

// Destroy implements rest.Storage.
func (r *InstallREST) Destroy() {}

// GroupVersionKind implements rest.GroupVersionKindProvider.
func (r *InstallREST) GroupVersionKind(schema.GroupVersion) schema.GroupVersionKind {
	return v1alpha1.SchemeGroupVersion.WithKind("AuthorityInstallation")
}

// ProducesMIMETypes implements rest.StorageMetadata: nil means the types of every resource.
func (r *InstallREST) ProducesMIMETypes(string) []string { return nil }

// ProducesObject implements rest.StorageMetadata.
func (r *InstallREST) ProducesObject(string) any { return v1alpha1.RotationPlan{} }

// Create implements rest.NamedCreater.
func (r *InstallREST) Create(ctx context.Context, name string, object runtime.Object, validate rest.ValidateObjectFunc, options *metav1.CreateOptions) (runtime.Object, error) {
	request, ok := object.(*certrotation.AuthorityInstallation)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("%T is not an AuthorityInstallation", object))
	}
	certs, err := installedCertificates(name, request)
	if err != nil {
		return nil, err
	}
	if err := admitted(ctx, validate, object); err != nil {
		return nil, err
	}
	target, err := r.actions.findSigner(ctx, name, "given its CA")
	if err != nil {
		return nil, err
	}
	plan, err := trust.PlanInstall(target.domain, certs, r.actions.clock.Now())
	if err != nil {
		return nil, refused(name, err)
	}
	asked := &trust.Request{Kind: trust.RequestInstall, Reason: request.Reason, Certificates: certs}
	if err := r.actions.request(ctx, target, asked, options.DryRun); err != nil {
		return nil, err
	}
	return rotationPlan(plan), nil
}

// installedCertificates reads the certificates of a request, each once.
func installedCertificates(name string, request *certrotation.AuthorityInstallation) ([]*pki.Certificate, error) {
	errs := validation.ValidateAuthorityInstallation(request)
	if len(errs) == 0 {
		certs, err := pki.ParseChain([]byte(request.Certificates))
		certs = pki.Distinct(certs)
		switch path := field.NewPath("certificates"); {
		case err != nil:
			errs = append(errs, field.Invalid(path, "", err.Error()))
		case len(certs) > pki.MaxChain:
			errs = append(errs, field.TooMany(path, len(certs), pki.MaxChain))
		default:
			return certs, nil
		}
	}
	return nil, apierrors.NewInvalid(certrotation.Kind("AuthorityInstallation"), name, errs)
}
