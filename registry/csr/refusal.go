// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package csr

import (
	"errors"
	"fmt"
	"strings"
)

// Reason is the machine-readable part of a refusal, usable as the reason of a condition.
type Reason string

// The reasons of refusals.
const (
	// InvalidObject: the CertificateSigningRequest itself is invalid.
	InvalidObject Reason = "InvalidObject"
	// InvalidName: metadata.name is not a DNS subdomain.
	InvalidName Reason = "InvalidName"
	// InvalidRequest: spec.request is not exactly one valid PKCS#10 request.
	InvalidRequest Reason = "InvalidRequest"
	// InvalidSignature: the request is not signed with its own key.
	InvalidSignature Reason = "InvalidSignature"
	// InvalidExpiration: spec.expirationSeconds is less than ten minutes.
	InvalidExpiration Reason = "InvalidExpiration"
	// UnknownSignerName: no profile that this signer has a CA for has this spec.signerName.
	UnknownSignerName Reason = "UnknownSignerName"
	// SubjectNotAllowed: the subject does not match the profile.
	SubjectNotAllowed Reason = "SubjectNotAllowed"
	// NodeNotAllowed: the node is not configured.
	NodeNotAllowed Reason = "NodeNotAllowed"
	// NameNotAllowed: an alternative name is not configured for the node, or there is none.
	NameNotAllowed Reason = "NameNotAllowed"
	// KeyNotAllowed: the key is too weak, or of an unsupported kind.
	KeyNotAllowed Reason = "KeyNotAllowed"
	// KeyHeld: the node already has a certificate of the profile for another key.
	KeyHeld Reason = "KeyHeld"
	// UsageNotAllowed: spec.usages exceeds the profile, or lacks a required usage.
	UsageNotAllowed Reason = "UsageNotAllowed"
	// ExtensionNotAllowed: the request asks for an extension that is never granted.
	ExtensionNotAllowed Reason = "ExtensionNotAllowed"
	// RequesterNotAllowed: the requester may not ask for this node.
	RequesterNotAllowed Reason = "RequesterNotAllowed"
)

// Refusal is a decision not to sign. Repeating the same request does not change it.
type Refusal struct {
	Reason Reason
	// Message says what is wrong and what to do. It quotes at most a bounded part of the request.
	Message string
}

// Error implements error.
func (r *Refusal) Error() string { return r.Message }

// Malformed reports whether the request could not be evaluated at all, as opposed to evaluated and denied.
func (r *Refusal) Malformed() bool {
	switch r.Reason {
	case InvalidObject, InvalidName, InvalidRequest, InvalidSignature, InvalidExpiration:
		return true
	default:
		return false
	}
}

// RefusalOf returns the refusal in the chain of err, nil if there is none.
func RefusalOf(err error) *Refusal {
	refusal, _ := errors.AsType[*Refusal](err)
	return refusal
}

func refuse(reason Reason, format string, args ...any) error {
	return &Refusal{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// maxQuoted bounds how much of a request a message quotes, in bytes.
const maxQuoted = 120

func quote(text string) string { return fmt.Sprintf("%.*q", maxQuoted, text) }

func quoteAll(texts []string) string {
	const most = 8
	var out []string
	for i, text := range texts {
		if i == most {
			out = append(out, fmt.Sprintf("and %d more", len(texts)-most))
			break
		}
		out = append(out, quote(text))
	}
	return strings.Join(out, ", ")
}
