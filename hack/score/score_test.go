// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const report = `[{
  "object_name": "Deployment/apps/v1/demo/web",
  "checks": [
    {"check": {"id": "container-resources"}, "grade": 1, "comments": [{"path": "app", "summary": "CPU limit is not set"}, {"path": "app", "summary": "Memory limit is not set"}]},
    {"check": {"id": "service-type"}, "grade": 10, "comments": [{"summary": "fine"}]},
    {"check": {"id": "container-ports-check"}, "grade": 1, "skipped": true, "comments": [{"summary": "skipped"}]},
    {"check": {"id": "deployment-replicas"}, "grade": 5, "comments": [{"path": "", "summary": "Deployment few replicas"}]}
  ]
}]`

func TestJudge(t *testing.T) {
	cpu := waiver{Check: "container-resources", Says: "CPU limit is not set", In: "manifests/samples", Reason: "r"}
	memory := waiver{Check: "container-resources", Says: "Memory limit is not set", In: "manifests/samples", Reason: "r"}
	replicas := waiver{Check: "deployment-replicas", In: "manifests/samples/web", Reason: "r"}
	for name, tt := range map[string]struct {
		waivers waivers
		// says is what the error has, one each; there is none without.
		says []string
	}{
		"all are waived":                         {waivers: waivers{cpu, memory, replicas}},
		"nothing is waived":                      {says: []string{"(app): container-resources: CPU limit", "Memory limit", "few replicas"}},
		"one is left":                            {waivers: waivers{cpu, replicas}, says: []string{"manifests/samples/web: Deployment/apps/v1/demo/web (app): container-resources: Memory limit"}},
		"a check is waived as a whole":           {waivers: waivers{{Check: "container-resources", In: "manifests/samples", Reason: "r"}, replicas}},
		"a waiver of another directory":          {waivers: waivers{cpu, memory, {Check: "deployment-replicas", In: "manifests/samples/we", Reason: "r"}}, says: []string{"few replicas", "nothing needs the waiver of deployment-replicas in manifests/samples/we"}},
		"a waiver of what is fine":               {waivers: waivers{cpu, memory, replicas, {Check: "service-type", In: "manifests", Reason: "r"}}, says: []string{"nothing needs the waiver of service-type"}},
		"a waiver of what is no longer the case": {waivers: waivers{cpu, memory, replicas, {Check: "container-resources", Says: "CPU request is not set", In: "manifests", Reason: "r"}}, says: []string{"container-resources CPU request is not set"}},
	} {
		t.Run(name, func(t *testing.T) {
			findings, judged, err := read("manifests/samples/web", []byte(report))
			if err != nil || judged != 1 || len(findings) != 3 {
				t.Fatalf("%d objects have the findings %v, %v", judged, findings, err)
			}
			err = tt.waivers.judge(findings)
			if (err != nil) != (len(tt.says) > 0) {
				t.Fatalf("it says %v", err)
			}
			for _, says := range tt.says {
				if !strings.Contains(err.Error(), says) {
					t.Errorf("it says %v, want %q", err, says)
				}
			}
			if err != nil && strings.Count(err.Error(), "\n")+1 != len(tt.says) {
				t.Errorf("it says more than %d things: %v", len(tt.says), err)
			}
		})
	}
}

func TestWaiversHaveReasons(t *testing.T) {
	for name, tt := range map[string]struct{ text, says string }{
		"complete":      {text: "- {check: c, in: manifests, reason: it is so}"},
		"no reason":     {text: "- {check: c, in: manifests}", says: "reason"},
		"a blank one":   {text: `- {check: c, in: manifests, reason: " "}`, says: "reason"},
		"everywhere":    {text: "- {check: c, reason: it is so}", says: "in and reason"},
		"another field": {text: "- {check: c, in: manifests, because: it is so}", says: "because"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "waivers.yaml")
			if err := os.WriteFile(file, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := readWaivers(file)
			if (err != nil) != (tt.says != "") || err != nil && !strings.Contains(err.Error(), tt.says) {
				t.Errorf("it says %v, want %q", err, tt.says)
			}
		})
	}
}
