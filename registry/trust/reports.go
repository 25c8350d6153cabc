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
	if !p.traits().reported {
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
		if o := &observations[i]; o.Instance == report.Instance && o.Kind.traits().reported && o.Expires.After(now) && report.StartedAt.Before(o.StartedAt) {
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
	parties := newFacts(d, time.Time{}).countedAs(party, member)
	for p, m := range each(parties) {
		if m.Name == member && !kind.traits().reported {
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

// CheckReportingPod checks whether an account may report for a member that is a pod. Only that very pod may, by a
// token that the API server has bound to it, and with its UID as the instance. The check adds to the Reporters of the
// party, as the pods of a workload share their service account. It permits all reports for members that are not pods.
// It returns a *Refusal or nil.
//
// A token identifies a pod, not a container. To the model a pod is one process: the report of one container replaces
// that of another. So one container must report what all of them have loaded. An account that can read the token of a
// pod, as its node can, passes for the pod.
func CheckReportingPod(d *Domain, party, member, instance string, by *Account) error {
	pods, others := namesakes(d, party, member)
	own := by.boundIn(d.Namespace) && by.PodName == member && slices.Contains(pods, by.PodUID)
	switch {
	case len(pods) == 0:
		return nil
	case own && instance == by.PodUID:
		return nil
	case own:
		return refuse("pod %s reports as the instance %s: of a pod the instance is its UID, %s", member, instance, by.PodUID)
	case others && !slices.Contains(pods, instance):
		return nil
	}
	return refuse("%s is a pod, and reports for itself alone: %s", MemberName(party, member), by.notOf(d.Namespace, member, pods))
}

// namesakes returns the UIDs of the pods that may report under a name. others says that another member counts under
// the name: one from before the party selected pods. If there is a pod of that name, pods of the roster are gone,
// proven or not.
func namesakes(d *Domain, party, member string) (pods []string, others bool) {
	var former []string
	for p, m := range each(newFacts(d, time.Time{}).countedAs(party, member)) {
		switch {
		case m.Name != member:
		case m.Pod == nil:
			others = true
		case p.recorded:
			former = append(former, m.Instance)
		default:
			pods = append(pods, m.Instance)
		}
	}
	if len(pods) == 0 {
		pods = former
	}
	return sortedSet(pods), others
}

// boundIn reports whether the account is of a pod in a namespace. The API server binds only tokens of service
// accounts, and only to pods of their namespace.
func (a *Account) boundIn(namespace string) bool {
	return a.PodName != "" && a.PodUID != "" && strings.HasPrefix(a.Name, serviceAccountPrefix+namespace+":")
}

// notOf says why an account is not of a pod that counts, and what to do.
func (a *Account) notOf(namespace, pod string, uids []string) string {
	switch {
	case !a.boundIn(namespace):
		return fmt.Sprintf("the credential of %q is bound to no pod of namespace %s; report from inside the pod, with the token that kubelet mounts there", a.Name, namespace)
	case a.PodName != pod:
		return fmt.Sprintf("the token is bound to pod %s", a.PodName)
	}
	return fmt.Sprintf("the token is bound to a pod %s with the UID %s, and the pod that counts has %s; "+
		"one that was replaced says nothing any more, and one that is new is known in a moment: report again", pod, a.PodUID, strings.Join(uids, ", "))
}

// BeforeRestart reports whether an observation of a member is from before its restart. Then it proves nothing any
// more, and the same report is news.
func BeforeRestart(d *Domain, party, member string, o *Observation) bool {
	for i := range d.Parties {
		if d.Parties[i].Name != party {
			continue
		}
		for k := range d.Parties[i].Members {
			if m := &d.Parties[i].Members[k]; m.Name == member && !m.Runs(o) {
				return true
			}
		}
	}
	return false
}

// CheckWaiver checks whether a member may be waived: it must count. It returns a *Refusal or nil.
func CheckWaiver(d *Domain, w *Waiver, now time.Time) error {
	if _, _, err := reporter(d, w.Party, w.Member); err != nil {
		return err
	}
	switch {
	case w.Reason == "":
		return refuse("a waiver needs a reason")
	case w.Expires.After(now.Add(longestWaiver)):
		return refuse("a waiver lasts %s at most", longestWaiver)
	}
	return nil
}

// Contradicted returns when the last evidence that contradicts a waiver of the member ends, zero if there is none.
func Contradicted(d *Domain, party, member string, now time.Time) time.Time {
	a := decide(d, now)
	newest := a.newest()
	var until time.Time
	for p, m := range each(a.parties) {
		if p.Name != party || m.Name != member || newest == nil {
			continue
		}
		for _, o := range a.observations[m] {
			if (a.without(p, o, newest) || o.Failure == "" && a.presentsOther(m, o)) && o.Expires.After(until) {
				until = o.Expires
			}
		}
	}
	return until
}
