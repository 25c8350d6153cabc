// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package quorum

// Verdict is the answer to a question about an Observation.
type Verdict struct {
	Safe   bool
	Reason Reason
	// Message explains the verdict and, if it is not safe, names the next step.
	Message string
}

// Reason of a Verdict.
type Reason string

// Reasons of a safe verdict.
const (
	// ReasonQuorumKept: the other members keep the quorum.
	ReasonQuorumKept Reason = "QuorumKept"
	// ReasonRepair: the member is broken, and the others keep the quorum.
	ReasonRepair Reason = "Repair"
	// ReasonNoVote: the node has no vote.
	ReasonNoVote Reason = "NoVote"
	// ReasonInterruption: reads or writes stop during the restart, which the strategy accepts.
	ReasonInterruption Reason = "Interruption"
	// ReasonRejoined: the member takes part again.
	ReasonRejoined Reason = "Rejoined"
)

// Reasons of an unsafe verdict.
const (
	// ReasonStateUnknown: the voters, or the state of the node, are not known.
	ReasonStateUnknown Reason = "StateUnknown"
	// ReasonContradiction: the answers cannot come from one cluster.
	ReasonContradiction Reason = "Contradiction"
	// ReasonStrategyMismatch: the configured strategy does not fit the number of voters.
	ReasonStrategyMismatch Reason = "StrategyMismatch"
	// ReasonQuorumAtRisk: the other members would not be a quorum.
	ReasonQuorumAtRisk Reason = "QuorumAtRisk"
	// ReasonDegraded: another member is already broken.
	ReasonDegraded Reason = "Degraded"
	// ReasonDisconnected: two members that would have to keep the quorum are not connected.
	ReasonDisconnected Reason = "Disconnected"
	// ReasonNotRejoined: the member does not take part again yet.
	ReasonNotRejoined Reason = "NotRejoined"
)

func safe(reason Reason, message string) Verdict {
	return Verdict{Safe: true, Reason: reason, Message: message}
}

func unsafe(reason Reason, message string) Verdict {
	return Verdict{Reason: reason, Message: message}
}
