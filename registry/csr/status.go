// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package csr

import (
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/registry/pki"
)

// reasonApproved is the reason of the condition Approved.
const reasonApproved = "BootstrapPolicy"

// Approve sets the condition and the certificate, which is followed by its CA.
func Approve(object *certificatesv1.CertificateSigningRequest, approval *Approval, leaf, ca *pki.Certificate, now time.Time) {
	object.Status.Certificate = pki.EncodeCertificates(leaf, ca)
	object.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{condition(certificatesv1.CertificateApproved, reasonApproved,
		"The bootstrap signer gave a certificate of the profile "+string(approval.Profile)+" to the node "+approval.Node+".", now)}
}

// Deny sets the condition.
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

// Issued returns the certificate that an object carries, nil if it has none that is sound.
func Issued(object *certificatesv1.CertificateSigningRequest) *pki.Certificate {
	certs, err := pki.ParseChain(object.Status.Certificate)
	if err != nil {
		return nil
	}
	return certs[0]
}
