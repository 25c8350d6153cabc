// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"time"
)

// Plan are the steps of a rotation that has not begun.
type Plan struct {
	// Target is the name of the Secret that is rotated.
	Target string
	// Hash over the steps, hexadecimal.
	Hash     string
	Steps    []Step
	Blockers []Blocker
}

// Step of a Plan.
type Step struct {
	Stage  Stage
	Action ActionKind
	// Object as Kind/name.
	Object string
	// WaitsFor are the members (party/member) whose evidence the step needs, ordered.
	WaitsFor []string
	Message  string
}

// Refusal is why a request is not accepted. It is an error whose text is for people.
type Refusal struct {
	Invariant Invariant
	Message   string
}

// Error implements error.
func (r *Refusal) Error() string { return string(r.Invariant) + ": " + r.Message }

// PlanRotation lists the steps that rotating target (the signer or a leaf of the domain) takes from the present state.
// It returns a *Refusal if a rotation of the domain is in flight (OneRotation) or the target cannot be rotated.
func PlanRotation(d *Domain, target string, now time.Time) (*Plan, error) {
	return nil, nil
}

// PlanAbort lists the steps that undo a rotation in flight. It returns a *Refusal if there is none, or if a leaf was
// signed by the new CA already.
func PlanAbort(d *Domain, now time.Time) (*Plan, error) {
	return nil, nil
}

// CheckAcknowledgement says whether a member may report an observation: the party must exist in the domain with the
// evidence kind acknowledgement, the member must be one of its members, and the reporting process must not be older
// than the one that reported before. It returns a *Refusal or nil.
func CheckAcknowledgement(d *Domain, party, member string, report *Observation) error {
	return nil
}
