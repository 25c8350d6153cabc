// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"time"

	"certrotation.dev/registry/trust"
)

// objectDegraded is true when the object itself has a problem.
func (r *renderer) objectDegraded(ref string) verdict {
	if problem := r.assessment.ProblemOf(ref); problem != nil {
		return verdict{status: true, reason: string(problem.Reason), message: problem.Message, since: r.overdueSince(problem)}
	}
	return healthy()
}

// signerDegraded is true when anything of the domain has a problem: the signer first, then an overdue stage, then
// leaves, bundle and nodes, and then the rollout.
func (r *renderer) signerDegraded() verdict {
	own := secretRef(r.domain.Signer.Name)
	var first, overdue *trust.Problem
	for i := range r.assessment.Problems {
		problem := &r.assessment.Problems[i]
		switch {
		case problem.Reason == trust.ReasonOverdue:
			overdue = problem
		case problem.Object == own && first == nil:
			first = problem
		}
	}
	if first == nil {
		first = overdue
	}
	switch {
	case first != nil:
		return verdict{status: true, reason: string(first.Reason), message: first.Message, since: r.overdueSince(first)}
	case len(r.assessment.Problems) > 0:
		return verdict{status: true, reason: reasonDomainProblems, message: problemsText(r.assessment.Problems)}
	}
	return r.rolloutDegraded()
}

// overdueSince is the deadline for the problem that a stage is overdue.
func (r *renderer) overdueSince(problem *trust.Problem) time.Time {
	if problem.Reason == trust.ReasonOverdue {
		return r.assessment.StageDeadline
	}
	return time.Time{}
}

func healthy() verdict {
	return verdict{reason: reasonHealthy, message: "no problem is known"}
}
