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
	// Error is what keeps the member from working, or will with its next restart.
	Error Severity = "error"
	// Warning is what will become an error, or what somebody should look at.
	Warning Severity = "warning"
	// Info is what helps to decide.
	Info Severity = "info"
)

// Reasons of findings, beside those of defects.
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

// Finding is one thing that a person should know.
type Finding struct {
	Severity Severity        `json:"severity"`
	Reason   nodedisk.Reason `json:"reason"`
	// Object is a path or a member.
	Object string `json:"object"`
	// Message says what is so; NextStep what to do, "" if nothing.
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
