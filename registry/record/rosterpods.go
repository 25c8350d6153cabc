// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/trust"
)

// rosterPods groups pods that count alike: thousands of replicas differ only in name and UID. A pod that is gone
// leaves the roster, so no proof of absence is kept.
func rosterPods(members []trust.RosterMember) ([]configv1alpha1.RosterPods, error) {
	alike := map[string]*configv1alpha1.RosterPods{}
	for i := range members {
		if !members[i].Pod {
			continue
		}
		m := rosterMember(&members[i])
		instance := m.Member + "/" + m.Instance
		pods := configv1alpha1.RosterPods{
			Party: m.Party, Evidence: m.Evidence, Grace: m.Grace, Verifies: m.Verifies, Presents: m.Presents,
			VerifiesNothing: m.VerifiesNothing, Started: m.Started,
		}
		key, err := json.Marshal(pods)
		if err != nil {
			return nil, fmt.Errorf("pod %s of relying party %s: %w", m.Member, m.Party, err)
		}
		if alike[string(key)] == nil {
			alike[string(key)] = &pods
		}
		alike[string(key)].Instances = append(alike[string(key)].Instances, instance)
	}
	out := make([]configv1alpha1.RosterPods, 0, len(alike))
	for _, pods := range alike {
		slices.Sort(pods.Instances)
		out = append(out, *pods)
	}
	slices.SortFunc(out, func(x, y configv1alpha1.RosterPods) int {
		return cmp.Or(cmp.Compare(x.Party, y.Party), slices.Compare(x.Instances, y.Instances))
	})
	return out, nil
}

// rosterPods reads groups of pods that count alike, each pod once.
func (c *checker) rosterPods(all []configv1alpha1.RosterPods) []trust.RosterMember {
	sum := 0
	for i := range all {
		sum += len(all[i].Instances)
	}
	if sum > maxPods {
		c.fail("roster.pods", fmt.Sprintf("it has %d instances, the limit is %d", sum, maxPods))
		return nil
	}
	out, seen := make([]trust.RosterMember, 0, sum), make(map[string]bool, sum)
	for i := range all {
		pods, field := &all[i], fmt.Sprintf("roster.pods[%d]", i)
		of := c.rosterMember(field, &configv1alpha1.RosterMember{
			Party: pods.Party, Member: pods.Party, Evidence: pods.Evidence, Grace: pods.Grace, Verifies: pods.Verifies,
			Presents: pods.Presents, VerifiesNothing: pods.VerifiesNothing, Started: pods.Started,
		})
		of.Pod = true
		for k, instance := range pods.Instances {
			at := fmt.Sprintf("%s.instances[%d]", field, k)
			name, uid, ok := strings.Cut(instance, "/")
			if !ok || seen[pods.Party+"/"+instance] {
				c.fail(at, "it has to be NAME/UID, each once in a relying party")
			}
			seen[pods.Party+"/"+instance] = true
			c.name(at, name)
			c.name(at, uid)
			of.Member, of.Instance = name, uid
			out = append(out, of)
		}
	}
	return out
}
