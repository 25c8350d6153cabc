// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// reportAge is how old a member's report may be. A delayed or replayed report says nothing of the process that runs
// now. The bound also covers clocks that are behind.
const reportAge = time.Minute

// CheckAcknowledgement checks whether a member may report an observation. The member must count with the evidence
// kind acknowledgement. The report must be current, and of a process that has not been replaced. Reports of old
// content are accepted: among several processes, the one that lags matters. It returns a *Refusal or nil.
func CheckAcknowledgement(d *Domain, party, member string, report *Observation, now time.Time) error {
	p, observations, err := reporter(d, party, member)
	if err != nil {
		return err
	}
	if p != Acknowledgement {
		return &Refusal{Invariant: TrustBeforeUse, Message: fmt.Sprintf("relying party %s is proven by %s, not by acknowledgement", party, p)}
	}
	switch {
	case report.StartedAt.IsZero():
		return refuse("a report has to say when its process started")
	case report.StartedAt.After(now.Add(reportAge)):
		return refuse("its process started at %s, which is in the future: if a clock was ahead then and is right now, restart it", report.StartedAt.UTC().Format(time.RFC3339))
	case report.ObservedAt.After(now.Add(reportAge)):
		return refuse("it was observed at %s, which is in the future", report.ObservedAt.UTC().Format(time.RFC3339))
	case report.ObservedAt.Before(now.Add(-reportAge)):
		return refuse("it was observed at %s, which is too long ago: look again and report that", report.ObservedAt.UTC().Format(time.RFC3339))
	}
	// Skip expired evidence: a clock that was ahead must not silence a pod for ever, whose containers report under
	// one UID.
	for i := range observations {
		if o := &observations[i]; o.Instance == report.Instance && o.Kind == Acknowledgement && o.Expires.After(now) && report.StartedAt.Before(o.StartedAt) {
			return refuse("the process %s was started again at %s and has reported since", o.Instance, o.StartedAt.UTC().Format(time.RFC3339))
		}
	}
	return nil
}

func refuse(format string, args ...any) error {
	return &Refusal{Invariant: ContentDecides, Message: fmt.Sprintf(format, args...)}
}

// reporter returns the evidence kind by which a member counts, and its observations. A member that counts only by the
// roster may still report.
func reporter(d *Domain, party, member string) (EvidenceKind, []Observation, error) {
	var kind EvidenceKind
	var observations []Observation
	parties := newContent(d, time.Time{}).countedAs(party, member)
	for p, m := range each(parties) {
		if m.Name == member && kind != Acknowledgement {
			kind, observations = p.Kind, m.Observations
		}
	}
	switch {
	case len(parties) == 0:
		return "", nil, &Refusal{Invariant: TrustBeforeUse, Message: fmt.Sprintf("trust domain %s has no relying party %s", d.Name, party)}
	case kind == "":
		return "", nil, &Refusal{Invariant: TrustBeforeUse, Message: fmt.Sprintf("relying party %s has no member %s", party, member)}
	}
	return kind, observations, nil
}

// memberPlaceholder stands for the name of the reported member.
const memberPlaceholder = "{member}"

// Reporters are the accounts that may acknowledge for the members of a party.
type Reporters struct {
	// Users and ServiceAccounts by name, with {member} for the name of the member. ServiceAccounts are in the
	// domain's namespace.
	Users, ServiceAccounts []string
	// Groups may report for every member.
	Groups []string
}

// Account is the sender of a report, as the API server authenticated it.
type Account struct {
	Name   string
	Groups []string
	// PodName and PodUID are of the pod that a service account token is bound to, "" if it is bound to none.
	PodName, PodUID string
}

// serviceAccountPrefix precedes NAMESPACE:NAME in the name of a service account.
const serviceAccountPrefix = "system:serviceaccount:"

// Admit reports whether an account may report for a member of a party in a namespace. It compares whole names: an
// account whose name only contains a reporter's name, or begins with it, does not match.
func (r *Reporters) Admit(namespace, member string, a *Account) bool {
	if a.Name == "" {
		return false
	}
	named := func(template string) bool { return a.Name == strings.Replace(template, memberPlaceholder, member, 1) }
	return slices.ContainsFunc(r.Users, named) ||
		slices.ContainsFunc(r.ServiceAccounts, func(name string) bool {
			return named(serviceAccountPrefix + namespace + ":" + name)
		}) ||
		slices.ContainsFunc(r.Groups, func(group string) bool { return group != "" && slices.Contains(a.Groups, group) })
}

// ReportersOf returns the accounts that may report for the members of a party. It is nil if the party names none:
// then the API server's RBAC decides. RBAC also decides for a party that only the roster has, as its reporters are
// not configured any more.
func ReportersOf(d *Domain, party string) *Reporters {
	if p := d.Party(party); p != nil {
		return p.Reporters
	}
	return nil
}

// ReportName is the name under which the right to acknowledge for one member is checked.
func ReportName(signer, party, member string) string { return signer + "/" + party + "/" + member }

// within reports whether other admits every account that r admits. Without a list the API server's RBAC decides,
// which is neither more nor less than a list.
func (r *Reporters) within(other *Reporters) bool {
	if r == nil || other == nil {
		return r == other
	}
	return contains(other.Users, r.Users) && contains(other.Groups, r.Groups) && contains(other.ServiceAccounts, r.ServiceAccounts)
}
