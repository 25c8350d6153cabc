// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package csr

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/json"

	"certrotation.dev/registry/pki"
)

// MaxObjectBytes bounds a whole CertificateSigningRequest.
const MaxObjectBytes = 64 << 10

// minExpirationSeconds is also the minimum of the Kubernetes API.
const minExpirationSeconds = 600

// protobufMagic is the prefix of every object that the Kubernetes API encodes as protobuf.
const protobufMagic = "k8s\x00"

// DecodeObject decodes a CertificateSigningRequest of certificates.k8s.io/v1 from JSON. It refuses unknown and
// duplicate fields, because an unknown field might restrict what the requester wants. It drops fields that only a
// server may set. The object is nil if it has no valid name.
func DecodeObject(data []byte) (*certificatesv1.CertificateSigningRequest, error) {
	if err := checkSize(data); err != nil {
		return nil, err
	}
	in := &certificatesv1.CertificateSigningRequest{}
	strict, err := json.UnmarshalStrict(data, in)
	if err == nil && len(strict) > 0 {
		err = strict[0]
	}
	if err != nil {
		return nil, refuse(InvalidObject, "the body is not a CertificateSigningRequest: %.*s", maxQuoted, err.Error())
	}
	return accept(in, in.TypeMeta)
}

// DecodeProtobuf is DecodeObject for protobuf, which client-go sends by default. The encoding has no field names, so
// unknown fields cannot be detected.
func DecodeProtobuf(data []byte) (*certificatesv1.CertificateSigningRequest, error) {
	if err := checkSize(data); err != nil {
		return nil, err
	}
	raw, found := bytes.CutPrefix(data, []byte(protobufMagic))
	if !found {
		return nil, refuse(InvalidObject, "the body is not Kubernetes protobuf")
	}
	envelope, in := &runtime.Unknown{}, &certificatesv1.CertificateSigningRequest{}
	if err := envelope.Unmarshal(raw); err != nil {
		return nil, refuse(InvalidObject, "the body is not Kubernetes protobuf: %.*s", maxQuoted, err.Error())
	}
	if envelope.ContentEncoding != "" {
		return nil, refuse(InvalidObject, "the content encoding of the body is %s, want none", quote(envelope.ContentEncoding))
	}
	if err := in.Unmarshal(envelope.Raw); err != nil {
		return nil, refuse(InvalidObject, "the body is not a CertificateSigningRequest: %.*s", maxQuoted, err.Error())
	}
	return accept(in, metav1.TypeMeta{APIVersion: envelope.APIVersion, Kind: envelope.Kind})
}

func checkSize(data []byte) error {
	if len(data) > MaxObjectBytes {
		return refuse(InvalidObject, "the object has %d bytes, more than %d", len(data), MaxObjectBytes)
	}
	return nil
}

// accept copies the fields that a requester may set.
func accept(in *certificatesv1.CertificateSigningRequest, kind metav1.TypeMeta) (*certificatesv1.CertificateSigningRequest, error) {
	if err := checkKind(kind); err != nil {
		return nil, err
	}
	if err := CheckName(in.Name); err != nil {
		return nil, err
	}
	return &certificatesv1.CertificateSigningRequest{
		TypeMeta:   TypeMeta(),
		ObjectMeta: metav1.ObjectMeta{Name: in.Name, Labels: in.Labels, Annotations: in.Annotations},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request: in.Spec.Request, SignerName: in.Spec.SignerName, ExpirationSeconds: in.Spec.ExpirationSeconds, Usages: in.Spec.Usages,
		},
	}, checkFields(in)
}

// TypeMeta of every CertificateSigningRequest.
func TypeMeta() metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: certificatesv1.SchemeGroupVersion.String(), Kind: "CertificateSigningRequest"}
}

// checkKind accepts an object without a kind: typed clients leave it out, because the URL determines it.
func checkKind(have metav1.TypeMeta) error {
	want := TypeMeta()
	if (have.APIVersion != "" && have.APIVersion != want.APIVersion) || (have.Kind != "" && have.Kind != want.Kind) {
		return refuse(InvalidObject, "the body is %s of %s, want %s of %s", quote(have.Kind), quote(have.APIVersion), want.Kind, want.APIVersion)
	}
	return nil
}

// CheckName refuses a name that is not valid for an object.
func CheckName(name string) error {
	if name == "" {
		return refuse(InvalidName, "metadata.name is required; metadata.generateName is not supported")
	}
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		return refuse(InvalidName, "metadata.name is %s: %s", quote(name), problems[0])
	}
	return nil
}

func checkFields(in *certificatesv1.CertificateSigningRequest) error {
	if in.Namespace != "" {
		return refuse(InvalidObject, "metadata.namespace is %s; a CertificateSigningRequest has no namespace", quote(in.Namespace))
	}
	if seconds := in.Spec.ExpirationSeconds; seconds != nil && *seconds < minExpirationSeconds {
		return refuse(InvalidExpiration, "spec.expirationSeconds is %d, want at least %d", *seconds, minExpirationSeconds)
	}
	return nil
}

// SameRequest reports whether the second object repeats the request of the first.
func SameRequest(a, b *certificatesv1.CertificateSigningRequest) bool {
	seconds := func(o *certificatesv1.CertificateSigningRequest) string {
		if o.Spec.ExpirationSeconds == nil {
			return ""
		}
		return fmt.Sprint(*o.Spec.ExpirationSeconds)
	}
	return a.Name == b.Name && a.Spec.SignerName == b.Spec.SignerName && bytes.Equal(a.Spec.Request, b.Spec.Request) &&
		seconds(a) == seconds(b) && slices.Equal(a.Spec.Usages, b.Spec.Usages)
}

// reasonApproved is the reason of the condition Approved.
const reasonApproved = "BootstrapPolicy"

// Approve sets the condition Approved, and as certificate the leaf followed by its CA.
func Approve(object *certificatesv1.CertificateSigningRequest, approval *Approval, leaf, ca *pki.Certificate, now time.Time) {
	object.Status.Certificate = pki.EncodeCertificates(leaf, ca)
	object.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{condition(certificatesv1.CertificateApproved, reasonApproved,
		"The bootstrap signer issued a certificate of profile "+string(approval.Profile)+" to node "+approval.Node+".", now)}
}

// Deny sets the condition Denied.
func Deny(object *certificatesv1.CertificateSigningRequest, refusal *Refusal, now time.Time) {
	object.Status.Certificate = nil
	object.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{
		condition(certificatesv1.CertificateDenied, string(refusal.Reason), refusal.Message, now),
	}
}

func condition(kind certificatesv1.RequestConditionType, reason, message string, now time.Time) certificatesv1.CertificateSigningRequestCondition {
	at := metav1.NewTime(now.UTC().Truncate(time.Second))
	return certificatesv1.CertificateSigningRequestCondition{
		Type: kind, Status: corev1.ConditionTrue, Reason: reason, Message: message, LastUpdateTime: at, LastTransitionTime: at,
	}
}

// Issued returns the certificate in the status of an object, nil if none can be parsed.
func Issued(object *certificatesv1.CertificateSigningRequest) *pki.Certificate {
	certs, err := pki.ParseChain(object.Status.Certificate)
	if err != nil {
		return nil
	}
	return certs[0]
}
