// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

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
	for p, m := range each(newContent(d, time.Time{}).countedAs(party, member)) {
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
