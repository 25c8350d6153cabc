// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"certrotation.dev/registry/nodedisk"
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
	ReasonManifestMounts       nodedisk.Reason = "ManifestMounts"
	ReasonNotYetValid          nodedisk.Reason = pki.ReasonNotYetValid
	ReasonExpiresSoon          nodedisk.Reason = "ExpiresSoon"
	ReasonAuthorityExpired     nodedisk.Reason = "AuthorityExpired"
	ReasonAuthorityExpiresSoon nodedisk.Reason = "AuthorityExpiresSoon"
	ReasonClock                nodedisk.Reason = "ClockSuspicious"
	ReasonLeftover             nodedisk.Reason = "Leftover"
	ReasonSetAside             nodedisk.Reason = "SetAside"
	ReasonGenerationInUse      nodedisk.Reason = "GenerationInUse"
	ReasonGenerationWorks      nodedisk.Reason = "GenerationWorks"
	ReasonGenerationBroken     nodedisk.Reason = "GenerationBroken"
	ReasonPeerUnreachable      nodedisk.Reason = "PeerUnreachable"
	ReasonPeerRefusesUs        nodedisk.Reason = "PeerRefusesUs"
	ReasonPeerNotTrusted       nodedisk.Reason = "PeerNotTrusted"
	ReasonPeerAgrees           nodedisk.Reason = "PeerAgrees"
	ReasonNoQuorum             nodedisk.Reason = "NoQuorum"
	ReasonPeersUnknown         nodedisk.Reason = "PeersUnknown"
)

// Finding is one fact for an operator.
type Finding struct {
	Severity Severity        `json:"severity"`
	Reason   nodedisk.Reason `json:"reason"`
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
