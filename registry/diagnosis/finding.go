// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package diagnosis

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

// Reason is a word in CamelCase for programs.
type Reason string

// Reasons of findings and defects.
const (
	ReasonManifestMissing      Reason = "ManifestMissing"
	ReasonManifestUnreadable   Reason = "ManifestUnreadable"
	ReasonManifestMounts       Reason = "ManifestMounts"
	ReasonDirectoryMissing     Reason = "DirectoryMissing"
	ReasonPointerMissing       Reason = "PointerMissing"
	ReasonPointerBroken        Reason = "PointerBroken"
	ReasonIncomplete           Reason = "GenerationIncomplete"
	ReasonHashMismatch         Reason = "HashMismatch"
	ReasonFileMissing          Reason = "FileMissing"
	ReasonFileUnexpected       Reason = "FileUnexpected"
	ReasonFileMode             Reason = "FileMode"
	ReasonUnparsable           Reason = "Unparsable"
	ReasonKeyMismatch          Reason = "KeyMismatch"
	ReasonUntrusted            Reason = "Untrusted"
	ReasonExpired              Reason = "Expired"
	ReasonNotYetValid          Reason = "NotYetValid"
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

// Finding is one thing that a person should know.
type Finding struct {
	Severity Severity `json:"severity"`
	Reason   Reason   `json:"reason"`
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
