// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package quorum

// Verdict is the answer to a question about an Observation.
type Verdict struct {
	Safe   bool
	Reason Reason
	// Message says what is so, and what the next step is where it is not safe.
	Message string
}

// Reason of a Verdict.
type Reason string

// Reasons for which it is safe.
const (
	// ReasonHealthy: the others carry on.
	ReasonHealthy Reason = "Healthy"
	// ReasonRepair: the member is broken, and the others carry on.
	ReasonRepair Reason = "Repair"
	// ReasonNoVote: the node has no vote.
	ReasonNoVote Reason = "NoVote"
	// ReasonInterruption: it stops what cannot go on without the member, as the strategy accepts.
	ReasonInterruption Reason = "Interruption"
	// ReasonRejoined: the member takes part again.
	ReasonRejoined Reason = "Rejoined"
)

// Reasons for which it is not.
const (
	// ReasonNotObserved: it is not known who the voters are, or how the node is.
	ReasonNotObserved Reason = "NotObserved"
	// ReasonContradiction: the answers are not those of one cluster.
	ReasonContradiction Reason = "Contradiction"
	// ReasonStrategyMismatch: the configured strategy does not fit the number of voters.
	ReasonStrategyMismatch Reason = "StrategyMismatch"
	// ReasonQuorumAtRisk: the others would be no quorum.
	ReasonQuorumAtRisk Reason = "QuorumAtRisk"
	// ReasonDegraded: another member is broken already.
	ReasonDegraded Reason = "Degraded"
	// ReasonDisconnected: two members that would have to carry on are not connected.
	ReasonDisconnected Reason = "Disconnected"
	// ReasonNotRejoined: the member does not take part.
	ReasonNotRejoined Reason = "NotRejoined"
)

func safe(reason Reason, message string) Verdict {
	return Verdict{Safe: true, Reason: reason, Message: message}
}

func unsafe(reason Reason, message string) Verdict {
	return Verdict{Reason: reason, Message: message}
}
