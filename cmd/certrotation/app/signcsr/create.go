// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package signcsr

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"

	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/klog/v2"

	"certrotation.dev/registry/csr"
	"certrotation.dev/registry/pki"
)

var resource = certificatesv1.Resource("certificatesigningrequests")

// create signs or refuses. The code is the HTTP status of success: 201, or 200 if the same request was signed before.
func (s *Server) create(ctx context.Context, requester csr.Requester, body body) (*certificatesv1.CertificateSigningRequest, int, error) {
	s.store.Lock()
	defer s.store.Unlock()
	object, err := body.decode()
	if err != nil {
		name := ""
		if object != nil {
			name = object.Name
		}
		return nil, 0, s.refused(ctx, requester, name, nil, err)
	}
	object.Spec.Username, object.Spec.Groups = requester.Name, requester.Groups
	known, err := s.store.get(object.Name)
	if err != nil {
		return nil, 0, internal(ctx, err)
	}
	if wasSigned(known) && !csr.SameRequest(known, object) {
		return nil, 0, apierrors.NewAlreadyExists(resource, object.Name)
	}
	policy, err := s.files.policy()
	if err != nil {
		return nil, 0, internal(ctx, err)
	}
	approval, err := policy.Decide(object, requester)
	if err != nil {
		return nil, 0, s.refused(ctx, requester, object.Name, unless(wasSigned(known), object), err)
	}
	if err := s.store.mayHold(approval); err != nil {
		return nil, 0, s.refused(ctx, requester, object.Name, unless(wasSigned(known), object), err)
	}
	return s.sign(ctx, requester, object, known, approval)
}

func (s *Server) sign(ctx context.Context, requester csr.Requester, object, known *certificatesv1.CertificateSigningRequest,
	approval *csr.Approval,
) (*certificatesv1.CertificateSigningRequest, int, error) {
	now := s.clock.Now()
	ca, err := s.files.authority(approval.Authority, now)
	if errors.Is(err, errNoAuthority) {
		return nil, 0, s.refused(ctx, requester, object.Name, unless(wasSigned(known), object), &csr.Refusal{
			Reason: csr.UnknownSignerName, Message: fmt.Sprintf("this signer has no %s CA, which signs for the profile %s", approval.Authority, approval.Profile),
		})
	}
	if err != nil {
		return nil, 0, unavailable(ctx, err)
	}
	if wasSigned(known) {
		// A client that missed the answer repeats its request. If the CA was replaced meanwhile, the client gets a
		// new certificate.
		if leaf := csr.Issued(known); leaf != nil && leaf.SignedBy(ca.Certificate) && !leaf.Expired(now) {
			return known, http.StatusOK, nil
		}
	}
	leaf, err := approval.Sign(ca, now)
	if errors.Is(err, pki.ErrInvalidProfile) {
		return nil, 0, s.refused(ctx, requester, object.Name, unless(wasSigned(known), object), &csr.Refusal{Reason: csr.InvalidRequest, Message: err.Error()})
	}
	if err != nil {
		return nil, 0, unavailable(ctx, err)
	}
	if err := s.store.hold(approval, requester, now); err != nil {
		return nil, 0, internal(ctx, err)
	}
	s.stamp(object)
	csr.Approve(object, approval, leaf, ca.Certificate, now)
	if err := s.store.log(signed(requester, object.Name, approval, leaf, now)); err != nil {
		return nil, 0, internal(ctx, err)
	}
	if err := s.store.put(object); err != nil {
		return nil, 0, internal(ctx, err)
	}
	klog.FromContext(ctx).Info("Signed", "name", object.Name, "requester", requester.Name, "profile", approval.Profile,
		"node", approval.Node, "fingerprint", leaf.Fingerprint, "notAfter", leaf.NotAfter)
	return object, http.StatusCreated, nil
}

// refused records a refusal, also on the object if there is one, and returns the answer.
func (s *Server) refused(ctx context.Context, requester csr.Requester, name string, object *certificatesv1.CertificateSigningRequest, err error) error {
	refusal := csr.RefusalOf(err)
	if refusal == nil {
		return internal(ctx, err)
	}
	now := s.clock.Now()
	if err := s.store.log(denied(requester, name, refusal, now)); err != nil {
		return internal(ctx, err)
	}
	if object != nil {
		s.stamp(object)
		csr.Deny(object, refusal, now)
		if err := s.store.put(object); err != nil {
			return internal(ctx, err)
		}
	}
	klog.FromContext(ctx).Info("Refused", "requester", requester.Name, "reason", refusal.Reason)
	return answerTo(name, refusal)
}

// stamp sets the metadata that a server sets.
func (s *Server) stamp(object *certificatesv1.CertificateSigningRequest) {
	object.UID = uuid.NewUUID()
	object.ResourceVersion = "1"
	object.CreationTimestamp = metav1.NewTime(s.clock.Now().UTC().Truncate(1e9))
}

func wasSigned(object *certificatesv1.CertificateSigningRequest) bool {
	return object != nil && slices.ContainsFunc(object.Status.Conditions, func(c certificatesv1.CertificateSigningRequestCondition) bool {
		return c.Type == certificatesv1.CertificateApproved
	})
}

// unless keeps a denial from replacing the record of a request that was signed earlier and is refused now.
func unless(keep bool, object *certificatesv1.CertificateSigningRequest) *certificatesv1.CertificateSigningRequest {
	if keep {
		return nil
	}
	return object
}

type body struct {
	data []byte
	// decodeData decodes the content type of the request.
	decodeData func([]byte) (*certificatesv1.CertificateSigningRequest, error)
}

func (b body) decode() (*certificatesv1.CertificateSigningRequest, error) {
	return b.decodeData(b.data)
}

// readBody reads a bounded body of JSON or protobuf; answers are always JSON, which every client can read. It refuses
// a dry run, which must have no effect: an issued certificate cannot be revoked.
func readBody(w http.ResponseWriter, r *http.Request) (body, error) {
	if r.URL.Query().Has("dryRun") {
		return body{}, apierrors.NewBadRequest("the bootstrap signer does not support dry run")
	}
	var out body
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case err == nil && media == runtime.ContentTypeJSON:
		out.decodeData = csr.DecodeObject
	case err == nil && media == runtime.ContentTypeProtobuf:
		out.decodeData = csr.DecodeProtobuf
	default:
		return body{}, apierrors.NewGenericServerResponse(http.StatusUnsupportedMediaType, "POST", resource, "",
			"the content type must be "+runtime.ContentTypeJSON+" or "+runtime.ContentTypeProtobuf, 0, true)
	}
	out.data, err = io.ReadAll(http.MaxBytesReader(w, r.Body, csr.MaxObjectBytes))
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return body{}, apierrors.NewRequestEntityTooLargeError("a CertificateSigningRequest has 64 KiB at most")
	}
	if err != nil {
		return body{}, apierrors.NewBadRequest("the body cannot be read")
	}
	return out, nil
}
