// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"certrotation.dev/registry/pki"
)

// ActionKind says what an Action does.
type ActionKind string

// Action kinds. Each is exactly one write to one object.
const (
	// GenerateActive makes the first CA in the slot active. Only where no live leaf could be cut off.
	GenerateActive ActionKind = "GenerateActive"
	// GenerateNext makes a CA in the slot next and clears a rotation request.
	GenerateNext ActionKind = "GenerateNext"
	// PublishAnchors writes Anchors to the bundle; it only ever adds.
	PublishAnchors ActionKind = "PublishAnchors"
	// IssueLeaf signs a new pair for the leaf Object with the CA Authority and clears a rotation request.
	IssueLeaf ActionKind = "IssueLeaf"
	// Promote makes next active and keeps the former active as previous.
	Promote ActionKind = "Promote"
	// RetireAnchors writes Anchors to the bundle: what is left after the unused ones are gone.
	RetireAnchors ActionKind = "RetireAnchors"
	// DestroyPrevious removes the previous keys.
	DestroyPrevious ActionKind = "DestroyPrevious"
	// DropNext removes next on an abort that came in time, and clears the abort request.
	DropNext ActionKind = "DropNext"
	// ClearRequest deletes the record of a request that was answered, or that cannot be honoured.
	ClearRequest ActionKind = "ClearRequest"
	// RecordRoster writes Roster to its record, always before the key that it is for.
	RecordRoster ActionKind = "RecordRoster"
	// RecordMetadata brings annotations and labels up to date with the content.
	RecordMetadata ActionKind = "RecordMetadata"
)

// ObjectKind is the kind of the object that an action writes.
type ObjectKind string

// Object kinds.
const (
	SecretKind    ObjectKind = "Secret"
	ConfigMapKind ObjectKind = "ConfigMap"
	RecordKind    ObjectKind = "RotationRecord"
)

// Action is one write that is safe in the state that was assessed. All actions of one Assessment are safe in any order
// and when any of them fails.
type Action struct {
	Kind       ActionKind
	ObjectKind ObjectKind
	// Object is the name of the Secret or ConfigMap that is written.
	Object string
	// ResourceVersion that the decision was made on, "" if the object is created by this action.
	ResourceVersion string
	// Profile of the certificate to make (GenerateActive, GenerateNext, IssueLeaf).
	Profile pki.Profile
	// Authority is the fingerprint of the CA that signs (IssueLeaf), or that is promoted (Promote).
	Authority pki.Fingerprint
	// Anchors to write, in order (PublishAnchors, RetireAnchors).
	Anchors []*pki.Certificate
	// Roster to write (RecordRoster).
	Roster *Roster
	// Request that is answered (ClearRequest): its record is deleted if it still has that UID.
	Request *Request
	// Annotations and Labels to set (all kinds) and annotations to remove. Annotations that are derived from a
	// certificate that the action itself makes are added by MetadataOf.
	Annotations, Labels map[string]string
	RemoveAnnotations   []string
	// Irreversible actions are confirmed against live reads before they are done.
	Irreversible bool
	// Reason says why, for events: a full clause.
	Reason string
	// Urgent actions are not held back by the pace of reissuing.
	Urgent bool
}
