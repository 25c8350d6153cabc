// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import "testing"

func TestSample(t *testing.T) {
	for _, tc := range []struct {
		name, line string
		want       float64
		ok         bool
	}{
		{name: "a sample", line: `rest_client_requests_total{code="200",host="127.0.0.1:1",method="GET"} 42`, want: 42, ok: true},
		{name: "another metric", line: `rest_client_requests_total_other{code="200"} 42`},
		{name: "help", line: `# HELP rest_client_requests_total [STABLE] Number of HTTP requests`},
		{name: "no value", line: `rest_client_requests_total{code="200"} x`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, ok := sample(tc.line, "rest_client_requests_total")
			if got != tc.want || ok != tc.ok {
				t.Errorf("sample(%q) = %v, %t; want %v, %t", tc.line, got, ok, tc.want, tc.ok)
			}
		})
	}
}
