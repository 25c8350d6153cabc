// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package signcsr

import (
	"errors"
	"io"
	"mime"
	"net/http"

	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"certrotation.dev/registry/csr"
)

// body of a request to create.
type body struct {
	data []byte
	// decode is that of the content type.
	decodeData func([]byte) (*certificatesv1.CertificateSigningRequest, error)
}

func (b body) decode() (*certificatesv1.CertificateSigningRequest, error) {
	return b.decodeData(b.data)
}

// readBody reads a bounded body of JSON or protobuf; answers are JSON in any case, which every client reads. A dry run is
// refused: it must leave nothing behind, and a certificate that was given out is not taken back.
func readBody(w http.ResponseWriter, r *http.Request) (body, error) {
	if r.URL.Query().Has("dryRun") {
		return body{}, apierrors.NewBadRequest("the bootstrap signer has no dry run")
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
