// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"testing"
)

func TestLanes(t *testing.T) {
	of := func(names ...string) []string {
		for i := range names {
			names[i] = module + names[i]
		}
		return names
	}
	for _, test := range []struct {
		name     string
		packages []string
		want     []lane
	}{
		{name: "none"},
		{name: "no control plane", packages: of("admission"), want: []lane{{{parallel: 2, packages: of("admission")}}}},
		{name: "a control plane", packages: of("test/e2e"), want: []lane{{{parallel: 1, packages: of("test/e2e")}}}},
		{
			name: "one that gives way to nobody, where it is alone", packages: of("test/security"),
			want: []lane{{{parallel: 1, packages: of("test/security")}}},
		},
		{
			name:     "control planes run one at a time, and what needs none gives way to them",
			packages: append(of("registry/quorum", "test/cluster", "test/cluster/nodes", "test/simulation"), "./typo"),
			want: []lane{
				{{parallel: 1, packages: of("test/cluster", "test/cluster/nodes")}},
				{{parallel: 2, packages: append(of("registry/quorum", "test/simulation"), "./typo"), nice: 19}},
			},
		},
		{
			name: "those that wait come first, and the control planes that give way last",
			packages: of("registry/quorum", "test/cluster", "test/e2e", "test/e2e/etcd", "test/e2e/pods", "test/e2e/recovery", "test/integration",
				"test/security", "test/simulation", "test/versions"),
			want: []lane{
				{{parallel: 1, packages: of("test/e2e/etcd", "test/e2e/pods", "test/e2e/recovery", "test/cluster")}},
				{
					{parallel: 2, packages: of("registry/quorum", "test/simulation"), nice: 19},
					{parallel: 1, packages: of("test/e2e", "test/integration", "test/security", "test/versions"), nice: 10},
				},
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := lanes(test.packages); fmt.Sprint(got) != fmt.Sprint(test.want) {
				t.Errorf("got  %v\nwant %v", got, test.want)
			}
		})
	}
}
