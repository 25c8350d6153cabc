// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"cmp"
	"slices"
)

// Kind of a finding, in one word for programs.
type Kind string

// Kinds of findings.
const (
	Expired               Kind = "Expired"
	ExpiresSoon           Kind = "ExpiresSoon"
	NotYetValid           Kind = "NotYetValid"
	KeyMismatch           Kind = "KeyMismatch"
	UnreadableKey         Kind = "UnreadableKey"
	UnreadableCertificate Kind = "UnreadableCertificate"
	UnknownSigner         Kind = "UnknownSigner"
	AnchorMissing         Kind = "AnchorMissing"
	NoNames               Kind = "NoNames"
	AddressAsName         Kind = "AddressAsName"
	WeakKey               Kind = "WeakKey"
	WeakSignature         Kind = "WeakSignature"
	OutlivesSigner        Kind = "OutlivesSigner"
	RepeatedAnchor        Kind = "RepeatedAnchor"
	KeyInBundle           Kind = "KeyInBundle"
	LeafInBundle          Kind = "LeafInBundle"
	CAAsServer            Kind = "CAAsServer"
)

// Severity of a finding.
type Severity string

// Severities: an error breaks connections or gives a key away, a warning will or may.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// Place is where something was found.
type Place struct {
	// File, "-" for standard input.
	File string `json:"file"`
	// Object as Kind/name, "" in a file without objects.
	Object string `json:"object,omitempty"`
	// Namespace of the object.
	Namespace string `json:"namespace,omitempty"`
	// Key within the object.
	Key string `json:"key,omitempty"`
}

// String names the object as kubectl takes it, or the file.
func (p Place) String() string {
	switch {
	case p.Object == "":
		return p.File
	case p.Namespace == "":
		return p.Object
	}
	return p.Object + " -n " + p.Namespace
}

// Finding is something wrong.
type Finding struct {
	Kind     Kind     `json:"kind"`
	Severity Severity `json:"severity"`
	Place
	// Message says what is wrong and what follows, Next what to do, "" if the message says it.
	Message string `json:"message"`
	Next    string `json:"next,omitempty"`
}

// Sort orders findings: errors first, then by place and kind.
func Sort(findings []Finding) {
	slices.SortStableFunc(findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Severity, b.Severity), cmp.Compare(a.File, b.File), cmp.Compare(a.Namespace, b.Namespace),
			cmp.Compare(a.Object, b.Object), cmp.Compare(a.Key, b.Key), cmp.Compare(a.Kind, b.Kind))
	})
}
