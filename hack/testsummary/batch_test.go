// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"testing"
)

func TestStages(t *testing.T) {
	for _, test := range []struct {
		name     string
		packages []string
		want     [][]batch
	}{
		{name: "none"},
		{
			name: "together only", packages: []string{module + "admission"},
			want: [][]batch{{{parallel: 2, packages: []string{module + "admission"}}}},
		},
		{
			name: "alone only", packages: []string{module + "test/e2e"},
			want: [][]batch{{{parallel: 1, packages: []string{module + "test/e2e"}}}},
		},
		{
			name: "the one that waits, alone", packages: []string{waiting},
			want: [][]batch{{{parallel: 1, packages: []string{waiting}}}},
		},
		{
			name: "those with control planes come last",
			packages: []string{
				module + "controller/etcdhealth", module + "registry/quorum", module + "test/cluster", module + "test/cluster/nodes", module + "test/simulation",
				"./typo",
			},
			want: [][]batch{
				{{parallel: 2, packages: []string{module + "registry/quorum", module + "test/simulation", "./typo"}}},
				{{parallel: 1, packages: []string{module + "controller/etcdhealth", module + "test/cluster", module + "test/cluster/nodes"}}},
			},
		},
		{
			name:     "those without one run beside the one that waits, and give way to it",
			packages: []string{module + "registry/quorum", module + "test/cluster", module + "test/e2e", waiting, module + "test/simulation"},
			want: [][]batch{
				{
					{parallel: 1, packages: []string{waiting}},
					{parallel: 2, packages: []string{module + "registry/quorum", module + "test/simulation"}, nice: true},
				},
				{{parallel: 1, packages: []string{module + "test/cluster", module + "test/e2e"}}},
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := stages(test.packages); fmt.Sprint(got) != fmt.Sprint(test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}
