// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package address

import (
	"strings"
	"testing"
)

func TestJudge(t *testing.T) {
	const node = "master-0"
	alone := []Claimant{{Node: node}}
	for name, tc := range map[string]struct {
		address         string
		nodes, services []string
		claimants       []Claimant
		contested       bool
		want            string
	}{
		"alone":                                {address: "10.0.0.10"},
		"IPv6":                                 {address: "2001:db8::1"},
		"in a range of nodes":                  {address: "10.0.0.10", nodes: []string{"192.168.0.0/16", "10.0.0.0/24"}},
		"in no range of nodes":                 {address: "10.0.1.10", nodes: []string{"10.0.0.0/24"}, want: "spec.nodeCIDRs"},
		"of another family":                    {address: "2001:db8::1", nodes: []string{"10.0.0.0/24"}, want: "spec.nodeCIDRs"},
		"a Service":                            {address: "10.96.0.1", services: []string{"10.96.0.0/12"}, want: "spec.serviceCIDRs"},
		"a Service within the range of nodes":  {address: "10.96.0.1", nodes: []string{"10.0.0.0/8"}, services: []string{"10.96.0.0/12"}, want: "spec.serviceCIDRs"},
		"loopback":                             {address: "127.0.0.1", want: "loopback"},
		"loopback in a range of nodes":         {address: "127.0.0.1", nodes: []string{"127.0.0.0/8"}, want: "loopback"},
		"loopback, IPv6":                       {address: "::1", want: "loopback"},
		"loopback in IPv6":                     {address: "64:ff9b::7f00:1", want: "loopback"},
		"link-local":                           {address: "169.254.1.1", want: "link-local"},
		"link-local, IPv6":                     {address: "fe80::1", want: "link-local"},
		"metadata":                             {address: "169.254.169.254", want: "link-local"},
		"multicast":                            {address: "239.0.0.1", want: "multicast"},
		"unspecified":                          {address: "0.0.0.0", want: "unspecified"},
		"no address":                           {address: "master-0", want: "not an IP address"},
		"another node has none in a leaf":      {address: "10.0.0.10", claimants: []Claimant{{Node: "a"}, {Node: node}}, contested: true, want: "node a reports it too, and which of them owns it cannot be determined"},
		"another node has it in its leaf":      {address: "10.0.0.10", claimants: []Claimant{{Node: "a"}, {Node: "b", Holds: true}, {Node: node}}, contested: true, want: "node b reports it too, and has it in its certificate"},
		"this node has it in its leaf":         {address: "10.0.0.10", claimants: []Claimant{{Node: "a"}, {Node: node, Holds: true}}},
		"both have it in their leaves":         {address: "10.0.0.10", claimants: []Claimant{{Node: "a", Holds: true}, {Node: node, Holds: true}}, contested: true, want: "cannot be determined"},
		"it has it in its leaf, nobody else":   {address: "10.0.0.10", claimants: []Claimant{{Node: node, Holds: true}}},
		"a leaf does not make loopback an own": {address: "127.0.0.1", claimants: []Claimant{{Node: node, Holds: true}}, want: "loopback"},
	} {
		t.Run(name, func(t *testing.T) {
			nodes, err := ParseRanges(tc.nodes)
			if err != nil {
				t.Fatal(err)
			}
			services, err := ParseRanges(tc.services)
			if err != nil {
				t.Fatal(err)
			}
			if tc.claimants == nil {
				tc.claimants = alone
			}
			r := &Ranges{Nodes: nodes, Services: services}
			got := r.Judge(tc.address, node, tc.claimants)
			switch {
			case got == nil && tc.want != "":
				t.Errorf("believed, want a doubt about %q", tc.want)
			case got != nil && (tc.want == "" || !strings.Contains(got.Message, tc.want) || got.Contested != tc.contested):
				t.Errorf("doubt %+v, want %q, contested %t", got, tc.want, tc.contested)
			}
		})
	}
}

func TestParseRanges(t *testing.T) {
	for name, text := range map[string]string{"no length": "10.0.0.1", "no address": "nodes", "too long": "10.0.0.0/33", "empty": ""} {
		t.Run(name, func(t *testing.T) {
			if got, err := ParseRanges([]string{"10.0.0.0/8", text}); err == nil {
				t.Errorf("parsed %v", got)
			}
		})
	}
}
