// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package reload

import (
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"certrotation.dev/registry/trust"
)

// Reason is the machine-readable reason why an acknowledgement failed.
type Reason string

// The reasons of this package. A Look may return others.
const (
	// ReasonForbidden: the account may not report for this member.
	ReasonForbidden Reason = "Forbidden"
	// ReasonUnauthenticated: the API server does not recognize the account.
	ReasonUnauthenticated Reason = "Unauthenticated"
	// ReasonNoSigner: the API server knows no such signer.
	ReasonNoSigner Reason = "NoSigner"
	// ReasonClockSkewed: this machine's clock and the API server's differ.
	ReasonClockSkewed = Reason(trust.ReasonClockSkewed)
	// ReasonRefused: the report contradicts what the trust domain knows about the member.
	ReasonRefused Reason = "ReportRefused"
	// ReasonUnreachable: the API server does not answer, or answers with an unexpected error.
	ReasonUnreachable Reason = "APIUnreachable"
	// ReasonLookFailed: the look at the process failed.
	ReasonLookFailed Reason = "LookFailed"
)

// Reasons are all reasons of this package.
var Reasons = []Reason{
	ReasonForbidden, ReasonUnauthenticated, ReasonNoSigner, ReasonClockSkewed, ReasonRefused, ReasonUnreachable, ReasonLookFailed,
}

// Problem is why a look or a report failed, and what to do.
type Problem struct {
	Reason Reason
	Err    error
	// Next is the next step for a person.
	Next string
}

// Error implements error.
func (p *Problem) Error() string { return fmt.Sprintf("%s: %v: %s", p.Reason, p.Err, p.Next) }

// Unwrap returns the cause.
func (p *Problem) Unwrap() error { return p.Err }

func problemOfLook(err error) *Problem {
	if problem, ok := errors.AsType[*Problem](err); ok {
		return problem
	}
	return &Problem{Reason: ReasonLookFailed, Err: err, Next: "it is looked at again"}
}

// mostSkew is the clock skew that registry/trust tolerates in a report, in either direction.
const mostSkew = time.Minute

func (r *Reporter) problemOfReport(err error) *Problem {
	if problem, ok := errors.AsType[*Problem](err); ok {
		return problem
	}
	failed := fmt.Errorf("report to signer %s/%s for member %s of %s: %w", r.member.Namespace, r.member.Signer, r.member.Name, r.member.Party, err)
	if text := skewed(r.server.Skew); text != "" && (apierrors.IsConflict(err) || apierrors.IsUnauthorized(err)) {
		return &Problem{Reason: ReasonClockSkewed, Err: failed, Next: text + ": put the clock of this node right"}
	}
	switch {
	case apierrors.IsForbidden(err):
		return &Problem{Reason: ReasonForbidden, Err: failed, Next: fmt.Sprintf(
			"give the pod's account the verb create on certificaterotations/acknowledge of %s, and name it in relyingParties[].reporters of %s", r.member.Signer, r.member.Party)}
	case apierrors.IsUnauthorized(err):
		return &Problem{Reason: ReasonUnauthenticated, Err: failed, Next: "mount a token of the pod's service account, which automountServiceAccountToken: false leaves out"}
	case apierrors.IsNotFound(err):
		return &Problem{Reason: ReasonNoSigner, Err: failed, Next: "compare with `kubectl get certificaterotations -n " + r.member.Namespace +
			"`: a configuration has to name the signer, and certrotation serve has to run"}
	case apierrors.IsConflict(err), apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return &Problem{Reason: ReasonRefused, Err: failed, Next: "compare party and member with the RotationConfiguration"}
	}
	return &Problem{Reason: ReasonUnreachable, Err: failed, Next: "it is tried again; see whether kube-apiserver and certrotation serve answer"}
}

// skewed describes the skew of a clock, "" if there is none or it is unknown.
func skewed(skew func() time.Duration) string {
	if skew == nil || skew().Abs() < mostSkew {
		return ""
	}
	if ahead := skew().Round(time.Second); ahead > 0 {
		return fmt.Sprintf("this machine's clock is %s ahead of the API server's", ahead)
	}
	return fmt.Sprintf("this machine's clock is %s behind the API server's", skew().Abs().Round(time.Second))
}
