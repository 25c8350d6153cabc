// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"testing"
)

func TestBatches(t *testing.T) {
	for _, test := range []struct {
		name     string
		packages []string
		want     []batch
	}{
		{name: "none"},
		{name: "together only", packages: []string{module + "admission"}, want: []batch{{2, []string{module + "admission"}}}},
		{name: "alone only", packages: []string{module + "test/e2e/etcd"}, want: []batch{{1, []string{module + "test/e2e/etcd"}}}},
		{
			name: "those with control planes come last",
			packages: []string{
				module + "controller/etcdhealth", module + "registry/quorum", module + "test/cluster", module + "test/cluster/nodes", module + "test/simulation",
				"./typo",
			},
			want: []batch{
				{2, []string{module + "registry/quorum", module + "test/simulation", "./typo"}},
				{1, []string{module + "controller/etcdhealth", module + "test/cluster", module + "test/cluster/nodes"}},
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := batches(test.packages); fmt.Sprint(got) != fmt.Sprint(test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}
