// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodepod

import (
	"certrotation.dev/registry/pki"
)

// Severity of a finding.
type Severity string

// Severities.
const (
	// Error keeps the member from working now, or will after its next restart.
	Error Severity = "error"
	// Warning will become an error, or needs an operator's attention.
	Warning Severity = "warning"
	// Info helps to decide.
	Info Severity = "info"
)

// Reasons of findings, in addition to the reasons of defects.
const (
	ReasonManifestMounts       Reason = "ManifestMounts"
	ReasonNotYetValid          Reason = pki.ReasonNotYetValid
	ReasonExpiresSoon          Reason = "ExpiresSoon"
	ReasonAuthorityExpired     Reason = "AuthorityExpired"
	ReasonAuthorityExpiresSoon Reason = "AuthorityExpiresSoon"
	ReasonClock                Reason = "ClockSuspicious"
	ReasonLeftover             Reason = "Leftover"
	ReasonSetAside             Reason = "SetAside"
	ReasonGenerationInUse      Reason = "GenerationInUse"
	ReasonGenerationWorks      Reason = "GenerationWorks"
	ReasonGenerationBroken     Reason = "GenerationBroken"
	ReasonPeerUnreachable      Reason = "PeerUnreachable"
	ReasonPeerRefusesUs        Reason = "PeerRefusesUs"
	ReasonPeerNotTrusted       Reason = "PeerNotTrusted"
	ReasonPeerAgrees           Reason = "PeerAgrees"
	ReasonNoQuorum             Reason = "NoQuorum"
	ReasonPeersUnknown         Reason = "PeersUnknown"
)

// Finding is one fact for an operator.
type Finding struct {
	Severity Severity `json:"severity"`
	Reason   Reason   `json:"reason"`
	// Object is a path or a member.
	Object string `json:"object"`
	// Message describes the fact. NextStep says what to do, "" if nothing.
	Message  string `json:"message"`
	NextStep string `json:"nextStep,omitempty"`
}

// Worst is the highest severity among findings, "" for none.
func Worst(findings []Finding) Severity {
	worst := Severity("")
	for _, f := range findings {
		switch {
		case f.Severity == Error:
			return Error
		case f.Severity == Warning, worst == "":
			worst = f.Severity
		}
	}
	return worst
}
